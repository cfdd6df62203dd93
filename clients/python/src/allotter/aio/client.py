# SPDX-License-Identifier: Apache-2.0
"""AsyncClient: submit jobs, follow them, and look after the server.

The synchronous `Client` is made from this file by tools/unasync.py.
"""

from __future__ import annotations

import datetime
import random
import time
import uuid
from types import TracebackType
from typing import (
    Any,
    AsyncIterable,
    AsyncIterator,
    Dict,
    FrozenSet,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Type,
    TypeVar,
    Union,
)

from .. import words
from ..anet import Pool, each, sleep
from ..codec import Codec
from ..errors import DiskFull, TimedOut, Unavailable
from ..expressions import Expr
from ..functions import Task
from ..objects import Explanation, JobInfo, dig
from ..options import Options, connection_options
from ..progress import Progress
from ..spec import WHOLE, Constraint, Lines, Rank, Seconds, job_spec, tags_of
from ..wire.http import NDJSON, Answer, Request, get, query, send_json
from .admin import AsyncAdmin, AsyncLimits, AsyncQueues, AsyncWorkers
from .job import AsyncJob

R = TypeVar("R")

# Where nothing was ever reached the address is rather wrong than the server away.
_FIRST_PATIENCE = 3.0


class AsyncClient(AsyncAdmin):
    """A client of one queue.

    Requests that ask, or say again what was said, are repeated while the server is away, for `patience` seconds.
    """

    def __init__(
        self,
        server: Optional[str] = None,
        *,
        queue: Optional[str] = None,
        token: Optional[str] = None,
        token_file: Optional[str] = None,
        ca_file: Optional[str] = None,
        timeout: float = 30.0,
        patience: float = 60.0,
    ) -> None:
        self._options: Options = connection_options(
            server, queue, token, token_file, ca_file, timeout, patience
        )
        self._pool = Pool(self._options)
        self._features: Optional[FrozenSet[str]] = None
        self._reached = False
        self.queues = AsyncQueues(self)
        self.workers = AsyncWorkers(self)
        self.limits = AsyncLimits(self)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._pool.close()

    @property
    def queue(self) -> str:
        """The name of its queue."""
        return self._options.queue

    def _path(self, *parts: str) -> str:
        return self._options.path(*parts)

    # --- Requests.

    async def request(
        self, request: Request, *, patience: Optional[float] = None, timeout: Optional[float] = None
    ) -> Any:
        """Sends a request of the protocol; the answer's value."""
        return (await self._answer(request, patience, timeout)).json()

    async def request_text(self, request: Request) -> str:
        """The same; the answer's text."""
        return (await self._answer(request, None, None)).body.decode("utf-8")

    async def _answer(self, request: Request, patience: Optional[float], timeout: Optional[float]) -> Answer:
        pauses = self._pauses(patience)
        while True:
            try:
                answer = await self._pool.send(request, timeout)
                self._reached = True
                if answer.status >= 400:
                    answer.json()
                return answer
            except (Unavailable, DiskFull) as error:
                repeat = request.again or (isinstance(error, Unavailable) and error.nothing_changed)
                pause = pauses.next()
                if not repeat or pause is None:
                    raise
            await sleep(pause)

    def _pauses(self, patience: Optional[float] = None) -> _Pauses:
        if patience is None:
            patience = (
                self._options.patience if self._reached else min(_FIRST_PATIENCE, self._options.patience)
            )
        return _Pauses(patience)

    async def features(self) -> FrozenSet[str]:
        """What this server can beyond the first version of the protocol."""
        if self._features is None:
            self._features = words.features_of(await self.server())
        return self._features

    # --- Submitting.

    async def submit(
        self,
        function: Union[Task[Any, R], str],
        items: Union[Iterable[Any], AsyncIterable[Any]],
        *,
        chunk: int = 1,
        codec: Optional[Codec] = None,
        tags: Sequence[str] = (),
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
    ) -> AsyncJob[R]:
        """A job of all items: a task for each, or for `chunk` of them.

        `function` is a task, or the tag that its workers have. The items stream: they may be more than memory holds.
        Where going through them raises, there is no job. The job has an idempotency key, `key` or a new one: what is
        sent again after a lost connection is one job.
        """
        if codec is None and isinstance(function, Task):
            codec = function.codec
        spec = job_spec(
            tags=tags_of(function, tags),
            meta=meta,
            priority=priority,
            user=user,
            interactive=interactive,
            requirements=requirements,
            rank=rank,
            constraints=constraints,
            delay=delay,
            at=at,
            max_attempts=max_attempts,
            backoff=backoff,
            lease=lease,
            timeout=timeout,
            max_failed_tasks=max_failed_tasks,
            retention=retention,
            payload_prefix=payload_prefix,
            key=key or uuid.uuid4().hex,
            trace=trace,
        )
        lines = Lines(spec, codec, chunk)
        try:
            upload = _Upload(lines, each(items))
            answer = await self._submit(upload)
        finally:
            lines.close()
        return AsyncJob(
            self,
            JobInfo.of(dig(answer, "job")),
            codec=codec,
            chunk=chunk,
            items=lines.items,
            existing=bool(answer.get("existing")),
            matching_workers=answer.get("matching_workers", 0),
        )

    async def _submit(self, upload: _Upload) -> Any:
        lines = upload.lines
        request = Request("POST", self._path("jobs"), kind=NDJSON, again=True)
        await upload.fill(WHOLE)
        pauses = self._pauses()
        while True:
            try:
                length = lines.size + lines.unread if lines.ended else None
                answer = await self._pool.send_pieces(request, upload.pieces(), length)
                self._reached = True
                return answer.json()
            except (Unavailable, DiskFull, TimedOut) as error:
                if upload.broken:
                    raise
                pause = pauses.next()
                if pause is None:
                    raise
                if isinstance(error, TimedOut) and not lines.ended:
                    # The items come more slowly than the server waits: all of them first, then.
                    await upload.fill(None)
                    pauses = self._pauses()
            await sleep(pause)

    async def map(
        self,
        function: Union[Task[Any, R], str],
        items: Union[Iterable[Any], AsyncIterable[Any]],
        *,
        chunk: int = 1,
        ordered: bool = True,
        progress: Progress = False,
        **options: Any,
    ) -> AsyncIterator[R]:
        """Submits the items, and gives their results. A job that is left half-way is cancelled.

        Raises as `AsyncJob.results` does. Options are those of `submit`.
        """
        job: AsyncJob[R] = await self.submit(function, items, chunk=chunk, **options)
        ended = False
        try:
            async for result in job.results(ordered=ordered, progress=progress):
                yield result
            ended = True
        finally:
            if not ended:
                await job.abandon()

    async def submit_one(self, function: Union[Task[Any, R], str], item: Any, **options: Any) -> AsyncJob[R]:
        """A job of one task."""
        job: AsyncJob[R] = await self.submit(function, [item], **options)
        return job

    async def explain(self, function: Union[Task[Any, Any], str], **options: Any) -> Explanation:
        """Whether and where such a job could run. Nothing is submitted; options are those of `submit`."""
        spec = job_spec(tags=tags_of(function, options.pop("tags", ())), **options)
        return Explanation.of(await self.request(send_json("POST", self._path("explain"), spec, again=True)))

    # --- Jobs.

    async def job(
        self,
        id: str,
        function: Optional[Task[Any, R]] = None,
        *,
        chunk: Optional[int] = None,
        codec: Optional[Codec] = None,
    ) -> AsyncJob[R]:
        """The job with that id; `last` is the newest. Which function it is of, and in which chunks it was submitted,
        makes its results items again."""
        info = JobInfo.of(await self.request(get(self._path("jobs", id))))
        if codec is None and function is not None:
            codec = function.codec
        return AsyncJob(self, info, codec=codec, chunk=chunk)

    async def jobs(
        self, *, state: Optional[str] = None, tag: Optional[str] = None, user: Optional[str] = None
    ) -> AsyncIterator[JobInfo]:
        """All jobs, the newest first; in that state, with that tag, of that user."""
        before: Optional[str] = None
        while True:
            target = query(self._path("jobs"), state=state, tag=tag, user=user, before=before)
            page = await self.request(get(target))
            for raw in dig(page, "jobs"):
                yield JobInfo.of(raw)
            before = page.get("next")
            if before is None:
                return

    async def change_jobs(
        self,
        action: str,
        *,
        state: Optional[str] = None,
        tag: Optional[str] = None,
        user: Optional[str] = None,
        all: bool = False,
        up_to: Optional[str] = None,
        dry_run: bool = False,
    ) -> Dict[str, Any]:
        """Cancels, pauses, resumes or retries (`action`) all jobs that the fields find; the protocol's answer."""
        if action not in ("cancel", "pause", "resume", "retry"):
            raise ValueError("the actions are cancel, pause, resume and retry")
        fields: Dict[str, Any] = {"state": state, "tag": tag, "user": user, "up_to": up_to}
        fields = {name: value for name, value in fields.items() if value is not None}
        if all:
            fields["all"] = True
        if dry_run:
            fields["dry_run"] = True
        again = dry_run or action != "retry"
        answer: Dict[str, Any] = await self.request(
            send_json("POST", self._path("jobs", action), fields, again=again)
        )
        return answer

    async def wait(self, *jobs: AsyncJob[Any], timeout: Optional[float] = None) -> List[JobInfo]:
        """Stays until all of them have ended. TimeoutError after so many seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        ended = []
        for job in jobs:
            ended.append(await job.wait(None if until is None else max(0.0, until - time.monotonic())))
        return ended


class _Pauses:
    """How long to wait before the next attempt; growing, and each a little different."""

    def __init__(self, patience: float) -> None:
        self._until = time.monotonic() + patience
        self._pause = 0.05

    def next(self) -> Optional[float]:
        """None: no more."""
        pause = self._pause * random.uniform(0.5, 1.0)
        self._pause = min(self._pause * 2, 2.0)
        return pause if time.monotonic() + pause < self._until else None


class _Upload:
    """Items on their way into lines, and lines on their way to the server."""

    def __init__(self, lines: Lines, source: AsyncIterator[Any]) -> None:
        self.lines = lines
        self._source = source
        self.broken = False  # going through the items raised

    async def fill(self, limit: Optional[int]) -> None:
        """Takes items until there are so many bytes; None: all."""
        lines = self.lines
        if lines.ended:
            return
        try:
            async for item in self._source:
                lines.add(item)
                if lines.ready:
                    lines.take()
                    if limit is not None and lines.size >= limit:
                        return
            lines.end()
        except BaseException:
            self.broken = True
            raise

    async def pieces(self) -> AsyncIterator[bytes]:
        """The whole body: what there is already, then what comes."""
        lines = self.lines
        for piece in lines.kept():
            yield piece
        while True:
            if lines.unread and (lines.ready or lines.ended):
                yield lines.take()
            if lines.ended:
                return
            try:
                async for item in self._source:
                    lines.add(item)
                    if lines.ready:
                        break
                else:
                    lines.end()
            except BaseException:
                self.broken = True
                raise
