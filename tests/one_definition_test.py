#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No two classes of one name in one namespace: the linker would take the functions of one of them for both, and no
compiler says so. one_definition_test.py SOURCE_DIR fails with the files of each name that is there twice."""

from __future__ import annotations

import collections
import re
import subprocess
import sys
from pathlib import Path
from typing import DefaultDict, Dict, List, Set

OPENS = re.compile(r"^(?:inline )?namespace\s*(\w[\w:]*)?\s*\{")
CLOSES = re.compile(r"^\}\s*// namespace")
DEFINES = re.compile(r"^(?:class|struct)\s+(?:\[\[\w+\]\]\s+)?(\w+)(?:\s+final)?\s*(?::[^:].*)?\{")


def names(text: str) -> Set[str]:
    """Of the classes that other sources can see."""
    found: Set[str] = set()
    spaces: List[str] = []
    for line in text.split("\n"):
        opened = OPENS.match(line)
        if opened:
            spaces.append(opened.group(1) or "")
        elif CLOSES.match(line) and spaces:
            spaces.pop()
        else:
            defined = DEFINES.match(line)
            if defined and all(spaces):
                found.add("::".join([*spaces, defined.group(1)]))
    return found


def twice(texts: Dict[str, str]) -> List[str]:
    where: DefaultDict[str, List[str]] = collections.defaultdict(list)
    for path, text in texts.items():
        for name in names(text):
            where[name].append(path)
    return [f"{name}: {' and '.join(paths)}" for name, paths in sorted(where.items()) if len(paths) > 1]


def main() -> int:
    root = Path(sys.argv[1])
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "src/*.h", "src/*.cc"], capture_output=True, text=True)
    files = listed.stdout.split() or [str(p.relative_to(root)) for p in root.glob("src/**/*") if p.suffix in (".h", ".cc")]
    faults = twice({path: (root / path).read_text() for path in files if (root / path).is_file()})
    for fault in faults:
        print(fault, file=sys.stderr)
    # And it would notice.
    broken = {"a.h": "namespace n {\nclass Table {\n};\n}  // namespace n", "b.h": "namespace n {\nclass Table final : public X {\n"}
    if len(twice(broken)) != 1:
        print("the test itself is broken", file=sys.stderr)
        return 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
