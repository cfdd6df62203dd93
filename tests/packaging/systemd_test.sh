# SPDX-License-Identifier: Apache-2.0
# The unit is one that systemd takes, and leaves the server little that it could do harm with.
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"
unit=$root/packaging/systemd/allotter.service

# Its program and file of settings are where the package puts them, and the flags are flags.
start=$(sed -n 's/^ExecStart=//p' "$unit")
same "/usr/bin/allot serve --config /etc/allotter/allotter.toml" "$start"
allot config template --data "$work_dir/data" >allotter.toml
exits 0 allot config check --config allotter.toml

command -v systemd-analyze >/dev/null || skip "no systemd-analyze"
sed "s|/usr/bin/allot|$ALLOT_BIN|; s| man:allot(1)||" "$unit" >allotter.service
systemd-analyze verify ./allotter.service 2>&1 | tee verified
same "" "$(grep -i allotter verified || true)"
systemd-analyze security --offline=yes --threshold=20 ./allotter.service >security || fail "more than 2.0: $(tail -n 1 security)"
tail -n 1 security

# So are the units that the pages show. Each has the name in the line above it, or that of its page.
mkdir shown
awk '/^```ini$/ { name = before; if (!sub(/.*\/etc\/systemd\/system\//, "", name)) { name = FILENAME; sub(/.*\//, "", name); sub(/md$/, "service", name) }
    sub(/`.*/, "", name); out = "shown/" name; next }
  /^```$/ { out = "" }
  out { print >out }
  !out && NF { before = $0 }' "$root"/docs/*/*.md
[ "$(find shown -type f | wc -l)" -ge 3 ] || fail "the pages show only: $(ls shown)"
sed -i "s|/usr/bin/allot|$ALLOT_BIN|; s|/usr/local/bin/[a-z]*|/bin/cat|; s|^User=.*|User=root|" shown/*
systemd-analyze verify ./shown/* 2>&1 | tee verified
same "" "$(grep shown/ verified || true)"

command -v systemd-sysusers >/dev/null || skip "no systemd-sysusers"
mkdir -p root/etc
systemd-sysusers --root="$PWD/root" "$root/packaging/systemd/allotter.sysusers"
has "$(cat root/etc/passwd)" "allotter"
has "$(cat root/etc/passwd)" ":/var/lib/allotter:/usr/sbin/nologin"
