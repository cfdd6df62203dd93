# SPDX-License-Identifier: Apache-2.0
"""Job specs, and the lines of a submit."""

from __future__ import annotations

import datetime
import tempfile
from typing import IO, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union, cast

from . import expressions
from .codec import Codec, dumps, encode_chunk, encode_item
from .expressions import Expr
from .functions import Task

Seconds = Union[float, int, datetime.timedelta]
Constraint = Union[str, Mapping[str, str]]
Rank = Union[Expr, str, int, float, None]

# What a submit keeps in memory before it goes to a file.
_IN_MEMORY = 4 << 20
_PIECE = 128 * 1024
# Lines that go out as one request with its length known.
WHOLE = 512 * 1024


def milliseconds(value: Seconds) -> int:
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    return round(value * 1000)


def epoch_milliseconds(value: Union[datetime.datetime, float, int]) -> int:
    """A moment; a number is seconds since 1970."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError("a moment needs a time zone: datetime.now(timezone.utc), or .astimezone()")
        value = value.timestamp()
    return round(value * 1000)


def tags_of(function: Union[Task[Any, Any], str], tags: Sequence[str]) -> List[str]:
    if isinstance(tags, str):
        raise TypeError("tags are a list of texts")
    name = function.name if isinstance(function, Task) else function
    return list(dict.fromkeys([name, *tags] if name else tags))


def job_spec(
    *,
    tags: Sequence[str],
    meta: Optional[Mapping[str, Any]] = None,
    priority: Optional[int] = None,
    user: Optional[str] = None,
    interactive: bool = False,
    requirements: Union[Expr, str, None] = None,
    rank: Rank = None,
    constraints: Union[Constraint, Sequence[Constraint], None] = None,
    delay: Optional[Seconds] = None,
    at: Union[datetime.datetime, float, None] = None,
    max_attempts: Optional[int] = None,
    backoff: Optional[Mapping[str, Any]] = None,
    lease: Optional[Seconds] = None,
    timeout: Optional[Seconds] = None,
    max_failed_tasks: Union[int, str, None] = None,
    retention: Optional[Seconds] = None,
    payload_prefix: Optional[str] = None,
    key: Optional[str] = None,
    trace: Optional[str] = None,
) -> Dict[str, Any]:
    """The protocol's job spec; what is None is left to the server's default."""
    spec: Dict[str, Any] = {"tags": list(tags)}
    plain = {
        "priority": priority,
        "user": user,
        "requirements": expressions.text_of(requirements),
        "rank": expressions.text_of(rank),
        "max_attempts": max_attempts,
        "max_failed_tasks": max_failed_tasks,
        "payload_prefix": payload_prefix,
        "idempotency_key": key,
        "trace": trace,
        "delay_ms": None if delay is None else milliseconds(delay),
        "scheduled_at_ms": None if at is None else epoch_milliseconds(at),
        "lease_ms": None if lease is None else milliseconds(lease),
        "timeout_ms": None if timeout is None else milliseconds(timeout),
        "retention_ms": None if retention is None else milliseconds(retention),
        "meta": dict(meta) if meta else None,
        "backoff": _backoff(backoff) if backoff else None,
    }
    spec.update((name, value) for name, value in plain.items() if value is not None)
    if interactive:
        spec["async"] = False
    if constraints is not None:
        several = isinstance(constraints, Sequence) and not isinstance(constraints, str)
        spec["constraints"] = list(cast("Sequence[Constraint]", constraints)) if several else constraints
    return spec


def _backoff(given: Mapping[str, Any]) -> Dict[str, Any]:
    """`first` and `max` in seconds, `factor` and `jitter` as they are."""
    made: Dict[str, Any] = {}
    for name, value in given.items():
        if name in ("first", "max"):
            made[f"{name}_ms"] = milliseconds(value)
        elif name in ("factor", "jitter"):
            made[name] = value
        else:
            raise ValueError(f"a backoff has first, factor, max and jitter, and no `{name}`")
    return made


class Lines:
    """The body of a submit, line by line. What was made is kept, in memory or a file, so that it can go again."""

    def __init__(self, spec: Mapping[str, Any], codec: Optional[Codec], chunk: int) -> None:
        if chunk < 1:
            raise ValueError("chunk is at least 1")
        self._codec = codec
        self._chunk = chunk
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)
        self._new = bytearray()
        self._group: List[Any] = []
        self.items = 0
        self.tasks = 0
        self.ended = False
        self.size = 0
        self._spec = spec
        self._line(dumps(spec))

    def _line(self, text: str) -> None:
        try:
            self._new += text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(f"a text holds what is no character: {error}") from error
        self._new += b"\n"

    def add(self, item: Any) -> None:
        self.items += 1
        if self._chunk == 1:
            self.tasks += 1
            self._line(encode_item(item, self._codec))
            return
        self._group.append(item)
        if len(self._group) == self._chunk:
            self._flush_group()

    def _flush_group(self) -> None:
        if self._group:
            self.tasks += 1
            self._line(encode_chunk(self._group, self._codec))
            self._group = []

    def end(self) -> None:
        self._flush_group()
        if self.tasks == 0:  # the server takes that for a mistake unless it is said
            self._new.clear()
            self._line(dumps({**self._spec, "count": 0}))
        self.ended = True

    @property
    def ready(self) -> bool:
        """Enough has come for a piece."""
        return len(self._new) >= _PIECE

    @property
    def unread(self) -> int:
        """Bytes in the piece that is being made."""
        return len(self._new)

    def take(self) -> bytes:
        """What came since the last time; it is kept."""
        piece = bytes(self._new)
        self._new.clear()
        self._file.seek(0, 2)
        self._file.write(piece)
        self.size += len(piece)
        return piece

    def kept(self) -> Iterator[bytes]:
        """All that was taken, again."""
        at = 0
        while at < self.size:
            self._file.seek(at)
            piece = self._file.read(_PIECE)
            at += len(piece)
            yield piece

    def close(self) -> None:
        self._file.close()
