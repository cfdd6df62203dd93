# SPDX-License-Identifier: Apache-2.0
"""Runs tasks in child processes, under a supervisor of its own: the thread with the connection.

A child that dies fails the task that ran in it, and no other; a new one takes its place.
"""

from __future__ import annotations

import collections
import importlib
import multiprocessing
import multiprocessing.context
import multiprocessing.sharedctypes
import os
import selectors
import signal
import socket
import sys
import time
from typing import Any, Deque, Dict, List, Optional, Sequence, Tuple, Union

from ..codec import loads
from ..errors import Error
from ..functions import find_task
from ..wire.worker import RELEASED, Lease, Outcome, failed
from .child import CANCEL, HEAD, ORDER, SIGNAL, WITHDRAW, frame, given_of, main
from .runner import AnyTask, Assigned
from .link import Link

# A child is given ahead what it will have done in this time.
_AHEAD_SECONDS = 0.01
_MOST_AHEAD = 64
# One that was silent for so long gives back what has not begun.
_SILENT = 0.05
# So often in a row may children end before they were ready.
_FALSE_STARTS = 3
_LEAVE = 2.0
_LOOK = 0.25
_AGAIN = 0.05

_Context = Union[multiprocessing.context.SpawnContext, multiprocessing.context.ForkServerContext]


class _Entry:
    """A task in a child."""

    __slots__ = ("lease", "function", "child", "serial", "alone", "stopped", "kill_at")

    def __init__(self, task: Assigned) -> None:
        self.lease = task.lease
        self.function = task.function
        self.child: Optional[_Child] = None
        self.serial = 0
        self.alone = False
        self.stopped = ""  # why
        self.kill_at: Optional[float] = None


class _Child:
    def __init__(self, process: Any, data: socket.socket, control: socket.socket, running: Any) -> None:
        self.process = process
        self.data = data
        self.control = control
        self.running = running  # in shared memory: the first and last serial that runs
        self.into = bytearray()
        self.out = bytearray()
        self.events = selectors.EVENT_READ
        self.given: Dict[int, _Entry] = {}  # in the order in which they are run
        self.ready = False
        self.heard_at = time.monotonic()
        self.asked_back = False
        self.killed = False
        self.cancels = False  # something in it is to be stopped


