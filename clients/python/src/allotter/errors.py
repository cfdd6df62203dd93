# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as exceptions.

    Error
      Unavailable            no server there, or it cannot take this now: try again
      Refused                the server's answer to a request: code, message, hint; a class for each code
      Unsupported            the server is too old for it
      JobFailed, JobCancelled, TaskFailed
      StoreError             ChunkCorrupt, ChunkMissing
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Type

if TYPE_CHECKING:
    from .objects import JobInfo


class Error(Exception):
    """Whatever this library raises on its own account."""


class Unavailable(Error):
    """No server is there, or it cannot take this now. What may be repeated has been, for as long as the
    client's patience. Where `nothing_changed`, the request was certainly not worked off."""

    nothing_changed = False


class Refused(Error):
    """The server refused a request; nothing was changed. `code` is stable, the texts are for people."""

    def __init__(self, code: str, message: str, hint: str = "", status: int = 0) -> None:
        super().__init__(code, message, hint, status)
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status

    def __str__(self) -> str:
        text = f"{self.message} [{self.code}]"
        return f"{text} ({self.hint})" if self.hint else text


class BadRequest(Refused):
    """The request does not have this protocol's form."""


class BadValue(Refused):
    """A field has a wrong type, or is out of its bounds; or an expression or strategy does not parse."""


class UnknownField(BadValue):
    """A field that this request does not have."""


class TooLarge(Refused):
    """A body, payload, result or batch over its bound."""


class Unauthorized(Refused):
    """No token, or an unknown one."""


class Forbidden(Refused):
    """The token lacks the scope, or is fixed to another user or queue."""


class NotFound(Refused):
    """What was named is not there."""


class UnknownQueue(NotFound):
    """There is no such queue."""


class UnknownJob(NotFound):
    """Never there, or past its retention."""


class UnknownTask(NotFound):
    """The index is not below the job's count."""


class UnknownWorker(NotFound):
    """Not registered, or not any more."""


class UnknownLimit(NotFound):
    """Deleted, expired, or never there."""


class UnknownReceipt(NotFound):
    """The task was not started, or not among the last."""


class Conflict(Refused):
    """Not in the present state."""


class Stale(Conflict):
    """The lease is not the task's own."""


class IdempotencyConflict(Conflict):
    """The key belongs to a job with other content."""


class JobEnded(Conflict):
    """The job has ended: it cannot be changed or paused."""


class JobActive(Conflict):
    """The job has not ended: it cannot be retried."""


class QueueExists(Conflict):
    """There is a queue of that name."""


class QueueNotEmpty(Conflict):
    """It has jobs that have not ended: delete with force."""


class AtBound(Refused):
    """Too many of something: jobs, workers, waits, …; or the queue's memory budget is used up."""


class TimedOut(Refused):
    """The request came too slowly."""


class DiskFull(Refused):
    """Nothing new is taken until there is space."""


class ServerFailed(Refused):
    """A defect of the server or its files."""


_CLASSES: Dict[str, Type[Refused]] = {
    "bad_request": BadRequest,
    "bad_json": BadRequest,
    "unsupported_media": BadRequest,
    "foreign_origin": Forbidden,
    "method_not_allowed": NotFound,
    "unknown_field": UnknownField,
    "bad_value": BadValue,
    "too_large": TooLarge,
    "unauthorized": Unauthorized,
    "forbidden": Forbidden,
    "not_found": NotFound,
    "unknown_queue": UnknownQueue,
    "unknown_job": UnknownJob,
    "unknown_task": UnknownTask,
    "unknown_worker": UnknownWorker,
    "unknown_limit": UnknownLimit,
    "unknown_receipt": UnknownReceipt,
    "stale": Stale,
    "idempotency_conflict": IdempotencyConflict,
    "job_ended": JobEnded,
    "job_active": JobActive,
    "queue_exists": QueueExists,
    "queue_not_empty": QueueNotEmpty,
    "memory_full": AtBound,
    "timed_out": TimedOut,
    "disk_full": DiskFull,
    "store_locked": ServerFailed,
    "store_foreign": ServerFailed,
    "store_newer": ServerFailed,
    "store_corrupt": ServerFailed,
    "store_failed": ServerFailed,
    "internal": ServerFailed,
}

# The request may be sent again as it is, after a while.
_PASSING = frozenset(("stopping", "unavailable"))
# Answers of something before the server, which name no code.
_BY_STATUS: Mapping[int, str] = {401: "unauthorized", 403: "forbidden", 404: "not_found", 429: "too_many"}


def error_of(status: int, answer: Any) -> Error:
    """The exception for an object `{"error": {…}}`, or for a status that came without one."""
    named = answer.get("error") if isinstance(answer, dict) else None
    named = named if isinstance(named, dict) else {}
    message = str(named.get("message") or f"the server answered with status {status}")
    code = str(named.get("code") or _BY_STATUS.get(status, ""))
    if code in _PASSING or (not code and status in (502, 503, 504)):
        passing = Unavailable(message)
        passing.nothing_changed = True
        return passing
    kind = _CLASSES.get(code)
    if kind is None:
        kind = AtBound if code.startswith("too_many") else Refused
    return kind(code or "internal", message, str(named.get("hint") or ""), status)


class Unsupported(Error):
    """The server is too old for it: it does not name the feature."""

    def __init__(self, feature: str) -> None:
        super().__init__(feature)
        self.feature = feature

    def __str__(self) -> str:
        return f"this server has no `{self.feature}`: it needs a newer version"


class JobFailed(Error):
    """The job has failed. `first_error` is that of its first failed task, as far as it is known; `done` tasks
    were done."""

    def __init__(self, job: JobInfo, first_error: Optional[str], done: int) -> None:
        super().__init__(job, first_error, done)
        self.job = job
        self.first_error = first_error
        self.done = done

    def __str__(self) -> str:
        reason = self.job.reason or "too many tasks failed"
        text = f"job {self.job.id} failed: {reason} ({self.done} of {self.job.count} tasks are done)"
        return f"{text}\n{self.first_error}" if self.first_error else text


class JobCancelled(Error):
    """The job was cancelled."""

    def __init__(self, job: JobInfo) -> None:
        super().__init__(job)
        self.job = job

    def __str__(self) -> str:
        return f"job {self.job.id} was cancelled ({self.job.done} of {self.job.count} tasks are done)"


class TaskFailed(Error):
    """One task failed for good. `error` is the text that its worker gave."""

    def __init__(self, index: int, error: str) -> None:
        super().__init__(index, error)
        self.index = index
        self.error = error

    def __str__(self) -> str:
        return f"task {self.index} failed: {self.error}"


class StoreError(Error):
    """Something is wrong with what lies in object storage."""


class ChunkCorrupt(StoreError):
    """What lies there is not what was put."""


class ChunkMissing(StoreError):
    """Nothing lies there."""


def unreachable(authority: str, why: BaseException) -> Unavailable:
    error = Unavailable(f"cannot reach the server at {authority}: {why or type(why).__name__}")
    error.nothing_changed = True
    return error
