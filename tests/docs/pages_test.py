#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the documents to their form: pages_test.py ROOT.

- No line is over 100 characters, but for tables, code, and lines that are one link: of documents, and of the READMEs
  of folders.
- Links lead to files that are there, and to headings that are there.
- Paths of sources in backquotes are there, and so are pages that sources name.
- Every page below docs/ can be reached from docs/README.md by links.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LINK = re.compile(r"(?<!\\)!?\[(?:[^\[\]\\]|\\.)*\]\(([^()\s]+)\)")
ONLY_A_LINK = re.compile(r"^\s*(?:[-*]\s+)?!?\[[^\]]*\]\([^)]*\)[.,;:]?\s*$|^\s*(?:[-*]\s+)?<?https?://\S+$")
CODE = re.compile(r"`([^`]+)`")
REMARK = re.compile(r"^<!--.*-->$")
SOURCE = re.compile(
    r"^(?:src|include|tests|bench|examples|packaging|tools|clients|web|docs|cmake|\.github)(?:/[\w.*{},-]+)*/?$"
)
# As src/README.md's readers name them: without the `src/` in front.
ROOMS = re.compile(
    r"^(?:backlog|base|cli|client|dispatch|engine|expr|limits|match|server|store|strategy|wire)/(?:[\w./*-]*(?:/|\.\w+))?$"
)
PAGE_IN_SOURCE = re.compile(r"(?<![\w./-])docs/[\w./-]+\.(?:md|json)")
WIDEST = 100


def anchor_of(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = text.replace("`", "").replace("*", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Page:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.anchors = set()
        self.prose = []  # (number, line): what is in no fence
        seen = {}
        fence = ""
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            opened = re.match(r"^ *(```+|~~~+)", line)
            if fence:
                if opened and opened.group(1).startswith(fence):
                    fence = ""
                continue
            if opened:
                fence = opened.group(1)
                continue
            self.prose.append((number, line))
            heading = re.match(r"^#{1,6} +(.*?) *#*$", line)
            if heading:
                anchor = anchor_of(heading.group(1))
                count = seen.get(anchor, 0)
                seen[anchor] = count + 1
                self.anchors.add(anchor if count == 0 else f"{anchor}-{count}")
            self.anchors.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))

    def paragraphs(self):
        """What stands together without an empty line, and single rows of tables: a link may go over the end of a line."""
        first, lines, last = 0, [], 0
        for number, line in [*self.prose, (0, "")]:
            if lines and (not line.strip() or line.lstrip().startswith("|") or number != last + 1):
                yield first, " ".join(lines)
                lines = []
            if line.strip():
                first = number if not lines else first
                lines.append(line.strip())
            last = number


def exists(root: Path, name: str) -> bool:
    """Whether a path is there; a pattern matches something; `{a,b}` are alternatives."""
    alternatives = re.search(r"\{([^}]*)\}", name)
    if alternatives:
        return all(exists(root, name.replace(alternatives.group(0), part, 1)) for part in alternatives.group(1).split(","))
    if "*" in name:
        return any(root.glob(name.rstrip("/")))
    if name.endswith("/"):
        return (root / name).is_dir()
    return (root / name).exists()


def problems_of(root: Path):
    """What is wrong with the pages of a project, a line each; and how many pages and links there are."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    files = [name for name in listed.stdout.split("\n") if name]
    if not files:  # not a clone
        files = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and "node_modules" not in path.parts]
    names = sorted(name for name in files if name.endswith(".md") and (root / name).exists())
    pages = {name: Page(root / name) for name in names}
    problems = []
    links = {name: set() for name in names}

    def narrow(name: str) -> bool:
        rooms = ("docs/", "src/", "packaging/", "bench/README", "web/")
        return name.startswith(rooms) or name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")

    for name, page in pages.items():
        for number, line in page.prose:
            if not narrow(name) or len(line) <= WIDEST or line.lstrip().startswith("|"):
                continue
            if not ONLY_A_LINK.match(line) and not REMARK.match(line):
                problems.append(f"{name}:{number}: {len(line)} characters; tools/wrap wraps at {WIDEST}")
        for number, text in page.paragraphs():
            place = f"{name}:{number}"
            for target in LINK.findall(CODE.sub("``", text)):
                if re.match(r"^[a-z][a-z+.-]*:", target):
                    continue
                file, _, anchor = target.partition("#")
                to = (page.path.parent / file).resolve() if file else page.path.resolve()
                if not to.exists():
                    problems.append(f"{place}: there is no {target}")
                    continue
                try:
                    relative = str(to.relative_to(root))
                except ValueError:
                    problems.append(f"{place}: {target} is outside of the repository")
                    continue
                if to.is_dir():
                    relative += "/README.md"
                if relative in pages:
                    links[name].add(relative)
                    if anchor and anchor not in pages[relative].anchors:
                        problems.append(f"{place}: {relative} has no heading #{anchor}")
                elif anchor:
                    problems.append(f"{place}: #{anchor} of a file that is no page")
            if not name.startswith("docs/") and "/" in name:
                continue
            for code in CODE.findall(text):
                if SOURCE.match(code) and not exists(root, code):
                    problems.append(f"{place}: there is no `{code}`")
                elif name == "docs/architecture.md" and ROOMS.match(code):
                    if not exists(root / "src", code) and not exists(root, code):
                        problems.append(f"{place}: there is no `{code}` below src/")

    # Sources that name a page.
    for name in files:
        path = root / name
        if name.endswith((".md", "package-lock.json", "pages_test.py")) or not path.is_file() or path.stat().st_size > 2_000_000:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for target in set(PAGE_IN_SOURCE.findall(text)):
            if not (root / target).exists():
                problems.append(f"{name}: there is no {target}")

    reached, todo = set(), ["docs/README.md"]
    while todo:
        name = todo.pop()
        if name not in reached and name in links:
            reached.add(name)
            todo.extend(links[name])
    for name in names:
        if name.startswith("docs/") and name not in reached:
            problems.append(f"{name}: no link leads here from docs/README.md")

    return problems, len(pages), sum(len(to) for to in links.values())


BROKEN = {
    "docs/README.md": f"""# Index
{"long " * 21}
[gone](gone.md) and [no such
heading](#nowhere), `src/gone.cc`, [itself](#index), `src/there.cc`
| {"a table may be wide " * 6} |
[a link alone may be long]({"x" * 100})
<!-- a remark may be long: {"x" * 100} -->
```
[code](may-say-anything.md)
```
""",
    "docs/lost.md": "Nobody links here.\n",
    "src/there.cc": "// docs/lost.md is there, docs/never.md is not\n",
}


def main(root: Path) -> int:
    problems, pages, links = problems_of(root)
    print(f"{pages} pages, {links} links between them")
    for problem in problems:
        print(problem)

    # And it would notice.
    with tempfile.TemporaryDirectory() as folder:
        for name, text in BROKEN.items():
            path = Path(folder).resolve() / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        noticed, _, _ = problems_of(Path(folder).resolve())
    wanted = ["105 characters", "no gone.md", "no heading #nowhere", "no `src/gone.cc`", "no " + "x" * 100]
    wanted += ["no docs/never.md", "no link leads"]
    missed = [part for part in wanted if sum(part in problem for problem in noticed) != 1]
    if missed or len(noticed) != len(wanted):
        print("the test itself is broken: it missed", missed, "and found", noticed)
        return 1
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
