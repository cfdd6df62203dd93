# SPDX-License-Identifier: Apache-2.0
"""The thread with a worker's connection: nothing of the user's runs in it, so that nothing delays its heartbeats."""

from __future__ import annotations

import collections
import selectors
import socket
import ssl
import sys
import threading
import time
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence

from ..errors import Error, Forbidden, NotFound, Unavailable
from ..net import Connection, open_websocket
from ..options import Options
from ..wire.http import Heads, get
from ..wire.websocket import CLOSE, PING, PONG, TEXT, FrameReader, close_code, frame
from ..wire.worker import (
    RELEASED,
    Assigned as WireAssigned,
    Cancel,
    Changed,
    Drained,
    Headers,
    Identity,
    Lease,
    Lost,
    Outcome,
    ReportRefused,
    Session,
    Welcomed,
    rejected,
)
from .runner import AnyTask, Assigned, Router, Runner

_READ = 256 * 1024
# Tasks shorter than this are fetched ahead: otherwise the way to the server and back would be most of their time.
# Longer ones are not, so that none waits here while another worker is idle.
_SHORT_TASK = 0.2
_AHEAD_SECONDS = 0.1
_MOST_AHEAD = 1_000
# Of a connection that is lost when the worker is about to leave.
_LAST_WORDS = 5.0
_CAPACITY_EVERY = 0.02


