# SPDX-License-Identifier: Apache-2.0
"""A child process: takes tasks from its parent, one frame of several at a time, and runs them in its main thread.

A signal (SIGURG, which does nothing where it is not expected) says that there is something in the control socket: a
task to cancel, or the wish to have back what has not begun. Its handler runs between two steps of the task's code and
raises Cancelled there; so loops, sleeps and waits end at once, also below `except Exception`.
"""

from __future__ import annotations

import asyncio
import collections
import ctypes
import functools
import importlib
import json
import os
import signal
import socket
import struct
import sys
import threading
import time
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence, Set, Tuple

from ..codec import dumps, loads
from ..functions import Cancelled, Context, error_text, find_task
from ..wire.worker import Outcome, failed
from .runner import NO_CONTEXT, AnyTask, context_of, group_of, outcome_of, run_batch, run_one, run_one_async

SIGNAL = signal.SIGURG
HEAD = struct.Struct("!I")
ORDER = struct.Struct("!cQ")
CANCEL, WITHDRAW = b"C", b"W"
# Results of very short tasks are told together.
_HOLD = 0.0005
_PR_SET_PDEATHSIG = 1

# A task on its way into a child, as a list: names would be half of what is sent.
SERIAL, FUNCTION, ALONE, PAYLOAD, JOB, INDEX, ATTEMPT, COUNT, REST = range(9)
Given = List[Any]
_SENT = frozenset(("payload", "job", "index", "attempt", "count", "lease", "lease_ms", "timeout_ms"))


def given_of(serial: int, function: int, alone: bool, fields: Dict[str, Any]) -> Given:
    """`alone`: it must not be put into a batch with others."""
    get = fields.get
    given = [
        serial,
        function,
        alone,
        get("payload"),
        fields["job"],
        fields["index"],
        get("attempt", 1),
        get("count", 1),
    ]
    if not fields.keys() <= _SENT:
        given.append({name: value for name, value in fields.items() if name not in _SENT})
    return given


def frame(value: Any) -> bytes:
    body = dumps(value).encode("utf-8", "surrogatepass")
    return HEAD.pack(len(body)) + body


def main(
    data: socket.socket,
    control: socket.socket,
    running: Any,
    paths: Sequence[Tuple[str, str]],
    parent: int,
) -> None:
    """The child's whole life. `running` are two numbers in shared memory: the first and last task that runs."""
    try:
        os.setpgid(0, 0)  # so that what a task starts can be ended with it
    except OSError:
        pass
    _die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control.setblocking(False)
    data.settimeout(None)
    try:
        functions = [find_task(importlib.import_module(module), name) for module, name in paths]
    except BaseException as error:
        data.sendall(frame({"broken": error_text(error)}))
        return
    Child(data, control, running, functions).run()


