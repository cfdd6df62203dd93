"""The words of the wire that may change, each in one place."""

from __future__ import annotations

from typing import Any, Final, FrozenSet, Mapping


QUEUED: Final = "queued"
RUNNING: Final = "running"
RETRYING: Final = "retrying"
DONE: Final = "done"
FAILED: Final = "failed"
SKIPPED: Final = "skipped"
TASK_STATES: Final = (QUEUED, RUNNING, RETRYING, DONE, FAILED, SKIPPED)
ENDED_TASK: Final = frozenset((DONE, FAILED, SKIPPED))

CANCELLED: Final = "cancelled"
ENDED_JOB: Final = frozenset((DONE, FAILED, CANCELLED))

# What servers of protocol 1 call them. Both are understood; the words of the server are sent.
_WIRE: Final[Mapping[str, str]] = {QUEUED: "ready", RUNNING: "leased", RETRYING: "waiting"}
_OURS: Final[Mapping[str, str]] = {wire: ours for ours, wire in _WIRE.items()}


def task_state(wire: str) -> str:
    """The state of a task as this library calls it."""
    return _OURS.get(wire, wire)


def wire_state(state: str, features: FrozenSet[str]) -> str:
    """The state of a task as the server calls it."""
    return state if STATE_WORDS in features else _WIRE.get(state, state)


def task_count(view: Mapping[str, Any], state: str) -> int:
    """How many tasks a job's or queue's view has in that state."""
    value = view.get(state)
    return int(view.get(_WIRE.get(state, state), 0) if value is None else value)


# Features that a server names in `welcome` and in `/v1/server`; without them the library does with less.
JOB_HEADER: Final = "job_header"  # assignments come after a header of their job: tags, name, meta
RETRY_IN: Final = "retry_in_ms"  # `failed` may say when to try again
PROGRESS: Final = "progress"  # `extend` may say how far a task is
STATE_WORDS: Final = "state_words"  # tasks are queued, running, retrying


def features_of(view: Mapping[str, Any]) -> FrozenSet[str]:
    """The features that a welcome, or a server's view, names."""
    named = view.get("features")
    return frozenset(str(name) for name in named) if isinstance(named, list) else frozenset()