class Link(threading.Thread):
    """Lives from the worker's start to its end. `finish`, `post`, `drain`, `kill` are safe from any thread."""

    def __init__(
        self,
        options: Options,
        identity: Identity,
        functions: Sequence[AnyTask],
        *,
        prefetch: Optional[int],
        idle_exit: Optional[float],
        say: Callable[[str], None],
        on_end: Callable[[], None],
    ) -> None:
        super().__init__(name="allotter-connection", daemon=True)
        self._options = options
        self._functions = functions
        self._router = Router(functions)
        self._prefetch = prefetch
        self._idle_exit = idle_exit
        self._say = say
        self._on_end = on_end
        self.runner: Runner  # set before it starts
        self.error: Optional[BaseException] = None
        self.selector = selectors.DefaultSelector()
        self._batch = max((function.max_items for function in functions), default=0) or 1
        self._identity = identity
        self._session: Session
        # What other threads leave here; a byte in the pipe wakes this one while it sleeps.
        self._finished: Deque[Any] = collections.deque()
        self._calls: Deque[Callable[[], None]] = collections.deque()
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_in.setblocking(False)
        self._wake_out.setblocking(False)
        self._asleep = False
        self._sock: Optional[socket.socket] = None
        self._frames = FrameReader()
        self._out = bytearray()
        self._events = 0
        self._connecting = False
        self._retry_at: Optional[float] = 0.0
        self._unknown: Dict[str, List[Lease]] = {}  # by job: whose function is being asked for
        self._lookup = _Lookup(options, self)
        self._average: Optional[float] = None
        self._completed = 0
        self._completed_since = 0.0
        self._idle_since = 0.0
        self._over = False
        self._killed = False
        self._lost_before = False
        self._deadline: Optional[float] = None
        self._house_at = 0.0  # when more is to be done than to pass on what comes
        self._capacity_at = 0.0

    # --- From any thread.

    def finish(self, lease: Lease, outcome: Outcome) -> None:
        self._finished.append((lease, outcome))
        if self._asleep:
            self.wake()

    def progress(self, lease: Lease, progress: Dict[str, Any]) -> None:
        self.post(lambda: self._session.progress(lease, progress))

    def post(self, call: Callable[[], None]) -> None:
        self._calls.append(call)
        if self._asleep:
            self.wake()

    def wake(self) -> None:
        try:
            self._wake_out.send(b"x")
        except (BlockingIOError, OSError):
            pass  # it is awake, or gone

    def drain(self) -> None:
        """Takes no more, gives back what has not begun, ends once the rest is told."""
        self.post(self._drain)
        self.wake()

    def kill(self) -> None:
        """Stops what runs, gives it back, and ends."""
        self.post(self._kill)
        self.wake()

    def took(self, seconds: float, tasks: int = 1) -> None:
        """How long tasks took: short ones are fetched ahead."""
        each = seconds / tasks
        self._average = each if self._average is None else 0.8 * self._average + 0.2 * each

    # --- The thread.

    def run(self) -> None:
        try:
            # With one function it is always that one.
            several = len(self._functions) > 1
            self._session = Session(self._identity, self._capacity(), wants_headers=several)
            self.selector.register(self._wake_in, selectors.EVENT_READ, self._woken)
            self._idle_since = time.monotonic()
            self.runner.start()
            while not self._over:
                self._round()
        except BaseException as error:
            self.error = error
        finally:
            try:
                self.runner.stop(kill=self.error is not None or self._killed)
            finally:
                self._disconnect()
                self._lookup.stop()
                self.selector.close()
                self._on_end()

    def _capacity(self) -> int:
        slots = self.runner.slots
        if self._prefetch is not None:
            ahead = self._prefetch
        elif self._average is None or self._average >= _SHORT_TASK:
            ahead = 0
        else:
            ahead = max(slots, min(_MOST_AHEAD, int(slots * _AHEAD_SECONDS / max(self._average, 1e-6))))
        return min(10_000, slots * self._batch + ahead)

    def _round(self) -> None:
        """Waits for something, does it, and says what came of it. All else is done when its time has come."""
        self._asleep = True
        ready: List[Any] = []
        try:
            left = self._house_at - time.monotonic()
            ready = self.selector.select(0.0 if self._finished or self._calls or left < 0 else left)
        finally:
            self._asleep = False
        for key, events in ready:
            key.data(events)
        while self._calls:
            self._calls.popleft()()
            self._house_at = 0.0
        now = time.monotonic()
        if self._finished:
            self._take_finished(now)
        if now >= self._house_at or self._session.draining:
            self._keep_house(now)
        self._flush(now)

    def _take_finished(self, now: float) -> None:
        finished = self._finished
        session = self._session
        while finished:
            lease, outcome = finished.popleft()
            session.finish(lease, outcome)
        if now - self._capacity_at > _CAPACITY_EVERY:
            self._capacity_at = now
            session.set_capacity(self._capacity())

    def _keep_house(self, now: float) -> None:
        self._connect_if_due(now)
        asked = self.runner.poll(now)
        self._take_finished(now)
        self._beat(now)
        self._session.set_capacity(self._capacity())
        self._flush(now)
        self._see_whether_over(now)
        self._house_at = self._due(now, asked)

    def _due(self, now: float, asked: Optional[float]) -> float:
        times = [now + 1.0]
        if self._retry_at is not None and not self._connecting:
            times.append(self._retry_at)
        if self._sock is not None:
            times.append(self._session.next_beat(self._options.timeout))
        if self._deadline is not None:
            times.append(self._deadline)
        if self._idle_exit is not None and not self._session.in_hand():
            times.append(self._idle_since + self._idle_exit)
        if asked is not None:
            times.append(asked)
        return min(times)

    def look_within(self, seconds: float) -> None:
        """The runner wants to be polled within that time. Of the thread with the connection."""
        self._house_at = min(self._house_at, time.monotonic() + seconds)

    def _woken(self, _: int) -> None:
        try:
            while len(self._wake_in.recv(4096)) == 4096:
                pass
        except BlockingIOError:
            pass

    def _see_whether_over(self, now: float) -> None:
        session = self._session
        if session.in_hand() or self._unknown:
            self._idle_since = now
        elif (
            self._idle_exit is not None and not session.draining and now - self._idle_since >= self._idle_exit
        ):
            self._drain()
            self._flush(now)
        if session.said_bye and not self._out:
            self._over = True
        elif session.draining and session.idle() and not session.up:
            self._over = True  # nothing to tell to a server that is away
        elif self._deadline is not None and now >= self._deadline:
            self._over = True

    def _drain(self) -> None:
        if self._session.draining:
            return
        self._session.drain()
        for leases in self._unknown.values():
            for lease in leases:
                self._session.finish(lease, RELEASED)
        self._unknown.clear()
        self.runner.withdraw()

    def _kill(self) -> None:
        if self._killed:
            return
        self._killed = True
        self._drain()
        self.runner.stop(kill=True)
        self._take_finished(time.monotonic())
        for lease in self._session.all_held():
            self._session.finish(lease, RELEASED)
        self._deadline = time.monotonic() + _LAST_WORDS

    # --- The connection.

    def _connect_if_due(self, now: float) -> None:
        if self._sock is not None or self._connecting or self._retry_at is None or now < self._retry_at:
            return
        # Names, handshakes and answers may take long: children and cancels must not wait for them.
        self._connecting = True
        threading.Thread(target=self._connect, name="allotter-connecting", daemon=True).start()

    def _connect(self) -> None:
        try:
            sock, rest = open_websocket(self._options.path("work"), self._options)
        except Exception as error:
            made: Error = (
                error if isinstance(error, Error) else Unavailable(f"{type(error).__name__}: {error}")
            )
            self.post(lambda: self._not_connected(made))
        else:
            self.post(lambda: self._connected(sock, rest))

    def _not_connected(self, error: Error) -> None:
        self._connecting = False
        self._lose(error)

    def _connected(self, sock: socket.socket, rest: bytes) -> None:
        self._connecting = False
        if self._over:
            sock.close()
            return
        now = time.monotonic()
        self._retry_at = None
        sock.setblocking(False)
        self._sock = sock
        self._frames = FrameReader()
        self._out.clear()
        self._events = selectors.EVENT_READ
        self.selector.register(sock, self._events, self._on_socket)
        self._session.connecting(now)
        self._out += frame(self._session.hello().encode("utf-8"))
        self._write()
        self._feed(rest)

    def _disconnect(self) -> None:
        sock, self._sock = self._sock, None
        if sock is not None:
            try:
                self.selector.unregister(sock)
            except (KeyError, ValueError):
                pass
            sock.close()
        self._out.clear()

    def _lose(self, error: Error) -> None:
        self._disconnect()
        if self._session.said_bye:
            self._over = True
            return
        pause = self._session.disconnected(error)
        if pause is None:
            self._over = True
            return
        if not self._lost_before:
            self._say(f"{error}; trying again for as long as it takes")
        self._lost_before = True
        self._retry_at = time.monotonic() + pause
        self._house_at = 0.0

    def _on_socket(self, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._write()
        if events & selectors.EVENT_READ and self._sock is not None:
            self._read()

    def _read(self) -> None:
        while self._sock is not None:
            try:
                data = self._sock.recv(_READ)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError as error:
                self._lose(Unavailable(f"the connection was lost: {error}"))
                return
            if not data:
                self._lose(Unavailable("the server closed the connection"))
                return
            self._feed(data)
            if len(data) < _READ and not isinstance(self._sock, ssl.SSLSocket):
                return

    def _feed(self, data: bytes) -> None:
        self._frames.feed(data)
        try:
            for opcode, body in self._frames.frames():
                if opcode == TEXT:
                    self._handle(body)
                elif opcode == PING:
                    self._out += frame(body, PONG)
                    self._session.heard(time.monotonic())
                elif opcode == PONG:
                    self._session.heard(time.monotonic())
                elif opcode == CLOSE:
                    why = body[2:].decode("utf-8", "replace")
                    self._lose(Unavailable(f"the server closed the connection ({close_code(body)} {why})"))
                if self._sock is None:
                    return
        except Unavailable as error:
            self._lose(error)

    def _write(self) -> None:
        sock = self._sock
        while sock is not None and self._out:
            try:
                sent = sock.send(self._out)
                del self._out[:sent]
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except OSError as error:
                self._lose(Unavailable(f"the connection was lost: {error}"))
                return
        if sock is not None:
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._out else 0)
            if events != self._events:
                self._events = events
                self.selector.modify(sock, events, self._on_socket)

    def _flush(self, now: float) -> None:
        if self._sock is None:
            return
        for message in self._session.outgoing(now):
            self._out += frame(message.encode("utf-8"))
        if self._out:
            self._write()

    def _beat(self, now: float) -> None:
        if self._sock is None:
            return
        error = self._session.beat(now, self._options.timeout)
        if error is not None:
            self._lose(error)
            return
        if self._session.needs_sign(now):
            if self._session.in_hand():
                self._out += frame(b"{}")
            self._out += frame(b"", PING)

    # --- What comes.

    def _handle(self, text: bytes) -> None:
        for event in self._session.receive(text, time.monotonic()):
            if isinstance(event, WireAssigned):
                self._assign(event.leases)
                continue
            self._house_at = 0.0
            if isinstance(event, Cancel):
                self._cancel(event.lease, event.reason)
            elif isinstance(event, Headers):
                for job in event.jobs:
                    self._learned(str(job.get("id", job.get("job"))), job.get("tags", ()))
            elif isinstance(event, Welcomed):
                if self._lost_before:
                    self._say(f"connected as worker {event.worker}")
                self._lost_before = False
            elif isinstance(event, Drained):
                self._say("told to finish and go")
                self._drain()
            elif isinstance(event, Changed):
                self._say("an operator changed what this worker is")
            elif isinstance(event, ReportRefused):
                if event.code not in ("stale", "job_ended"):  # these ended meanwhile: nothing to worry about
                    self._say(f"the report of task {event.job}/{event.task} was refused: {event.message}")
            elif isinstance(event, Lost):
                self._lose(event.error)

    def _assign(self, leases: Sequence[Lease]) -> None:
        self._idle_since = time.monotonic()
        self._house_at = min(self._house_at, self._session.next_beat(self._options.timeout))
        tasks: List[Assigned] = []
        for lease in leases:
            function = self._router.of(lease.job)
            if function is None:
                waiting = self._unknown.get(lease.job)
                if waiting is None:
                    self._unknown[lease.job] = waiting = []
                    self._lookup.ask(lease.job)
                waiting.append(lease)
            elif function < 0:
                self._session.finish(lease, rejected("this worker has no function for the job's tags"))
            else:
                tasks.append(Assigned(lease, function))
        if tasks:
            self.runner.run(tasks)

    def _learned(self, job: str, tags: Sequence[str]) -> None:
        self._router.learn(job, tags)
        leases = self._unknown.pop(job, None)
        if leases:
            self._assign([lease for lease in leases if self._session.holds(lease.lease)])

    def not_learned(self, job: str, error: Error) -> None:
        leases = self._unknown.pop(job, [])
        for lease in leases:
            self._session.finish(lease, RELEASED)
        if isinstance(error, Forbidden):
            # Without it nothing can be told apart: going on would take and give back tasks for ever.
            raise Forbidden(
                error.code,
                "a worker of several functions looks at jobs to tell them apart, and its token may not",
                "give the token the scope read as well, or start a worker for each function",
                error.status,
            )
        if not isinstance(error, NotFound):
            self._say(f"cannot look at job {job}: {error}")

    def _cancel(self, lease: Lease, reason: str) -> None:
        waiting = self._unknown.get(lease.job)
        if waiting is not None and lease in waiting:
            waiting.remove(lease)
            self._session.finish(lease, RELEASED)
        else:
            self.runner.cancel(lease, reason)