def _die_with(parent: int) -> None:
    """Where the system can, the child ends with its parent, even in the middle of a task."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError):
        return
    if parent and os.getppid() != parent:
        os._exit(1)


class Child:
    def __init__(
        self, data: socket.socket, control: socket.socket, running: Any, functions: Sequence[AnyTask]
    ) -> None:
        self._data = data
        self._control = control
        self._shared = running
        self._functions = functions
        self._in = bytearray()
        self._orders = bytearray()
        self._queue: Deque[Given] = collections.deque()
        self._results: List[List[Any]] = []
        self._spent = 0.0
        self._told_at = 0.0
        self._cancelled: Set[int] = set()
        self._withdraw = False
        self._current: Sequence[int] = ()  # not empty: the user's code runs, and the handler may act
        self._thrown: Sequence[int] = ()
        self._stop: Optional[Callable[[], object]] = None  # of a coroutine
        self._sending = threading.Lock()
        self._poked = False
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    def run(self) -> None:
        signal.signal(SIGNAL, self._signalled)
        sys.unraisablehook = self._swallowed
        self._send({"ready": os.getpid()})
        self._read_control()
        while True:
            if self._withdraw:
                self._give_back()
            if not self._queue:
                self._tell()
                if not self._receive():
                    return
                continue
            self._run_some()
            if time.monotonic() - self._told_at > _HOLD:
                self._tell()

    # --- Frames.

    def _receive(self) -> bool:
        """Waits for a frame. False: the parent is gone, or has no more."""
        while not self._unpack():
            try:
                data = self._data.recv(256 * 1024)
            except ConnectionError:
                return False
            if not data:
                return False
            self._in += data
        return True

    def _unpack(self) -> bool:
        some = False
        while len(self._in) >= HEAD.size:
            size = HEAD.unpack_from(self._in)[0] + HEAD.size
            if len(self._in) < size:
                break
            self._queue.extend(loads(bytes(self._in[HEAD.size : size])))
            del self._in[:size]
            some = True
        return some

    def _send(self, value: Any) -> None:
        with self._sending:
            self._data.sendall(frame(value))
        if self._poked:
            # The handler came while something was being said; it is called again.
            self._poked = False
            os.kill(os.getpid(), SIGNAL)

    def _tell(self) -> None:
        if self._results:
            results, self._results = self._results, []
            spent, self._spent = self._spent, 0.0
            self._send({"results": results, "seconds": spent})
        self._told_at = time.monotonic()

    def _give_back(self) -> None:
        self._withdraw = False
        back = [given[SERIAL] for given in self._queue]
        self._queue.clear()
        self._tell()
        self._send({"back": back})

    # --- The handler.

    def _read_control(self) -> None:
        try:
            while True:
                data = self._control.recv(4096)
                if not data:
                    break
                self._orders += data
        except (BlockingIOError, ConnectionError):
            pass
        while len(self._orders) >= ORDER.size:
            order, serial = ORDER.unpack_from(self._orders)
            del self._orders[: ORDER.size]
            if order == CANCEL:
                self._cancelled.add(serial)
            else:
                self._withdraw = True

    def _signalled(self, _signal: int, _frame: Any) -> None:
        if not self._sending.acquire(False):
            self._poked = True
            return
        try:
            self._read_control()
            current = self._current
            if not current:
                return  # it is between two tasks, and looks by itself
            if self._withdraw:
                self._withdraw = False
                self._take_what_came()
                back = [given[SERIAL] for given in self._queue]
                self._queue.clear()
                results, self._results = self._results, []
                spent, self._spent = self._spent, 0.0
                self._data.sendall(frame({"results": results, "seconds": spent, "back": back}))
        finally:
            self._sending.release()
        if any(serial in self._cancelled for serial in current):
            if self._stop is not None:
                self._stop()
            else:
                self._thrown, self._current = current, ()  # once
                raise Cancelled()

    def _swallowed(self, what: Any) -> None:
        """Python drops what is raised in a finalizer. Cancelled is raised again with the parent's next signal."""
        if what.exc_type is not Cancelled:
            sys.__unraisablehook__(what)
            return
        self._current = self._thrown

    def _take_what_came(self) -> None:
        try:
            while True:
                data = self._data.recv(256 * 1024, socket.MSG_DONTWAIT)
                if not data:
                    break
                self._in += data
        except (BlockingIOError, ConnectionError):
            pass
        self._unpack()

    # --- Tasks.

    def _run_some(self) -> None:
        queue = self._queue
        first = queue.popleft()
        if first[SERIAL] in self._cancelled:
            self._end([first], [failed("cancelled")])
            return
        group = [first]
        function = self._functions[first[FUNCTION]]
        if function.max_items > 1 and not first[ALONE]:
            most = [
                (given[FUNCTION], given[PAYLOAD]) for given in (first, *list(queue)[: function.max_items - 1])
            ]
            for _ in range(group_of(most, self._functions) - 1):
                if queue[0][ALONE] or queue[0][SERIAL] in self._cancelled:
                    break
                group.append(queue.popleft())
        self._shared[1] = group[-1][SERIAL]
        self._shared[0] = first[SERIAL]
        began = time.perf_counter()
        outcomes = self._outcomes(function, group)
        self._spent += time.perf_counter() - began
        self._end(group, outcomes)

    def _outcomes(self, function: AnyTask, group: List[Given]) -> List[Outcome]:
        contexts = [self._context(given) for given in group]
        try:
            try:
                self._current = [given[SERIAL] for given in group]
                if self._cancelled and not self._cancelled.isdisjoint(self._current):
                    raise Cancelled()  # it came after the last look
                if function.is_async:
                    return [self._run_async(function, group[0], contexts[0])]
                if len(group) > 1:
                    return run_batch(function, [given[PAYLOAD] for given in group], contexts)
                return [run_one(function, group[0][PAYLOAD], contexts[0])]
            finally:
                self._current = ()
        except BaseException as error:
            self._current = ()
            if len(group) > 1 and isinstance(error, Cancelled):
                # Those that were not meant go again, each alone.
                return [
                    failed("cancelled")
                    if given[SERIAL] in self._cancelled
                    else self._outcomes(function, [given])[0]
                    for given in group
                ]
            return [outcome_of(error, function)] * len(group)

    def _run_async(self, function: AnyTask, given: Given, context: Context) -> Outcome:
        loop = self._loop = self._loop or asyncio.new_event_loop()
        running = loop.create_task(run_one_async(function, given[PAYLOAD], context))
        self._stop = functools.partial(loop.call_soon_threadsafe, running.cancel)
        try:
            return loop.run_until_complete(running)
        except asyncio.CancelledError:
            return failed("cancelled")
        finally:
            self._stop = None

    def _context(self, given: Given) -> Context:
        if self._functions[given[FUNCTION]].context_name is None:
            return NO_CONTEXT

        def report(progress: Dict[str, Any]) -> None:
            self._send({"progress": [given[SERIAL], progress]})

        fields = {"job": given[JOB], "index": given[INDEX], "attempt": given[ATTEMPT], "count": given[COUNT]}
        if len(given) > REST:
            fields.update(given[REST])
        return context_of(fields, lambda: given[SERIAL] in self._cancelled, report)

    def _end(self, group: List[Given], outcomes: List[Outcome]) -> None:
        for given, outcome in zip(group, outcomes):
            self._cancelled.discard(given[SERIAL])
            self._results.append([given[SERIAL], outcome.kind, outcome.text, outcome.after])
