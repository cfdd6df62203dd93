# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: the fixture `allot_server` is a real server, new for each test.

    def test_square(allot_server):
        with allot_server.worker(square), allot_server.client() as client:
            assert list(client.map(square, [1, 2, 3])) == [1, 4, 9]

It has `.client()`, `.worker(…)`, `.worker_process("module:task")`, `.kill9()`, `.restart()`, `.url`. Where the program
`allot` is neither on the path nor named in ALLOT_BIN, tests that want it are skipped.
"""

from __future__ import annotations

from typing import Iterator

import pytest

from .testing import Server, find_program


@pytest.fixture
def allot_server() -> Iterator[Server]:
    """A server with nothing in it."""
    if find_program() is None:
        pytest.skip("there is no program `allot`: put it on the path, or name it in ALLOT_BIN")
    with Server() as server:
        yield server


@pytest.fixture(scope="session")
def allot_session_server() -> Iterator[Server]:
    """One server for all tests that want it: use tags of your own."""
    if find_program() is None:
        pytest.skip("there is no program `allot`: put it on the path, or name it in ALLOT_BIN")
    with Server() as server:
        yield server
