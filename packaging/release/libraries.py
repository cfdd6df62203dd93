# SPDX-License-Identifier: Apache-2.0
"""The libraries that a program loads, and the Debian packages that files belong to."""
from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Optional


@dataclass(frozen=True)
class Library:
    name: str  # as programs ask for it: libssl.so.3
    path: Path
    loader: bool


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    architecture: str
    source: str
    source_version: str


def libraries_of(program: Path) -> list[Library]:
    """All of them, those of libraries included, with the loader."""
    listed = subprocess.run(["ldd", str(program)], check=True, capture_output=True, text=True).stdout
    found = []
    for line in listed.splitlines():
        linked = re.match(r"\s*(\S+) => (.+?)(?: \(0x[0-9a-f]+\))?$", line)
        if linked and linked.group(2) == "not found":
            raise SystemExit(f"release: {program} needs {linked.group(1)}, which is not on this machine")
        loader = re.match(r"\s*(/\S+) \(0x[0-9a-f]+\)$", line)
        if linked:
            found.append(Library(linked.group(1), Path(linked.group(2)), loader=False))
        elif loader:
            found.append(Library(Path(loader.group(1)).name, Path(loader.group(1)), loader=True))
    if sum(library.loader for library in found) != 1:
        raise SystemExit(f"release: ldd does not name the loader of {program}:\n{listed}")
    return sorted(found, key=lambda library: library.name)


def _names(path: Path) -> list[str]:
    """How dpkg may know the file: /lib is a link to /usr/lib, and its lists have either."""
    there = str(path.resolve())
    other = there[len("/usr") :] if there.startswith("/usr/lib") else f"/usr{there}"
    return [there, other]


def owners_of(files: Iterable[Path]) -> dict[Path, Optional[Package]]:
    """The package of each file; None for one that no package brought."""
    files = list(files)
    names = {name: file for file in files for name in _names(file)}
    owner: dict[Path, str] = {}
    asked = sorted(names)
    for at in range(0, len(asked), 500):
        # It fails if one is unknown, and lists the others all the same.
        command = ["dpkg-query", "--search", *asked[at : at + 500]]
        listed = subprocess.run(command, capture_output=True, text=True, env={"LC_ALL": "C"}).stdout
        for line in listed.splitlines():
            packages, _, name = line.partition(": ")
            if name in names and not packages.startswith("diversion "):
                owner[names[name]] = packages.split(", ")[0]
    known = {}
    if owner:
        form = "${binary:Package}\\t${Package}\\t${Version}\\t${Architecture}\\t${source:Package}\\t${source:Version}\\n"
        command = ["dpkg-query", "--show", f"--showformat={form}", *sorted(set(owner.values()))]
        for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
            full, name, *rest = line.split("\t")
            known[full] = known[f"{name}:{rest[1]}"] = known[name] = Package(name, *rest)
    return {file: known.get(owner[file]) if file in owner else None for file in files}
