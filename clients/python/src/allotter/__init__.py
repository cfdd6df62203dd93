"""Client and worker for Allotter, a durable work-queue server. See the README of the package."""

from __future__ import annotations

from .aio.client import AsyncClient
from .aio.job import AsyncJob
from .codec import Codec
from .errors import (
    AtBound,
    BadRequest,
    BadValue,
    ChunkCorrupt,
    ChunkMissing,
    Conflict,
    DiskFull,
    Error,
    Forbidden,
    IdempotencyConflict,
    JobActive,
    JobCancelled,
    JobEnded,
    JobFailed,
    NotFound,
    QueueExists,
    QueueNotEmpty,
    Refused,
    ServerFailed,
    Stale,
    StoreError,
    TaskFailed,
    TimedOut,
    TooLarge,
    Unauthorized,
    Unavailable,
    UnknownField,
    UnknownJob,
    UnknownLimit,
    UnknownQueue,
    UnknownReceipt,
    UnknownTask,
    UnknownWorker,
)
from .expressions import Expr, all_of, any_of, attr, expr, fn, job, machine, my, target, undefined
from .functions import Cancelled, Context, GiveUp, Release, Retry, Task, batch_task, task
from .objects import Explanation, JobInfo, Limit, Outcome, QueueInfo, TaskInfo, WorkerInfo
from .strategies import (
    Fair,
    LeastRecent,
    MaxSimultaneous,
    Named,
    Newest,
    Oldest,
    OrElse,
    PreferDistinct,
    Priority,
    Random,
    SelectOnly,
    Strategy,
    WorkerStrategy,
)
from .sync.client import Client
from .sync.job import Job
from .work.worker import Worker

__version__ = "0.1.0"

__all__ = [name for name in dir() if not name.startswith("_") and name != "annotations"]
