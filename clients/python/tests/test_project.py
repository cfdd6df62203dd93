# SPDX-License-Identifier: Apache-2.0
"""The package itself: types, generated files, the wheel, and every program that the README shows."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import List, Tuple

import pytest

import allotter
from allotter.testing import Server

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent


def _run(*command: str, cwd: Path = HERE) -> None:
    ran = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.returncode == 0, ran.stdout


def test_the_synchronous_client_is_made_from_the_asynchronous_one() -> None:
    _run(sys.executable, "tools/unasync.py", "--check")


def test_types_are_strict_here_and_in_what_users_write(tmp_path: Path) -> None:
    if shutil.which("mypy") is None:
        pytest.skip("mypy is not installed")
    program = tmp_path / "program.py"
    program.write_text(
        "import allotter as al\n"
        "from typing import Sequence\n"
        "@al.task('s')\ndef s(n: int) -> int: return n\n"
        "@al.task('a')\nasync def a(n: int) -> str: return ''\n"
        "@al.batch_task('b', max_items=3)\ndef b(n: Sequence[int]) -> Sequence[float]: return []\n"
        "with al.Client() as c:\n"
        "    reveal_type(s(3)); reveal_type(a(3)); reveal_type(b([3]))\n"
        "    for one in c.map(s, [1]): reveal_type(one)\n"
        "    for two in c.map(a, [1]): reveal_type(two)\n"
        "    for three in c.submit(b, [1]).results(): reveal_type(three)\n"
    )
    checked = ["src", "examples", "bench", "tools", str(program)]
    ran = subprocess.run(
        ["mypy", "--cache-dir", str(tmp_path / "cache"), *checked],
        cwd=HERE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout
    revealed = re.findall(r'Revealed type is "(.*)"', ran.stdout)
    kinds = ["int", "Awaitable[str]", "Sequence[float]", "int", "str", "float"]
    assert [text.replace("builtins.", "").replace("typing.", "") for text in revealed] == kinds, ran.stdout


def test_it_parses_as_python_3_9() -> None:
    for path in (HERE / "src").rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 9))


def test_the_wheel_is_built_offline_and_is_small(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    pytest.importorskip("wheel")
    source = tmp_path / "source"
    shutil.copytree(HERE, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    build = "from setuptools.build_meta import build_wheel; build_wheel('../dist')"
    (tmp_path / "dist").mkdir()
    _run(sys.executable, "-c", build, cwd=source)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert wheel.stat().st_size < 150_000
    names = zipfile.ZipFile(wheel).namelist()
    assert "allotter/py.typed" in names and "allotter/sync/client.py" in names
    metadata = zipfile.ZipFile(wheel).read(f"allotter-{allotter.__version__}.dist-info/METADATA").decode()
    assert "Requires-Dist" not in re.sub(r"Requires-Dist: .*extra ==.*", "", metadata)


# The README, and what the project's own pages show in Python.
PAGES = [HERE / "README.md", *sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])]


def _programs() -> List[Tuple[str, str]]:
    found = []
    for page in PAGES:
        if not page.exists():  # the package alone, without the project around it
            continue
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"(<!-- not run:[^\n]*-->\n)?```python\n(.*?)```", text, re.DOTALL):
            if match.group(1) is None:
                line = text[: match.start(2)].count("\n")
                found.append((f"{os.path.relpath(page, ROOT)}:{line}", match.group(2)))
    return found


@pytest.mark.parametrize("place, program", _programs(), ids=[place for place, _ in _programs()])
def test_every_program_of_the_pages_runs(
    allot_server: Server, tmp_path: Path, place: str, program: str
) -> None:
    _run_program(allot_server, tmp_path, program)


@pytest.mark.parametrize("path", sorted((HERE / "examples").glob("*.py")), ids=lambda path: str(path.name))
def test_every_example_runs(allot_server: Server, tmp_path: Path, path: Path) -> None:
    _run_program(allot_server, tmp_path, path.read_text(encoding="utf-8"))


def _run_program(server: Server, folder: Path, program: str) -> None:
    (folder / "program.py").write_text(program)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE / "src"), str(HERE / "examples")])}
    env["ALLOT_SERVER"] = server.url
    ran = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout
    # A remark at the end of a line that prints says what it prints.
    for want in re.findall(r"print\(.*\)  # (.*)$", program, re.MULTILINE):
        assert want in ran.stdout, ran.stdout
