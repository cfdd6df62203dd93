# SPDX-License-Identifier: Apache-2.0
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

# Features that a server names in `welcome` and in `/v1/server`; without them the library does with less.
JOB_HEADERS: Final = "job_headers"  # with tasks come the headers of their jobs, for workers that ask for them
RETRY_IN: Final = "retry_in_ms"  # `failed` may say when to try again
PROGRESS: Final = "progress"  # `extend` may say how far a task is
RESULTS_AS_COMPLETED: Final = "results_as_completed"  # `/wait` pushes them
JOB_PAYLOAD: Final = "job_payload"  # a job's own view may have its payload


def features_of(view: Mapping[str, Any]) -> FrozenSet[str]:
    """The features that a welcome, or a server's view, names."""
    named = view.get("features")
    return frozenset(str(name) for name in named) if isinstance(named, list) else frozenset()
