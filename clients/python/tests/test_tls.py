# SPDX-License-Identifier: Apache-2.0
"""The same over TLS: client, asynchronous client, worker."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path
from typing import Iterator

import pytest

import allotter as al
import functions as f
from allotter.testing import Server, find_program


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    if find_program() is None or shutil.which("openssl") is None:
        pytest.skip("there is no program `allot`, or no openssl to make a certificate with")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    files = ["-keyout", str(key), "-out", str(cert)]
    subprocess.run([*command, *names, *files], check=True, stderr=subprocess.DEVNULL)
    with Server(tls=(str(cert), str(key))) as made:
        yield made


def test_large_and_many_values_pass(server: Server) -> None:
    values = ["x" * 60_000, "y" * 17_000, *map(str, range(2000))]
    with server.worker(f.echo, threads=2, prefetch=500), server.client() as client:
        assert list(client.map(f.echo, values)) == values

        async def program() -> None:
            async with server.async_client() as other:
                assert [one async for one in other.map(f.echo, values[:500])] == values[:500]

        asyncio.run(program())
        server.restart()
        assert list(client.map(f.echo, [1])) == [1]


def test_a_stream_of_many_pieces_passes(server: Server) -> None:
    with server.client() as client:
        for _ in range(5):  # each on a connection of its own, whose first bytes are TLS's and no answer
            assert client.submit(f.echo, ("x" * 1000 for _ in range(2000))).last_info.count == 2000


def test_a_certificate_that_is_not_trusted_is_refused(server: Server) -> None:
    with al.Client(server.url, patience=0.1) as client, pytest.raises(al.Unavailable, match="certificate"):
        client.server()
