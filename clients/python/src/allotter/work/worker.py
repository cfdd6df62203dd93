# SPDX-License-Identifier: Apache-2.0
"""Worker: takes tasks from a queue, runs them, reports how they ended."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import socket
import threading
from typing import Any, Dict, Mapping, Optional, Sequence, Union

from ..errors import Error
from ..expressions import Expr, text_of
from ..functions import Task
from ..options import connection_options
from ..strategies import Strategy, wire_strategy
from ..wire.worker import Identity
from .link import Link, say_on_stderr
from .loop import Loop
from .processes import Processes
from .runner import Runner
from .threads import Threads

DEFAULT_CONCURRENCY = 100


class Worker:
    """Runs tasks of these functions until it is drained.

    processes=N    child processes; the default, one for each processor. What a task does to its process, crashes and
                   calls that never return included, is its own affair.
    threads=N      threads of this process. Cancelling sets a flag that `ctx.check()` sees.
    concurrency=N  for `async def` functions, the default for these: so many at a time, on one event loop.

    SIGTERM and Ctrl-C drain: what has not begun is given back, what runs is finished. A second one stops what runs.
    """

    def __init__(
        self,
        *functions: Task[Any, Any],
        processes: Optional[int] = None,
        threads: Optional[int] = None,
        concurrency: Optional[int] = None,
        server: Optional[str] = None,
        queue: Optional[str] = None,
        token: Optional[str] = None,
        token_file: Optional[str] = None,
        ca_file: Optional[str] = None,
        name: Optional[str] = None,
        tags: Sequence[str] = (),
        properties: Optional[Mapping[str, str]] = None,
        attributes: Optional[Mapping[str, Any]] = None,
        requirements: Union[Expr, str, None] = None,
        rank: Union[Expr, str, float, None] = None,
        strategy: Union[Strategy, str, None] = None,
        prefetch: Optional[int] = None,
        grace: float = 5.0,
        idle_exit: Optional[float] = None,
        start_method: str = "spawn",
        quiet: bool = False,
    ) -> None:
        """`prefetch` tasks are held beyond those that run; None: as many as are worth it, while tasks are short.
        What does not stop within `grace` seconds after it was cancelled is killed, in child processes. After
        `idle_exit` seconds without a task it ends. `start_method` is spawn or forkserver."""
        if not functions:
            raise ValueError("a worker needs a function: Worker(square)")
        if sum(choice is not None for choice in (processes, threads, concurrency)) > 1:
            raise ValueError("processes, threads and concurrency exclude each other")
        for word, number in (("processes", processes), ("threads", threads), ("concurrency", concurrency)):
            if number is not None and not 1 <= number <= 10_000:
                raise ValueError(f"{word} is from 1 to 10,000")
        names = [function.name for function in functions]
        if len(set(names)) < len(names):
            raise ValueError("two functions have the same name")
        if start_method not in ("spawn", "forkserver"):
            raise ValueError("start_method is spawn or forkserver")
        all_async = all(function.is_async for function in functions)
        if concurrency is not None and not all_async:
            raise ValueError("concurrency is for `async def` functions: use processes or threads")
        if processes is None and threads is None and all_async:
            concurrency = concurrency or DEFAULT_CONCURRENCY
        self._functions = functions
        self._processes = processes or os.cpu_count() or 1
        self._threads = threads
        self._concurrency = concurrency
        self._options = connection_options(server, queue, token, token_file, ca_file)
        fields: Dict[str, Any] = {"tags": list(dict.fromkeys([*names, *tags]))}
        for key, value in (
            ("properties", dict(properties) if properties else None),
            ("attributes", dict(attributes) if attributes else None),
            ("requirements", text_of(requirements)),
            ("rank", text_of(rank)),
            ("strategy", wire_strategy(strategy)),
        ):
            if value is not None:
                fields[key] = value
        self._identity = Identity(name or f"{socket.gethostname()[:100]}-{os.getpid()}", 1, fields)
        self._prefetch = prefetch
        self._grace = grace
        self._idle_exit = idle_exit
        self._method = start_method
        self._say = (lambda text: None) if quiet else say_on_stderr
        self._link: Optional[Link] = None
        self.ended = threading.Event()
        self._asked = 0

    # --- Running.

    def run(self) -> None:
        """Blocks until it is drained. Raises what trying again cannot mend, KeyboardInterrupt after a second Ctrl-C."""
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise Error(
                "a child process imports the program: put Worker(…).run() below `if __name__ == '__main__':`"
            )
        self._start(None)
        before = self._handle_signals()
        try:
            # Not for ever: a wait with a time notices signals on every system.
            while not self.ended.wait(1.0):
                pass
        except BaseException:
            self.kill()
            self.ended.wait(1.0)
            raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        self._result()
        if self._asked > 1:
            raise KeyboardInterrupt

    async def run_async(self) -> None:
        """The same for a program with an event loop. Coroutine functions run on it. Cancelled, it drains, and waits for
        what runs; cancelled again, it stops that."""
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        def ended() -> None:
            try:
                loop.call_soon_threadsafe(done.set)
            except RuntimeError:
                pass

        self._start(loop, ended)
        drained: Optional[asyncio.CancelledError] = None
        while not done.is_set():
            try:
                await done.wait()
            except asyncio.CancelledError as error:
                if drained is None:
                    drained = error
                    self.drain()
                else:
                    self.kill()
        if drained is not None:
            raise drained
        self._result()

    def start(self) -> None:
        """Begins, and returns; `drain` and `join` end it."""
        self._start(None)

    def join(self, timeout: Optional[float] = None) -> bool:
        """Waits until it has ended. False: not within so many seconds."""
        if not self.ended.wait(timeout):
            return False
        self._result()
        return True

    def drain(self) -> None:
        """Takes no more, gives back what has not begun, finishes what runs, and ends. From any thread."""
        if self._link is not None:
            self._link.drain()

    def kill(self) -> None:
        """Stops what runs as well; it is queued again. Threads cannot be stopped, and are left behind."""
        if self._link is not None:
            self._link.kill()

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.drain()
        self.join()

    def _start(self, loop: Optional[asyncio.AbstractEventLoop], on_end: Any = None) -> None:
        if self._link is not None:
            raise RuntimeError("a worker runs once: make another")

        def ended() -> None:
            self.ended.set()
            if on_end is not None:
                on_end()

        link = Link(
            self._options,
            self._identity,
            self._functions,
            prefetch=self._prefetch,
            idle_exit=self._idle_exit,
            say=self._say,
            on_end=ended,
        )
        link.runner = self._runner(link, loop)
        self._identity.slots = link.runner.slots
        self._link = link
        link.start()

    def _runner(self, link: Link, loop: Optional[asyncio.AbstractEventLoop]) -> Runner:
        if self._concurrency is not None:
            return Loop(link, self._functions, self._concurrency, loop)
        if self._threads is not None:
            return Threads(link, self._functions, self._threads)
        return Processes(link, self._functions, self._processes, method=self._method, grace=self._grace)

    def _result(self) -> None:
        if self._link is not None and self._link.error is not None:
            raise self._link.error

    def _handle_signals(self) -> Dict[int, Any]:
        if threading.current_thread() is not threading.main_thread():
            return {}

        def asked(number: int, _: Any) -> None:
            self._asked += 1
            if self._asked == 1:
                self.drain()
            else:
                self.kill()

        return {number: signal.signal(number, asked) for number in (signal.SIGTERM, signal.SIGINT)}
