# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path
from typing import Callable, Iterator

import pytest

import allotter as al
from allotter import words
from allotter.testing import Server


pytest_plugins = ["allotter.pytest_plugin"]


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the caller's server, token or queue."""
    for name in ("ALLOT_SERVER", "ALLOT_TOKEN", "ALLOT_TOKEN_FILE", "ALLOT_QUEUE", "ALLOT_CA_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def client(allot_session_server: Server) -> Iterator[al.Client]:
    with al.Client(allot_session_server.url) as made:
        yield made


@pytest.fixture
def wait_for() -> Callable[[Callable[[], object]], None]:
    """Waits until something is true; a test that waits in vain is ended by its own time."""
    import time

    def wait(condition: Callable[[], object], seconds: float = 60.0) -> None:
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, "it never came true"
            time.sleep(0.005)

    return wait


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that tasks, in whichever process, leave files in."""
    monkeypatch.setenv("MARKS", str(tmp_path))
    return tmp_path


@pytest.fixture(params=["features", "none"])
def features(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """With what the server can, and with a server that says nothing of it, as the first ones did."""
    if request.param == "none":
        monkeypatch.setattr(words, "features_of", lambda view: frozenset())
    return bool(request.param == "features")


def pytest_report_header() -> str:
    return f"allot: {os.environ.get('ALLOT_BIN', 'from the path')}"
