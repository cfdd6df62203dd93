#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the synchronous client from the asynchronous one: src/allotter/sync/ from src/allotter/aio/.

    tools/unasync.py           writes the files
    tools/unasync.py --check   says which are not as they should be, and fails
"""

from __future__ import annotations

import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "src" / "allotter"

NOTE = "# Made from aio/{name} by tools/unasync.py: change that one, and run it.\n"

RULES = [
    (r"\nThe synchronous `Client` is made from this file by tools/unasync\.py\.\n", ""),
    (r"Union\[Iterable\[Any\], AsyncIterable\[Any\]\]", "Iterable[Any]"),
    (r"^    AsyncIterable,\n", ""),
    (r"^    AsyncIterator,\n", "    Iterator,\n"),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"__aenter__", "__enter__"),
    (r"__aexit__", "__exit__"),
    (r"\bAsync(Client|Job|Admin|Queues?|Workers|Limits)\b", r"\1"),
    (r"\.\.anet\b", "..net"),
]


def converted(name: str, text: str) -> str:
    for pattern, into in RULES:
        text = re.sub(pattern, into, text, flags=re.MULTILINE)
    return NOTE.format(name=name) + text


def main() -> int:
    check = "--check" in sys.argv[1:]
    wrong = []
    for source in sorted((SOURCE / "aio").glob("*.py")):
        made = converted(source.name, source.read_text(encoding="utf-8"))
        target = SOURCE / "sync" / source.name
        if target.exists() and target.read_text(encoding="utf-8") == made:
            continue
        wrong.append(str(target))
        if not check:
            target.parent.mkdir(exist_ok=True)
            target.write_text(made, encoding="utf-8")
    if check and wrong:
        print("not as tools/unasync.py makes them:", *wrong, sep="\n  ")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
