#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes what a release has: make.py BUILD OUT [PART...]

    archive   allotter-VERSION-linux-ARCH.tar.gz: the program with all that it loads
    deb       the server's Debian package, and what cpack makes beside it
    python    the wheel, and python3-allotter as a Debian package
    npm       the TypeScript client
    chart     the Helm chart
    image     an OCI image of the archive; left out, with a word, where there is no buildah
    sbom      allotter-VERSION.cdx.json: what all of it is made of
    sums      SHA256SUMS

BUILD is built already. The same commit gives the same bytes, but for the Debian packages and the image.
"""
from __future__ import annotations

import gzip
import io
import json
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Callable

sys.dont_write_bytecode = True
from libraries import libraries_of, owners_of  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGING = HERE.parent


def run(*command: object, **options: object) -> str:
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, **options)  # type: ignore
    if done.returncode:
        raise SystemExit(f"release: `{' '.join(str(part) for part in command)}` ended with {done.returncode}")
    return str(done.stdout)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Release:
    def __init__(self, build: Path, out: Path) -> None:
        self.build, self.out = build, out
        self.version = run(build / "allot", "--version").split()[1]
        self.when = int(os.environ["SOURCE_DATE_EPOCH"])
        self.name = f"allotter-{self.version}-linux-{platform.machine()}"

    def check_versions(self) -> None:
        """Clients and chart are released with the server, under its version."""
        wanted = (
            ("clients/python/pyproject.toml", r'^version = "(.*)"$'),
            ("clients/typescript/package.json", r'^  "version": "(.*)",$'),
            ("packaging/helm/allotter/Chart.yaml", r"^version: (.*)$"),
            ("packaging/helm/allotter/Chart.yaml", r'^appVersion: "(.*)"$'),
        )
        for file, pattern in wanted:
            found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
            if found is None or found.group(1) != self.version:
                raise SystemExit(f"release: {file} has version {found and found.group(1)}; write {self.version} there")

    def pack(self, folder: Path, to: Path) -> None:
        """As a .tar.gz that depends on nothing but what is in it."""
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in sorted([folder, *folder.rglob("*")]):
                entry = archive.gettarinfo(path, str(path.relative_to(folder.parent)))
                entry.uid = entry.gid = 0
                entry.uname = entry.gname = "root"
                entry.mtime = self.when
                entry.mode = 0o755 if entry.isdir() or entry.mode & stat.S_IXUSR else 0o644
                with open(path, "rb") if entry.isfile() else io.BytesIO() as content:
                    archive.addfile(entry, content if entry.isfile() else None)
        with open(to, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=self.when) as packed:
            packed.write(raw.getvalue())
        say(str(to))

    def fill(self, folder: Path) -> None:
        """What the archive has."""
        lib = folder / "lib"
        lib.mkdir(parents=True)
        shutil.copy2(self.build / "allot_launcher", folder / "allot")
        run("strip", "--strip-unneeded", "-o", lib / "program", self.build / "allot")
        libraries = libraries_of(self.build / "allot")
        for library in libraries:
            to = lib / ("loader" if library.loader else library.name)
            shutil.copy(library.path.resolve(), to)
            to.chmod(0o755 if library.loader else 0o644)
        licences = folder / "licences"
        licences.mkdir()
        for path, package in owners_of(library.path for library in libraries).items():
            if package is None:
                raise SystemExit(f"release: no Debian package brought {path}, so its licence is not known")
            shutil.copyfile(f"/usr/share/doc/{package.name}/copyright", licences / package.name)
        for file in ("LICENSE", "CHANGELOG.md"):
            shutil.copyfile(ROOT / file, folder / file)
        shutil.copyfile(HERE / "archive.md", folder / "README.md")
        # The image and its neighbours are made from the unpacked archive.
        shutil.copytree(PACKAGING / "container", folder, dirs_exist_ok=True)
        for kind in ("prometheus", "grafana"):
            shutil.copytree(PACKAGING / kind, folder / "share" / kind, ignore=shutil.ignore_patterns("*.test.yml"))
        shutil.copytree(PACKAGING / "systemd", folder / "share" / "systemd")
        service = self.build / "packaging"
        for file, to in {
            "allot.1.gz": "man/man1/allot.1.gz",
            "allot.bash": "bash-completion/completions/allot",
            "_allot": "zsh/site-functions/_allot",
            "allot.fish": "fish/vendor_completions.d/allot.fish",
            "allotter.toml": "allotter.toml",
        }.items():
            (folder / "share" / to).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(service / file, folder / "share" / to)

    def archive(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / self.name
            self.fill(folder)
            self.pack(folder, self.out / f"{self.name}.tar.gz")

    def deb(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            run("cpack", "--config", self.build / "CPackConfig.cmake", "-B", place)
            for package in sorted(Path(place).glob("*.deb")):
                shutil.copyfile(package, self.out / package.name)
                say(str(self.out / package.name))

    def python(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            # The build writes beside the sources.
            source = Path(place) / "source"
            made = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
            shutil.copytree(ROOT / "clients" / "python", source, ignore=made)
            build = "import sys; from setuptools.build_meta import build_wheel; print(build_wheel(sys.argv[1]))"
            named = run("/usr/bin/python3", "-c", build, place, cwd=source, stderr=subprocess.DEVNULL).splitlines()[-1]
            shutil.copyfile(Path(place) / named, self.out / named)
            say(str(self.out / named))
            self.python_deb(Path(place) / named, Path(place) / "package")

    def python_deb(self, wheel: Path, tree: Path) -> None:
        """The wheel, where Debian's Python looks."""
        packages = tree / "usr/lib/python3/dist-packages"
        doc = tree / "usr/share/doc/python3-allotter"
        control = tree / "DEBIAN"
        for folder in (packages, doc, control):
            folder.mkdir(parents=True)
        shutil.unpack_archive(wheel, packages, "zip")
        for left in packages.glob("*.dist-info/RECORD"):  # dpkg has its own
            left.unlink()
        shutil.copyfile(PACKAGING / "debian" / "copyright", doc / "copyright")
        shutil.copyfile(ROOT / "clients/python/README.md", doc / "README.md")
        history = (PACKAGING / "debian" / "changelog").read_bytes().replace(b"allotter (", b"python3-allotter (", 1)
        (doc / "changelog.gz").write_bytes(gzip.compress(history, 9, mtime=self.when))
        for path in sorted(tree.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        for script in ("postinst", "prerm"):
            shutil.copyfile(PACKAGING / "debian" / f"python3-allotter.{script}", control / script)
            (control / script).chmod(0o755)
        size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file()) // 1024
        template = (PACKAGING / "debian" / "python3-allotter.control").read_text(encoding="utf-8")
        (control / "control").write_text(template.replace("@VERSION@", self.version).replace("@SIZE@", str(size)))
        to = self.out / f"python3-allotter_{self.version}_all.deb"
        run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, to)
        say(str(to))

    def npm(self) -> None:
        packed = run("npm", "pack", "--silent", "--pack-destination", self.out, cwd=ROOT / "clients" / "typescript")
        say(str(self.out / packed.split()[-1]))

    def chart(self) -> None:
        self.pack(PACKAGING / "helm" / "allotter", self.out / f"allotter-chart-{self.version}.tgz")

    def image(self) -> None:
        if shutil.which("buildah") is None:
            say("no image: buildah is not installed (apt-get install --no-install-recommends buildah)")
            return
        with tempfile.TemporaryDirectory() as place:
            shutil.unpack_archive(self.out / f"{self.name}.tar.gz", place, "gztar")
            tool = ["buildah", "--storage-driver", "vfs", "--root", f"{place}/storage", "--runroot", f"{place}/running"]
            to = self.out / f"{self.name}-image.tar.gz"
            plain = Path(place) / "image.tar"
            # Docker's format, as OCI's own has no health checks: docker, podman and skopeo load it.
            how = ("--quiet", "--isolation", "chroot", "--format", "docker", "--timestamp", self.when)
            run(*tool, "build", *how, "--tag", f"allotter:{self.version}", Path(place) / self.name)
            run(*tool, "push", "--quiet", f"allotter:{self.version}", f"docker-archive:{plain}:allotter:{self.version}")
            run(*tool, "rmi", "--all", "--force")
            to.write_bytes(gzip.compress(plain.read_bytes(), 9, mtime=self.when))
        say(str(to))

    def sbom(self) -> None:
        to = self.out / f"allotter-{self.version}.cdx.json"
        to.write_text(run(sys.executable, "-B", HERE / "sbom.py", self.build, self.version), encoding="utf-8")
        json.loads(to.read_text(encoding="utf-8"))
        say(str(to))

    def sums(self) -> None:
        files = sorted(path.name for path in self.out.iterdir() if path.is_file() and path.name != "SHA256SUMS")
        (self.out / "SHA256SUMS").write_text(run("sha256sum", *files, cwd=self.out), encoding="utf-8")
        say(str(self.out / "SHA256SUMS"))


def main() -> None:
    build, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    if "SOURCE_DATE_EPOCH" not in os.environ:
        os.environ["SOURCE_DATE_EPOCH"] = run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip()
    release = Release(build, out)
    parts: dict[str, Callable[[], None]] = {
        part: getattr(release, part)
        for part in ("archive", "deb", "python", "npm", "chart", "image", "sbom", "sums")
    }
    chosen = sys.argv[3:] or list(parts)
    unknown = [part for part in chosen if part not in parts]
    if unknown:
        raise SystemExit(f"release: there is no part {', '.join(unknown)}; there are {', '.join(parts)}")
    release.check_versions()
    for part in chosen:
        parts[part]()


if __name__ == "__main__":
    main()