class Processes:
    def __init__(
        self, owner: Link, functions: Sequence[AnyTask], processes: int, *, method: str, grace: float
    ) -> None:
        self.slots = processes
        self._owner = owner
        self._functions = functions
        self._paths = [_path_of(function) for function in functions]
        self._context: _Context = multiprocessing.get_context(method)  # type: ignore[assignment]
        if method == "forkserver":
            self._context.set_forkserver_preload(["allotter.work.child", *{path[0] for path in self._paths}])
        self._method = method
        self._grace = grace
        self._children: List[_Child] = []
        self._waiting: Deque[_Entry] = collections.deque()
        self._serial = 0
        self._average: Optional[float] = None
        self._false_starts = 0
        self._spawn_at: Optional[float] = None
        self._stopping = False
        self._look_at = 0.0
        self._batch = max((function.max_items for function in functions), default=0) or 1

    # --- As a runner.

    def start(self) -> None:
        for _ in range(self.slots):
            self._spawn()

    def run(self, tasks: List[Assigned]) -> None:
        for task in tasks:
            entry = task.lease.state = _Entry(task)
            self._waiting.append(entry)
        self._deal()

    def cancel(self, lease: Lease, reason: str) -> None:
        entry: _Entry = lease.state
        if entry.stopped:
            return
        entry.stopped = reason
        child = entry.child
        if child is None:
            try:
                self._waiting.remove(entry)
            except ValueError:
                return
            self._owner.finish(lease, RELEASED)
            return
        entry.kill_at = time.monotonic() + self._grace
        child.cancels = True
        self._order(child, CANCEL, entry.serial)

    def withdraw(self) -> None:
        self._stopping = True
        while self._waiting:
            self._owner.finish(self._waiting.popleft().lease, RELEASED)
        for child in self._children:
            if len(child.given) > 1:
                self._order(child, WITHDRAW)

    def poll(self, now: float) -> Optional[float]:
        times: List[float] = []
        if now >= self._look_at:
            # Their ends show at once where their sockets end; but what a task forked may keep those open.
            self._look_at = now + _LOOK
            for child in list(self._children):
                if not child.process.is_alive():
                    self._died(child)
        for child in self._children:
            if len(child.given) > self._group_in(child) and child.ready:
                if now - child.heard_at < _SILENT:
                    times.append(child.heard_at + _SILENT)
                elif not child.asked_back:
                    # What runs takes longer than thought: what waits behind it is better off elsewhere.
                    child.asked_back = True
                    self._average = max(self._average or 0.0, now - child.heard_at)
                    self._order(child, WITHDRAW)
                else:
                    self._signal(child)
                    times.append(now + _LOOK)
            if child.cancels:
                times += self._kill_deaf(child, now)
        if self._spawn_at is not None:
            if now >= self._spawn_at:
                self._spawn_at = None
                for _ in range(self.slots - len(self._children)):
                    self._spawn()
            else:
                times.append(self._spawn_at)
        return min(times, default=None)

    def stop(self, kill: bool) -> None:
        self._stopping = True
        children, self._children = self._children, []
        for child in children:
            if kill:
                _kill(child)
            self._forget(child)
        until = time.monotonic() + _LEAVE
        for child in children:
            child.process.join(max(0.0, until - time.monotonic()))
            if child.process.is_alive():
                _kill(child)
                child.process.join()

    # --- Children.

    def _spawn(self) -> None:
        ours, theirs = socket.socketpair()
        orders, control = socket.socketpair()
        running = multiprocessing.sharedctypes.RawArray("Q", 2)
        parent = os.getpid() if self._method == "spawn" else 0
        arguments = (theirs, control, running, self._paths, parent)
        try:
            process = self._context.Process(target=main, args=arguments, name="allotter-task")
            process.start()
        finally:
            theirs.close()
            control.close()
        ours.setblocking(False)
        orders.setblocking(False)
        child = _Child(process, ours, orders, running)
        self._children.append(child)
        self._owner.selector.register(ours, child.events, lambda events: self._on_socket(child, events))

    def _forget(self, child: _Child) -> None:
        if child in self._children:
            self._children.remove(child)
        try:
            self._owner.selector.unregister(child.data)
        except (KeyError, ValueError):
            pass
        child.data.close()
        child.control.close()

    def _died(self, child: _Child) -> None:
        self._read(child, last=True)
        if child not in self._children:
            return
        child.process.join()
        status = child.process.exitcode
        self._forget(child)
        _kill_group(child)
        if not child.ready:
            self._false_starts += 1
            if self._false_starts >= _FALSE_STARTS:
                raise Error(
                    f"{_FALSE_STARTS} child processes in a row ended before they began: {_how(status)}"
                )
        first, last = child.running[0], child.running[1]
        again: List[_Entry] = []
        for entry in child.given.values():
            entry.child = None
            if entry.stopped:
                self._owner.finish(entry.lease, failed(f"stopped: {entry.stopped}"))
            elif first <= entry.serial <= last:
                if first == last:
                    self._owner.finish(entry.lease, failed(f"the process that ran it {_how(status)}"))
                else:
                    entry.alone = True  # one of a batch: which of them it was shows when each runs alone
                    again.append(entry)
            else:
                again.append(entry)
        self._requeue(again)
        if not self._stopping or child.given:
            self._spawn_at = time.monotonic() + (0.0 if child.ready else 0.1 * 2**self._false_starts)
            self._owner.look_within(0.0)

    def _requeue(self, entries: List[_Entry]) -> None:
        for entry in reversed(entries):
            entry.child = None
            if entry.stopped or self._stopping:
                self._owner.finish(entry.lease, RELEASED)
            else:
                self._waiting.appendleft(entry)
        self._deal()

    def _kill_deaf(self, child: _Child, now: float) -> List[float]:
        """Kills a child whose task was cancelled a while ago and goes on."""
        times: List[float] = []
        for entry in child.given.values():
            if entry.kill_at is None:
                continue
            if now < entry.kill_at:
                # A signal that came just before a wait began does not end that wait: the next one does.
                self._signal(child)
                times.append(min(entry.kill_at, now + _AGAIN))
            elif child.running[0] <= entry.serial <= child.running[1]:
                _kill(child)
                times.append(now + 0.01)
            else:
                entry.kill_at = now + self._grace  # its turn has not come
                times.append(entry.kill_at)
        return times

    # --- Giving.

    def _group_in(self, child: _Child) -> int:
        return max(1, int(child.running[1]) - int(child.running[0]) + 1)

    def _ahead(self) -> int:
        """How many tasks a child is given at once."""
        if self._average is None:
            return self._batch
        return max(self._batch, min(_MOST_AHEAD, int(_AHEAD_SECONDS / max(self._average, 1e-6))))

    def _deal(self) -> None:
        waiting = self._waiting
        if not waiting:
            return
        most = self._ahead()
        ready = [child for child in self._children if child.ready and not child.killed]
        free = sorted(
            (child for child in ready if len(child.given) <= (most // 2 if most > self._batch else 0)),
            key=lambda child: len(child.given),
        )
        for number, child in enumerate(free):
            if not waiting:
                return
            others = len(free) - number
            room = most - len(child.given)
            # So that no other is left without: each gets its part.
            self._give(child, min(room, -(-len(waiting) // others)))

    def _give(self, child: _Child, count: int) -> None:
        frames = []
        if not child.given:
            child.heard_at = time.monotonic()
        for _ in range(min(count, len(self._waiting))):
            entry = self._waiting.popleft()
            self._serial += 1
            entry.serial, entry.child = self._serial, child
            child.given[entry.serial] = entry
            frames.append(given_of(entry.serial, entry.function, entry.alone, entry.lease.fields))
        child.out += frame(frames)
        self._write(child)
        if len(child.given) > 1:
            self._owner.look_within(_SILENT)

    def _order(self, child: _Child, order: bytes, serial: int = 0) -> None:
        try:
            child.control.send(ORDER.pack(order, serial))
        except OSError:
            return  # it is gone, which shows elsewhere
        self._signal(child)

    def _signal(self, child: _Child) -> None:
        try:
            os.kill(child.process.pid, SIGNAL)
        except (OSError, TypeError):
            pass

    # --- Taking.

    def _on_socket(self, child: _Child, events: int) -> None:
        if events & selectors.EVENT_WRITE and child in self._children:
            self._write(child)
        if events & selectors.EVENT_READ and child in self._children:
            self._read(child)

    def _write(self, child: _Child) -> None:
        try:
            while child.out:
                sent = child.data.send(child.out)
                del child.out[:sent]
        except BlockingIOError:
            pass
        except OSError:
            child.out.clear()
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if child.out else 0)
        if events != child.events:
            child.events = events
            self._owner.selector.modify(child.data, events, lambda events: self._on_socket(child, events))

    def _read(self, child: _Child, last: bool = False) -> None:
        ended = False
        while True:
            try:
                data = child.data.recv(256 * 1024)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                ended = True
                break
            child.into += data
            if len(data) < 256 * 1024 and not last:
                break
        while len(child.into) >= HEAD.size:
            size = HEAD.unpack_from(child.into)[0] + HEAD.size
            if len(child.into) < size:
                break
            message = loads(bytes(child.into[HEAD.size : size]))
            del child.into[:size]
            self._take(child, message)
        if ended and not last:
            child.process.join(1.0)
            if child.process.is_alive():
                _kill(child)
                child.process.join()
            self._died(child)

    def _take(self, child: _Child, message: Dict[str, Any]) -> None:
        child.heard_at = time.monotonic()
        child.asked_back = False
        if "broken" in message:
            raise Error(f"a child process cannot run the tasks: {message['broken']}")
        if "ready" in message:
            child.ready = True
            self._false_starts = 0
        results = message.get("results")
        if results:
            spent = message["seconds"] / len(results)
            weight = 0.8 ** len(results)
            self._average = spent if self._average is None else weight * self._average + (1 - weight) * spent
            self._owner.took(message["seconds"], len(results))
            for serial, kind, text, after in results:
                entry = child.given.pop(serial, None)
                if entry is None:
                    continue
                outcome = Outcome(kind, text, after)
                if entry.stopped and kind != "done":
                    outcome = failed(f"stopped: {entry.stopped}")
                self._owner.finish(entry.lease, outcome)
        if "back" in message:
            back = [child.given.pop(serial) for serial in message["back"] if serial in child.given]
            self._requeue(back)
        if "progress" in message:
            serial, progress = message["progress"]
            entry = child.given.get(serial)
            if entry is not None:
                self._owner.progress(entry.lease, progress)
        self._deal()


def _path_of(function: AnyTask) -> Tuple[str, str]:
    module, name = function.path()
    loaded = sys.modules.get(module) or importlib.import_module(module)
    try:
        if find_task(loaded, name) is function:
            return module, name
    except (AttributeError, Error):
        pass
    for name, value in vars(loaded).items():
        if value is function:
            return module, name
    raise Error(
        f"a child process cannot find {function!r}: define it at the top of a module, or run it with threads="
    )


def _kill_group(child: _Child) -> None:
    try:
        os.killpg(child.process.pid, signal.SIGKILL)
    except (OSError, TypeError):
        pass


def _kill(child: _Child) -> None:
    """It, and what its task started."""
    child.killed = True
    _kill_group(child)
    try:
        child.process.kill()
    except (OSError, AttributeError):
        pass


def _how(status: Optional[int]) -> str:
    if status is not None and status < 0:
        try:
            return f"was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"
    return f"ended with status {status}"