class _Lookup:
    """Asks for the tags of jobs, in a thread of its own: servers that do not send a job's header."""

    def __init__(self, options: Options, link: Link) -> None:
        self._options = options
        self._link = link
        self._jobs: Deque[Optional[str]] = collections.deque()
        self._some = threading.Semaphore(0)
        self._thread: Optional[threading.Thread] = None

    def ask(self, job: str) -> None:
        self._jobs.append(job)
        self._some.release()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="allotter-lookup", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._jobs.append(None)
        self._some.release()

    def _run(self) -> None:
        connection = Connection(self._options, Heads(self._options))
        while True:
            self._some.acquire()
            job = self._jobs.popleft()
            if job is None:
                connection.close()
                return
            self._tell(job, connection)

    def _tell(self, job: str, connection: Connection) -> None:
        link = self._link
        for attempt in range(5):
            try:
                tags = connection.send(get(self._options.path("jobs", job))).json()["tags"]
            except Unavailable as error:
                last: Error = error
                time.sleep(0.05 * 2**attempt)
                continue
            except Error as error:
                last = error
                break
            link.post(lambda: link._learned(job, tags))
            return
        link.post(lambda: link.not_learned(job, last))


def say_on_stderr(text: str) -> None:
    print(f"allotter worker: {text}", file=sys.stderr, flush=True)
