# SPDX-License-Identifier: Apache-2.0
"""A worker's side of its WebSocket, without I/O, clock or threads: what came in, what is to go out, what happened.

    session = Session(identity, capacity)
    link.send(session.hello())
    for event in session.receive(text, now): …
    link.send(message) for message in session.outgoing(now)

A report is kept until the server has acknowledged it: it goes again after a lost connection, and the lease that it
speaks of is among those that are resumed.
"""

from __future__ import annotations

import json
import random
from collections import deque
from dataclasses import dataclass, field
from typing import (
    Any,
    Callable,
    Deque,
    Dict,
    FrozenSet,
    Iterable,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Union,
)

from .. import words
from ..codec import loads, plain_progress, quote
from ..errors import Error, Refused, Unavailable, UnknownWorker, error_of

# Well below the protocol's bounds, so that a full message still leaves soon.
_REPORTS_PER_MESSAGE = 2_000
_CHARACTERS_PER_MESSAGE = 4 << 20
_MAX_ERROR = 4_000
_MAX_CREDIT = 10_000
_DEFAULT_HEARTBEAT = 15.0
_SHORTEST_BEAT = 0.2
# How far tasks are is told at most so often.
_PROGRESS_EVERY = 0.25
_LONGEST_RETRY = 7 * 24 * 3600.0
# For so long after tasks came more of them may be on their way.
_ON_THE_WAY = 0.05

# Trying again cannot mend these; those of the second row only if the server never took this worker.
_NEVER = frozenset(("unauthorized", "forbidden", "unknown_queue"))
_NEVER_AT_FIRST = frozenset(
    (
        "foreign_origin",
        "bad_request",
        "bad_json",
        "bad_value",
        "unknown_field",
        "not_found",
        "method_not_allowed",
    )
)


class Lease:
    """A task in this worker's hands; `fields` are all that the server said of it."""

    __slots__ = ("job", "index", "lease", "fields", "state")

    def __init__(self, fields: Dict[str, Any]) -> None:
        self.job: str = fields["job"]
        self.index: int = fields["index"]
        self.lease: str = fields["lease"]
        self.fields = fields
        self.state: Any = None  # of whoever runs it

    def ref(self) -> str:
        """How it is named in a message, without the bracket at the end."""
        return f'{{"job":{quote(self.job)},"index":{self.index},"lease":{quote(self.lease)}'


class Outcome(NamedTuple):
    """How an attempt ended. `text` is JSON of a result, else an error's plain text."""

    kind: str
    text: str = ""
    after: Optional[float] = None  # failed: seconds until the next attempt


_FIELD = {"done": "done", "failed": "failed", "rejected": "failed", "released": "released"}


class Report(NamedTuple):
    lease: Lease
    outcome: Outcome


def done(text: str = "") -> Outcome:
    return Outcome("done", text)


def failed(error: str, after: Optional[float] = None) -> Outcome:
    """Tried again, if attempts are left."""
    return Outcome("failed", error, after)


def rejected(error: str) -> Outcome:
    """Failed for good."""
    return Outcome("rejected", error)


RELEASED = Outcome("released")


# What happened, in the order in which it is to be taken.
class Welcomed(NamedTuple):
    worker: str
    features: FrozenSet[str]


class Assigned(NamedTuple):
    leases: Sequence[Lease]


class Headers(NamedTuple):
    """What the jobs of coming assignments are (feature `job_headers`)."""

    jobs: Sequence[Dict[str, Any]]


class Cancel(NamedTuple):
    lease: Lease
    reason: str  # cancelled job_failed timeout expired; lost: another worker has it, what it reports is not told


class Drained(NamedTuple):
    """The server wants it to finish and go: `drain` is to be called."""


class Changed(NamedTuple):
    """Others changed what the worker is."""

    fields: Dict[str, Any]


class ReportRefused(NamedTuple):
    job: str
    task: int
    code: str
    message: str


class Lost(NamedTuple):
    """The connection is of no use any more: `disconnected` is to be called."""

    error: Error


Event = Union[Welcomed, Assigned, Headers, Cancel, Drained, Changed, ReportRefused, Lost]


@dataclass
class Identity:
    """What a worker says of itself, as the fields of `hello`."""

    name: str
    slots: int = 1
    fields: Dict[str, Any] = field(default_factory=dict)


@dataclass
class _Sent:
    seq: int
    reports: List[Report]


