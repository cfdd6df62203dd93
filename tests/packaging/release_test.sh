# SPDX-License-Identifier: Apache-2.0
# The rest of a release: clients, list of parts, checksums, and compose's files. release_test.sh BUILD_DIR
build=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"

for tool in dpkg-deb dpkg-query ninja jq; do command -v "$tool" >/dev/null || skip "no $tool"; done
/usr/bin/python3 -c 'import setuptools, wheel, yaml' 2>/dev/null || skip "no setuptools, wheel and yaml for /usr/bin/python3"
version=$(allot --version | awk '{ print $2 }')
make() { /usr/bin/python3 "$root/packaging/release/make.py" "$build" made "$@"; }
make python chart sbom sums 2>made.log || fail "$(cat made.log)"
exits 1 make nothing
has "$err" "there is no part nothing"

# The Python client, as a wheel and as a package: both are the client, typed, with its plugin for pytest.
/usr/bin/python3 -m zipfile -l "made/allotter-$version-py3-none-any.whl" >wheel
for file in allotter/__init__.py allotter/py.typed allotter/sync/ "allotter-$version.dist-info/entry_points.txt"; do
  has "$(cat wheel)" "$file"
done
package=made/python3-allotter_${version}_all.deb
dpkg-deb --field "$package" >fields
has "$(cat fields)" "Version: $version"
dpkg-deb --contents "$package" >contents
same "" "$(awk '$2 != "root/root" || substr($1, 9, 1) == "w"' contents)"
dpkg-deb --raw-extract "$package" there
for script in postinst prerm; do sh -n "there/DEBIAN/$script"; done
serve
same 49 "$(cd / && PYTHONPATH=$work_dir/there/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c '
import allotter as al

@al.task("square")
def square(n: int) -> int:
    return n * n

with al.Worker(square, threads=1) as worker, al.Client() as client:
    print(list(client.map(square, [7]))[0])
')"

# Every library that the program loads is in the list, with a version; so is what the dashboard is made of.
bom=made/allotter-$version.cdx.json
jq -e '.bomFormat == "CycloneDX" and .specVersion == "1.5" and (.components | length > 40)
  and all(.components[]; .name and .version and .purl and ."bom-ref" == .purl)
  and ([.components[].purl] | length == (unique | length))' "$bom" >/dev/null || fail "the list of parts: $(head -c 400 "$bom")"
for part in libc6 libssl3 libsqlite3-0 libboost1.81-dev preact minisearch ws; do
  jq -e --arg name "$part" 'any(.components[]; .name == $name)' "$bom" >/dev/null || fail "the list of parts lacks $part"
done
(cd made && sha256sum --quiet --check SHA256SUMS)
same "$(find made -type f ! -name SHA256SUMS | wc -l)" "$(wc -l <made/SHA256SUMS)"

# The chart is packed as Helm looks for it.
has "$(tar -tzf "made/allotter-chart-$version.tgz")" "allotter/Chart.yaml"

# compose.yaml: what it mounts is in the archive, what it names is there, and the rules are where Prometheus looks.
/usr/bin/python3 - "$root/packaging" <<'PYTHON' || fail "compose.yaml"
import sys
from pathlib import Path
import yaml

packaging = Path(sys.argv[1])
container = packaging / "container"
compose = yaml.safe_load((container / "compose.yaml").read_text())
scrape = yaml.safe_load((container / "compose/prometheus.yml").read_text())
provided = {"share/prometheus": packaging / "prometheus", "share/grafana": packaging / "grafana", "compose": container / "compose"}
targets = {}
for name, service in compose["services"].items():
    assert set(service) <= {"build", "image", "restart", "ports", "environment", "volumes", "read_only", "cap_drop",
                            "security_opt", "stop_grace_period", "command", "secrets", "depends_on"}, service.keys()
    assert all(other in compose["services"] for other in service.get("depends_on", []))
    assert all(secret in compose["secrets"] for secret in service.get("secrets", []))
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    for volume in service.get("volumes", []):
        source, target = volume.split(":")[:2]
        targets[target] = name
        if not source.startswith("./"):
            assert source in compose["volumes"], source
            continue
        folder, _, rest = source[2:].partition("/")
        place = source[2:] if source[2:] in provided else str(Path(source[2:]).parent)
        assert (provided[place] / (Path(source).name if place != source[2:] else "")).exists(), source
assert compose["services"]["allotter"]["read_only"] is True
[job] = scrape["scrape_configs"]
assert job["job_name"] == "allotter"  # by which rules and dashboard go
assert job["static_configs"][0]["targets"] == ["allotter:7420"]
assert job["authorization"]["credentials_file"] == "/run/secrets/" + compose["services"]["prometheus"]["secrets"][0]
assert all(targets[file] == "prometheus" for file in scrape["rule_files"])
assert compose["services"]["allotter"]["environment"]["ALLOT_ALLOWED_HOSTS"] == "allotter"
dashboards = yaml.safe_load((container / "compose/dashboards.yml").read_text())
assert targets[dashboards["providers"][0]["options"]["path"]] == "grafana"
PYTHON
