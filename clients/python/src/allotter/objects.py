# SPDX-License-Identifier: Apache-2.0
"""The protocol's objects as the server shows them. `raw` has all of it, with whatever a newer server adds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Generic, List, Mapping, Optional, TypeVar

from . import words
from .errors import Error, TaskFailed

T = TypeVar("T")
Raw = Mapping[str, Any]


@dataclass(frozen=True)
class JobInfo:
    """A job at one moment."""

    id: str
    state: str  # scheduled active paused done failed cancelled
    paused: bool
    tags: List[str]
    user: str
    priority: Optional[int]
    meta: Dict[str, Any]
    count: int
    queued: int
    running: int
    retrying: int
    done: int
    failed: int
    skipped: int
    progress: float  # what running tasks have done of themselves, in tasks, as far as their workers say so
    reason: str
    raw: Raw = field(repr=False, compare=False)

    @property
    def ended(self) -> bool:
        return self.state in words.ENDED_JOB

    @staticmethod
    def of(raw: Raw) -> JobInfo:
        return JobInfo(
            id=raw["id"],
            state=raw["state"],
            paused=bool(raw.get("paused")),
            tags=list(raw.get("tags", ())),
            user=raw.get("user", ""),
            priority=raw.get("priority"),
            meta=dict(raw.get("meta", {})),
            count=raw.get("count", 0),
            reason=raw.get("reason", ""),
            raw=raw,
            queued=raw.get(words.QUEUED, 0),
            running=raw.get(words.RUNNING, 0),
            retrying=raw.get(words.RETRYING, 0),
            done=raw.get(words.DONE, 0),
            failed=raw.get(words.FAILED, 0),
            skipped=raw.get(words.SKIPPED, 0),
            progress=raw.get("progress", 0.0),
        )


@dataclass(frozen=True)
class TaskInfo:
    """A task at one moment; payload and result only where one task is asked for."""

    index: int
    state: str  # queued running retrying done failed skipped
    attempts: int
    worker: Optional[str]
    error: str
    progress: Optional[Dict[str, Any]]  # done, of, note: while it runs, where its worker says so
    raw: Raw = field(repr=False, compare=False)

    @staticmethod
    def of(raw: Raw) -> TaskInfo:
        return TaskInfo(
            index=raw["index"],
            state=raw["state"],
            attempts=raw.get("attempts", 0),
            worker=raw.get("worker"),
            error=raw.get("error", ""),
            progress=raw.get("progress"),
            raw=raw,
        )


class Outcome(Generic[T]):
    """How one item ended. `index` counts items, as they were submitted."""

    __slots__ = ("index", "state", "error", "_value")

    def __init__(self, index: int, state: str, value: Optional[T] = None, error: str = "") -> None:
        self.index = index
        self.state = state  # done failed skipped
        self.error = error
        self._value = value

    @property
    def ok(self) -> bool:
        return self.state == words.DONE

    def value(self) -> T:
        """The result. Raises TaskFailed where there is none."""
        if self.state != words.DONE:
            raise TaskFailed(self.index, self.error or "it was skipped")
        return self._value  # type: ignore[return-value]

    def __repr__(self) -> str:
        rest = f"value={self._value!r}" if self.ok else f"error={self.error!r}"
        return f"Outcome(index={self.index}, state={self.state!r}, {rest})"


@dataclass(frozen=True)
class WorkerInfo:
    id: str
    name: str
    tags: List[str]
    slots: int
    running: int
    draining: bool
    connected: bool
    attributes: Dict[str, Any]
    strategy: str
    raw: Raw = field(repr=False, compare=False)

    @staticmethod
    def of(raw: Raw) -> WorkerInfo:
        return WorkerInfo(
            id=raw["id"],
            name=raw.get("name", ""),
            tags=list(raw.get("tags", ())),
            slots=raw.get("slots", 0),
            running=raw.get(words.RUNNING, 0),
            draining=bool(raw.get("draining")),
            connected=bool(raw.get("connected")),
            attributes=dict(raw.get("attributes", {})),
            strategy=raw.get("strategy", ""),
            raw=raw,
        )


@dataclass(frozen=True)
class QueueInfo:
    name: str
    paused: bool
    jobs: Dict[str, int]  # by state
    tasks: Dict[str, int]  # by state
    workers: int
    settings: Dict[str, Any]
    raw: Raw = field(repr=False, compare=False)

    @staticmethod
    def of(raw: Raw) -> QueueInfo:
        return QueueInfo(
            name=raw["name"],
            paused=bool(raw.get("paused")),
            jobs=dict(raw.get("jobs", {})),
            tasks=dict(raw.get("tasks", {})),
            workers=raw.get("workers", 0),
            settings=dict(raw.get("settings", {})),
            raw=raw,
        )


@dataclass(frozen=True)
class Limit:
    """A limit as it stands, or what came of setting it: then only `uuid` and `expires_in` are known."""

    uuid: str
    expires_in: float
    raw: Raw = field(repr=False, compare=False)
    capped: bool = False
    tag: str = ""
    name: str = ""
    expr: str = ""
    tokens: Optional[float] = None

    @staticmethod
    def of(raw: Raw) -> Limit:
        return Limit(
            uuid=raw["uuid"],
            expires_in=raw.get("expires_in_ms", 0) / 1000,
            raw=raw,
            capped=bool(raw.get("capped")),
            tag=raw.get("tag", ""),
            name=raw.get("name", ""),
            expr=raw.get("expr", ""),
            tokens=raw.get("tokens"),
        )


@dataclass(frozen=True)
class Explanation:
    """Why a job does not run: the verdict, and all that it was made from in `raw`."""

    kind: str  # wait change_request operator
    code: str
    message: str
    hint: str
    matching_workers: int
    raw: Raw = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.kind.replace('_', ' ')}: {self.message}" + (f" ({self.hint})" if self.hint else "")

    @staticmethod
    def of(raw: Raw) -> Explanation:
        verdict = raw["verdict"]
        return Explanation(
            kind=verdict["kind"],
            code=verdict["code"],
            message=verdict["message"],
            hint=verdict.get("hint", ""),
            matching_workers=raw.get("workers", {}).get("matching", 0),
            raw=raw,
        )


def dig(raw: Any, *path: str) -> Any:
    """A field inside an answer. Unavailable answers are no JSON; this is for what lacks a field it must have."""
    for key in path:
        if not isinstance(raw, dict) or key not in raw:
            raise Error(
                f"the server's answer lacks `{'.'.join(path)}`: is it newer or older than this library?"
            )
        raw = raw[key]
    return raw
