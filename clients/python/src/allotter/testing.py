# SPDX-License-Identifier: Apache-2.0
"""A real server for tests: it listens after some hundredths of a second, so nobody needs a fake.

    with allotter.testing.Server() as server, server.worker(square):
        assert list(server.client().map(square, [1, 2])) == [1, 4]
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type, Union

from .aio.client import AsyncClient
from .errors import Error
from .functions import Task
from .sync.client import Client
from .work.worker import Worker


def find_program() -> Optional[str]:
    """The program `allot`: ALLOT_BIN, or what is on the path."""
    return os.environ.get("ALLOT_BIN") or shutil.which("allot")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A server with its data in a folder of its own. What was started here ends with it."""

    def __init__(
        self,
        *arguments: str,
        program: Optional[str] = None,
        data: Union[str, os.PathLike[str], None] = None,
        env: Optional[Dict[str, str]] = None,
        tls: Optional[Tuple[str, str]] = None,
    ) -> None:
        """`arguments` are those of `allot serve`; `tls` are files with a certificate, which is trusted, and its key."""
        found = program or find_program()
        if found is None:
            raise Error("there is no program `allot`: put it on the path, or name it in ALLOT_BIN")
        self.program = found
        self._own_data = tempfile.TemporaryDirectory(prefix="allot-") if data is None else None
        self.data = str(data) if self._own_data is None else self._own_data.name
        self._arguments = (
            arguments if tls is None else (*arguments, "--tls-cert", tls[0], "--tls-key", tls[1])
        )
        self._ca_file = None if tls is None else tls[0]
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("ALLOT_")}
        self._env.update(env or {})
        self.port = _free_port()
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}"
        self.process: Optional[subprocess.Popen[bytes]] = None
        self._workers: List[Worker] = []
        self._processes: List[subprocess.Popen[Any]] = []
        self._clients: List[Client] = []

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    # --- The server.

    def start(self, wait: float = 30.0) -> None:
        """Starts it, and waits until it is ready."""
        if self.process is not None and self.process.poll() is None:
            return
        command = [self.program, "serve", "--listen", f"127.0.0.1:{self.port}", "--data", self.data]
        with open(os.path.join(self.data, "server.log"), "ab") as log:
            self.process = subprocess.Popen(
                [*command, *self._arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._env
            )
        until = time.monotonic() + wait
        trust = None if self._ca_file is None else ssl.create_default_context(cafile=self._ca_file)
        while True:
            try:
                with urllib.request.urlopen(self.url + "/readyz", timeout=5, context=trust):
                    return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise Error(f"the server does not start:\n{self.log()[-2000:]}") from None
            time.sleep(0.005)

    def log(self) -> str:
        with open(os.path.join(self.data, "server.log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self) -> None:
        """SIGTERM, and waits for its end."""
        self._signal(signal.SIGTERM)

    def kill9(self) -> None:
        """As a power cut would: SIGKILL."""
        self._signal(signal.SIGKILL)

    def restart(self) -> None:
        """Kills it if it runs, and starts it on the same port and data."""
        self.kill9()
        self.start()

    def _signal(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(60)

    # --- Who speaks to it.

    def client(self, **options: Any) -> Client:
        options.setdefault("server", self.url)
        options.setdefault("ca_file", self._ca_file)
        made = Client(**options)
        self._clients.append(made)
        return made

    def async_client(self, **options: Any) -> AsyncClient:
        """To be closed by whoever asked for it."""
        options.setdefault("server", self.url)
        options.setdefault("ca_file", self._ca_file)
        return AsyncClient(**options)

    def worker(self, *functions: Task[Any, Any], **options: Any) -> Worker:
        """A worker of this process, started; it is drained with the server's end, or by `with`."""
        options.setdefault("server", self.url)
        options.setdefault("ca_file", self._ca_file)
        options.setdefault("quiet", True)
        if not {"processes", "threads", "concurrency"} & set(options):
            if not all(function.is_async for function in functions):
                options["threads"] = 2
        made = _Started(*functions, **options)
        made.start()
        self._workers.append(made)
        return made

    def worker_process(
        self, *names: str, options: Sequence[str] = (), env: Optional[Dict[str, str]] = None, **popen: Any
    ) -> subprocess.Popen[Any]:
        """A worker in a process of its own: `python -m allotter worker MODULE:TASK …`."""
        paths = [path for path in sys.path if path]
        merged = {**self._env, "PYTHONPATH": os.pathsep.join(paths), "ALLOT_SERVER": self.url, **(env or {})}
        command = [sys.executable, "-m", "allotter", "worker", *names, *options]
        started: subprocess.Popen[Any] = subprocess.Popen(command, env=merged, **popen)
        self._processes.append(started)
        return started

    def command(self, *arguments: str, check: bool = True) -> str:
        """Runs the program `allot` against it; what it prints."""
        env = {**self._env, "ALLOT_SERVER": self.url}
        ran = subprocess.run(
            [self.program, *arguments],
            env=env,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            check=check,
            text=True,
        )
        return ran.stdout

    def close(self) -> None:
        for worker in self._workers:
            worker.drain()
        for process in self._processes:
            if process.poll() is None:
                process.terminate()
        for worker in self._workers:
            if not worker.ended.wait(10):
                worker.kill()
        for process in self._processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for client in self._clients:
            client.close()
        self.kill9()
        if self._own_data is not None:
            self._own_data.cleanup()


class _Started(Worker):
    """A worker that has been started: `with` only ends it."""

    def __enter__(self) -> Worker:
        return self
