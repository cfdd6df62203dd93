#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a release is made of, as CycloneDX 1.5: sbom.py BUILD VERSION >allotter.cdx.json

- libraries that the archive and the image bring along, by the Debian packages that they are from;
- libraries whose headers are compiled into the program, by the headers that its objects were made of;
- npm packages that are part of the dashboard, or that the TypeScript client needs, by the lock files.
"""
from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

from libraries import Package, libraries_of, owners_of

ROOT = Path(__file__).resolve().parents[2]
# The precompiled headers of the tests are the program's too; nothing of them is in it.
TESTS_ONLY = ("googletest", "benchmark", "rapidcheck")


def headers_of(build: Path) -> list[Path]:
    """Headers of the system that went into what is built."""
    listed = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], check=True, capture_output=True, text=True)
    return sorted({Path(line.strip()) for line in listed.stdout.splitlines() if line.startswith("    /usr/")})


def debian(package: Package, distribution: str, use: str) -> dict[str, Any]:
    source = f"&upstream={package.source}" if package.source != package.name else ""
    version = package.version.replace("+", "%2B").replace(":", "%3A")
    purl = f"pkg:deb/debian/{package.name}@{version}?arch={package.architecture}&distro={distribution}{source}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": package.name,
        "version": package.version,
        "purl": purl,
        "properties": [{"name": "allotter:use", "value": use}],
    }


def npm(lock: Path, use: str) -> list[dict[str, Any]]:
    """What is installed where nobody develops."""
    components = []
    for place, entry in json.loads(lock.read_text(encoding="utf-8"))["packages"].items():
        if not place or entry.get("dev") or entry.get("optional"):
            continue
        name = place.rpartition("node_modules/")[2]
        purl = f"pkg:npm/{name.replace('@', '%40')}@{entry['version']}"
        component = {"type": "library", "bom-ref": purl, "name": name, "version": entry["version"], "purl": purl}
        if "license" in entry:
            component["licenses"] = [{"expression": entry["license"]}]
        kind, _, hashed = entry.get("integrity", "").partition("-")
        if kind == "sha512":
            component["hashes"] = [{"alg": "SHA-512", "content": base64.b64decode(hashed).hex()}]
        components.append({**component, "properties": [{"name": "allotter:use", "value": use}]})
    return components


def bom(build: Path, version: str) -> dict[str, Any]:
    release = Path("/etc/os-release").read_text(encoding="utf-8")
    ids = dict(re.findall(r'^(ID|VERSION_ID)="?([^"\n]*)"?$', release, re.MULTILINE))
    distribution = f"{ids.get('ID', 'linux')}-{ids.get('VERSION_ID', '')}".rstrip("-")
    components: dict[str, dict[str, Any]] = {}
    loaded = owners_of(library.path for library in libraries_of(build / "allot"))
    for path, package in loaded.items():
        if package is None:
            raise SystemExit(f"release: no Debian package brought {path}, so nobody can say what it is")
        components.setdefault(package.name, debian(package, distribution, "brought along"))
    for package in owners_of(headers_of(build)).values():
        if package and package.source not in TESTS_ONLY:
            components.setdefault(package.name, debian(package, distribution, "headers"))
    parts = sorted(components.values(), key=lambda component: str(component["bom-ref"]))
    parts += npm(ROOT / "web" / "package-lock.json", "dashboard")
    parts += npm(ROOT / "clients" / "typescript" / "package-lock.json", "TypeScript client")
    head = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True)
    commit = head.stdout.strip()
    own = f"pkg:generic/allotter@{version}"
    when = os.environ.get("SOURCE_DATE_EPOCH")
    metadata: dict[str, Any] = {
        "component": {
            "type": "application",
            "bom-ref": own,
            "name": "allotter",
            "version": version,
            "purl": own,
            "licenses": [{"license": {"id": "Apache-2.0"}}],
            "properties": [{"name": "allotter:commit", "value": commit}] if commit else [],
        }
    }
    if when:
        stamp = subprocess.run(["date", "-u", "-d", f"@{when}", "+%Y-%m-%dT%H:%M:%SZ"], check=True, capture_output=True)
        metadata["timestamp"] = stamp.stdout.decode().strip()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{own}#{commit}')}",
        "version": 1,
        "metadata": metadata,
        "components": parts,
        "dependencies": [{"ref": own, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


if __name__ == "__main__":
    json.dump(bom(Path(sys.argv[1]), sys.argv[2]), sys.stdout, indent=1)
    sys.stdout.write("\n")