class Session:
    """Confined to the thread with the connection."""

    def __init__(
        self,
        identity: Identity,
        capacity: int,
        reconnect_first: float = 0.1,
        reconnect_max: float = 30.0,
        unit: Callable[[], float] = random.random,
        wants_headers: bool = False,
    ) -> None:
        self._identity = identity
        self._wants_headers = wants_headers
        self._ask_headers = False
        self._capacity = capacity
        self._reconnect_first = reconnect_first
        self._reconnect_max = reconnect_max
        self._unit = unit
        self._worker = ""
        self._key = ""
        self._held: Dict[str, Lease] = {}
        self._pending: List[Report] = []  # finished, not sent
        self._alone: Deque[Report] = deque()  # to be sent one by one
        self._unacknowledged: Deque[_Sent] = deque()
        self._seq = 0
        self._credit = 0  # of the last pull, not used up as far as known
        self._assigned_at = 0.0
        self._heartbeat = _DEFAULT_HEARTBEAT
        self._shortest_lease = 0.0
        self._attempts = 0
        self._suspicious = False
        self._welcomed = False  # ever
        self._connected_at = 0.0
        self._heard_at = 0.0
        self._spoke_at = 0.0
        self._extend: Dict[str, str] = {}  # by lease: what is to be said of it
        self._extend_at = float("-inf")  # when that may be said
        self._said_bye = False
        self.up = False
        self.draining = False
        self.features: FrozenSet[str] = frozenset()

    # --- What the owner says.

    @property
    def worker(self) -> str:
        return self._worker

    def in_hand(self) -> int:
        return len(self._held)

    def all_held(self) -> List[Lease]:
        return list(self._held.values())

    def holds(self, lease: str) -> bool:
        return lease in self._held

    def idle(self) -> bool:
        """Nothing is in hand, and nothing is left to be told."""
        return not (self._held or self._pending or self._alone or self._unacknowledged)

    @property
    def said_bye(self) -> bool:
        return self._said_bye

    def set_capacity(self, capacity: int) -> None:
        self._capacity = capacity

    def finish(self, lease: Lease, outcome: Outcome) -> None:
        """Reports how it ended; of what is not held any more nothing is told."""
        if self._held.pop(lease.lease, None) is not None:
            self._extend.pop(lease.lease, None)
            self._pending.append(Report(lease, outcome))

    def progress(self, lease: Lease, progress: Dict[str, Any]) -> None:
        """Tells how far it is, where the server takes that."""
        if words.PROGRESS in self.features and lease.lease in self._held:
            self._extend[lease.lease] = f'{lease.ref()},"progress":{json.dumps(plain_progress(progress))}}}'

    def drain(self) -> None:
        self.draining = True

    # --- The connection.

    def connecting(self, now: float) -> None:
        self._connected_at = self._heard_at = self._spoke_at = now

    def hello(self) -> str:
        hello = {"name": self._identity.name, "slots": self._identity.slots, **self._identity.fields}
        if self._worker:
            # Reports that were not acknowledged are still to be taken: their leases go on too.
            leases = list(self._held.values())
            for sent in self._unacknowledged:
                leases += [report.lease for report in sent.reports]
            leases += [report.lease for report in self._pending]
            leases += [report.lease for report in self._alone]
            hello["worker"], hello["key"] = self._worker, self._key
            hello["resume"] = [{"job": one.job, "index": one.index, "lease": one.lease} for one in leases]
        return json.dumps({"hello": hello}, separators=(",", ":"))

    def disconnected(self, error: Error) -> Optional[float]:
        """Says how long to wait before the next attempt; None: there is nothing to come back for.

        Raises `error` where no further attempt can mend it.
        """
        was_up, self.up, self._credit = self.up, False, 0
        code = error.code if isinstance(error, Refused) else ""
        if not was_up and (code in _NEVER or (code in _NEVER_AT_FIRST and not self._welcomed)):
            raise error
        if self.draining and self.idle():
            return None
        # The first attempt after a loss comes soon, but not from all workers of a fallen server at once.
        bounded = min(self._reconnect_first * (1 << min(self._attempts, 20)), self._reconnect_max)
        self._attempts += 1
        unit = self._unit()
        return bounded * unit if was_up else bounded * (0.5 + 0.5 * unit)

    def heard(self, now: float) -> None:
        """A sign of life came that is no message."""
        self._heard_at = now

    def receive(self, text: Union[str, bytes], now: float) -> List[Event]:
        self._heard_at = now
        try:
            message = loads(text)
            if not isinstance(message, dict):
                raise ValueError("a message that is no object")
            return self._take(message, now)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return [Lost(Unavailable(f"the server's message could not be read: {error!r}"))]

    # --- What comes.

    def _take(self, message: Dict[str, Any], now: float) -> List[Event]:
        events: List[Event] = []
        if "welcome" in message:
            self._take_welcome(message["welcome"], events)
        if "error" in message:
            error = error_of(0, message)
            seq = message.get("seq")
            if seq is None:
                events += self._take_end(error)
                return events
            self._take_refusal(seq, error, events)
        for entry in message.get("stale") or ():
            events.append(
                ReportRefused(entry["job"], entry["index"], entry.get("code", "stale"), "the lease was over")
            )
        if "ack" in message:
            # The server works a connection's messages off in order, and durable is durable: so are all before.
            while self._unacknowledged and self._unacknowledged[0].seq <= message["ack"]:
                self._unacknowledged.popleft()
        if message.get("jobs"):
            events.append(Headers(message["jobs"]))
        if message.get("tasks"):
            self._take_tasks(message["tasks"], events)
        # A task may come together with the order to stop it.
        for entry in message.get("cancel") or ():
            lease = self._held.get(entry["lease"])
            if lease is not None:
                events.append(Cancel(lease, entry.get("reason", "cancelled")))
        if message.get("set"):
            self._identity.fields.update(message["set"])
            events.append(Changed(message["set"]))
        if message.get("drain") and not self.draining:
            events.append(Drained())
        return events

    def _take_welcome(self, welcome: Dict[str, Any], events: List[Event]) -> None:
        self._lose_all_but({entry["lease"] for entry in welcome.get("resumed") or ()}, events)
        self._worker, self._key = welcome["worker"], welcome["key"]
        self._heartbeat = welcome.get("heartbeat_ms", 0) / 1000 or _DEFAULT_HEARTBEAT
        self.features = words.features_of(welcome)
        self._ask_headers = self._wants_headers and words.JOB_HEADERS in self.features
        # What was sent on the old connection and not acknowledged goes out again, in its order.
        again = [report for sent in self._unacknowledged for report in sent.reports]
        self._unacknowledged.clear()
        if self._suspicious:
            self._alone.extendleft(reversed(again))
        else:
            self._pending[:0] = again
        self._suspicious = False
        self.up = self._welcomed = True
        self._attempts = 0
        self._credit = 0
        events.append(Welcomed(self._worker, self.features))

    def _lose_all_but(self, kept: Iterable[str], events: List[Event]) -> None:
        for key in [key for key in self._held if key not in kept]:
            events.append(Cancel(self._held.pop(key), "lost"))

    def _take_tasks(self, tasks: List[Dict[str, Any]], events: List[Event]) -> None:
        self._credit = max(0, self._credit - len(tasks))
        self._assigned_at = self._heard_at
        leases = [Lease(fields) for fields in tasks]
        # A pull may cross an assignment on its way; what comes in excess is better off with another worker.
        room = 0 if self.draining else max(0, self._capacity - len(self._held))
        for lease in leases[room:]:
            self._pending.append(Report(lease, RELEASED))
        leases = leases[:room]
        for lease in leases:
            self._held[lease.lease] = lease
            lasts = lease.fields.get("lease_ms", 0) / 1000
            if lasts and (not self._shortest_lease or lasts < self._shortest_lease):
                self._shortest_lease = lasts
        if leases:
            events.append(Assigned(leases))

    def _take_end(self, error: Error) -> List[Event]:
        events: List[Event] = []
        if isinstance(error, UnknownWorker):
            # The server does not know this worker any more: what it holds is not its own.
            self._worker = self._key = ""
            self._lose_all_but((), events)
        elif self.up:
            self._suspect(error)
            error = Unavailable(str(error))
        events.append(Lost(error))
        return events

    def _take_refusal(self, seq: int, error: Error, events: List[Event]) -> None:
        """A message that changed nothing. One bad report must not take the others with it: they go again, alone."""
        found = next((sent for sent in self._unacknowledged if sent.seq == seq), None)
        if found is None:
            return
        self._unacknowledged.remove(found)
        if len(found.reports) > 1:
            self._alone.extend(found.reports)
            return
        for report in found.reports:
            if report.outcome.kind == "done":
                self._alone.append(Report(report.lease, rejected(f"the result was refused: {error}")))
            else:
                code = error.code if isinstance(error, Refused) else "unavailable"
                events.append(ReportRefused(report.lease.job, report.lease.index, code, str(error)))

    def _suspect(self, error: Error) -> None:
        """The server could not even read a message. If it was one of reports, it must not break every connection
        from now on: they go again one at a time, and one that is refused alone is replaced by its failure."""
        if isinstance(error, Unavailable) or (isinstance(error, Refused) and error.code == "timed_out"):
            return
        self._suspicious = True
        if len(self._unacknowledged) != 1 or len(self._unacknowledged[0].reports) != 1:
            return
        report = self._unacknowledged[0].reports[0]
        if report.outcome.kind == "done" and report.outcome.text:
            self._unacknowledged[0].reports[0] = Report(
                report.lease, rejected(f"the result was refused: {error}")
            )

    # --- What goes.

    def outgoing(self, now: float) -> List[str]:
        """The messages to send now."""
        messages: List[str] = []
        while self.up and not self._said_bye:
            message = self._next_message(now)
            if message is None:
                break
            self._spoke_at = now
            messages.append(message)
        return messages

    def _pull(self, now: float, speaks: bool) -> Optional[int]:
        """What to ask for; None: what was asked for will do.

        While there is credit, tasks for it may be on their way: who asks for more then gets too many, and has to give
        them back. So more is asked for once the credit is used up, or has been lying there for a while.
        """
        room = max(0, self._capacity - len(self._held))
        want = 0 if self.draining else min(room, _MAX_CREDIT)
        if want <= self._credit:
            # Less is only asked for where there is nothing for what may come.
            return want if want == 0 < self._credit and self.draining else None
        if self._credit == 0:
            return want
        quiet = now - self._assigned_at >= _ON_THE_WAY
        return want if quiet and (speaks or self._credit < want // 2) else None

    def _next_message(self, now: float) -> Optional[str]:
        reports: List[Report] = []
        if self._alone:
            if self._unacknowledged:
                return None  # so that an error has one cause
            reports = [self._alone.popleft()]
        elif self._pending:
            reports = self._take_pending()
        parts = []
        if reports:
            self._seq += 1
            self._unacknowledged.append(_Sent(self._seq, reports))
            parts.append(f'"seq":{self._seq}')
            parts += self._told(reports)
        want = self._pull(now, bool(parts))
        if want is not None:
            self._credit = want
            parts.append(f'"pull":{want}')
        if self._extend and now >= self._extend_at:
            parts.append(f'"extend":[{",".join(self._extend.values())}]')
            self._extend = {}
            self._extend_at = now + _PROGRESS_EVERY
        if parts and self._ask_headers:
            parts.append('"job_headers":true')
            self._ask_headers = False
        if parts:
            return "{" + ",".join(parts) + "}"
        if self.draining and self.idle():
            self._said_bye = True
            return '{"bye":true}'
        return None

    def _take_pending(self) -> List[Report]:
        size = count = 0
        for report in self._pending:
            if count == _REPORTS_PER_MESSAGE or size > _CHARACTERS_PER_MESSAGE:
                break
            size += len(report.outcome.text) + 100
            count += 1
        reports, self._pending = self._pending[:count], self._pending[count:]
        return reports

    def _told(self, reports: List[Report]) -> List[str]:
        lists: Dict[str, List[str]] = {}
        retry_in = words.RETRY_IN in self.features
        for lease, outcome in reports:
            text = lease.ref()
            if outcome.kind == "done":
                if outcome.text:
                    text = f'{text},"result":{outcome.text}'
            elif outcome.kind != "released":
                text = f'{text},"error":{quote(outcome.text[:_MAX_ERROR])}'
                if outcome.kind == "rejected":
                    text += ',"final":true'
                elif retry_in and outcome.after is not None and outcome.after == outcome.after:
                    text += f',"retry_in_ms":{round(min(max(0.0, outcome.after), _LONGEST_RETRY) * 1000)}'
            lists.setdefault(_FIELD[outcome.kind], []).append(text + "}")
        return [f'"{name}":[{",".join(entries)}]' for name, entries in lists.items()]

    # --- Signs of life.

    def _beat(self) -> float:
        """Often enough for the connection, and for the shortest lease seen."""
        beat = self._heartbeat / 2
        if self._shortest_lease:
            beat = min(beat, self._shortest_lease / 3)
        return max(beat, _SHORTEST_BEAT)

    def beat(self, now: float, timeout: float) -> Optional[Error]:
        """To be asked when `next_beat` has come: an error ends the connection; else `needs_ping` may be true."""
        if not self.up:
            if now - self._connected_at >= timeout:
                return Unavailable("the server did not answer in time: is it busy, or stopped?")
            return None
        if now - self._heard_at > 3 * self._heartbeat:
            return Unavailable("the server fell silent: is the network up?")
        return None

    def needs_sign(self, now: float) -> bool:
        """Nothing has been said for a beat: a message would extend the leases, a ping show that the server is there."""
        if not self.up or now - self._spoke_at < self._beat():
            return False
        self._spoke_at = now
        return True

    def next_beat(self, timeout: float) -> float:
        """When to ask next."""
        if not self.up:
            return self._connected_at + timeout
        due = min(self._spoke_at + self._beat(), self._heard_at + 3 * self._heartbeat + 0.01)
        return min(due, self._extend_at) if self._extend else due
