# SPDX-License-Identifier: Apache-2.0
"""A job that was submitted, or found."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, Generic, List, Optional, Tuple, TypeVar, Union

from .. import words
from ..anet import Listener, sleep
from ..codec import Codec, chunk_of, decode_item, decode_items, loads
from ..errors import Error, JobCancelled, JobFailed, TaskFailed, Unavailable, Unsupported, error_of
from ..objects import Explanation, JobInfo, Outcome, TaskInfo, dig
from ..progress import Bar, Progress
from ..ranges import Ranges
from ..spec import job_spec
from ..wire.http import get, query, send_json

if TYPE_CHECKING:
    from .client import AsyncClient

R = TypeVar("R")

_PAGE = 1000
_LONG_WAIT = 20.0
# How many results may be on their way, and with how many ranges of what came a connection can begin.
_CREDIT = 4_000
_MOST_RANGES = 10_000


class AsyncJob(Generic[R]):
    """A handle: it knows the job's id, and asks the server for the rest."""

    def __init__(
        self,
        client: AsyncClient,
        info: JobInfo,
        *,
        codec: Optional[Codec] = None,
        chunk: Optional[int] = None,
        items: Optional[int] = None,
        existing: bool = False,
        matching_workers: int = 0,
    ) -> None:
        self._client = client
        self._codec = codec
        self._chunk = chunk  # None: not known; a chunk's results are one value then
        self._items = items
        self._last = info
        self.id = info.id
        self.existing = existing
        self.matching_workers = matching_workers

    def __repr__(self) -> str:
        return f"<job {self.id}: {self._last.state}>"

    @property
    def last_info(self) -> JobInfo:
        """How it was when it was looked at last."""
        return self._last

    def _path(self, *parts: str) -> str:
        return self._client._path("jobs", self.id, *parts)

    # --- Looking.

    async def info(self) -> JobInfo:
        """How it is now."""
        return self._seen(await self._client.request(get(self._path())))

    async def payload(self) -> Any:
        """What it was submitted with for all of its tasks, as on the wire; None: nothing."""
        if words.JOB_PAYLOAD not in await self._client.features():
            raise Unsupported(words.JOB_PAYLOAD)
        return (await self._client.request(get(query(self._path(), payload="true")))).get("payload")

    async def wait(self, timeout: Optional[float] = None) -> JobInfo:
        """Stays until it has ended. TimeoutError after so many seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _LONG_WAIT if until is None else max(0.0, min(until - time.monotonic(), _LONG_WAIT))
            target = query(self._path(), wait_ms=round(left * 1000) or None)
            info = self._seen(await self._client.request(get(target, left)))
            if info.ended:
                return info
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(f"job {self.id} has not ended within {timeout:g} s")

    async def tasks(self, state: Optional[str] = None) -> AsyncIterator[TaskInfo]:
        """Its tasks in order of index; those in one state, by request."""
        at: Optional[int] = 0
        while at is not None:
            target = query(self._path("tasks"), state=state, limit=_PAGE, **{"from": at})
            page = await self._client.request(get(target))
            for raw in dig(page, "tasks"):
                yield TaskInfo.of(raw)
            at = page.get("next")

    async def task(self, index: int) -> TaskInfo:
        """One task; `raw` has its payload and result."""
        return TaskInfo.of(await self._client.request(get(self._path("tasks", str(index)))))

    async def explain(self, *, worker: Optional[str] = None, task: Optional[int] = None) -> Explanation:
        """Why it does not run; on that worker, or that task of it."""
        target = query(self._path("explain"), worker=worker, task=task)
        return Explanation.of(await self._client.request(get(target)))

    async def errors(self) -> List[Dict[str, Any]]:
        """What its failed and retrying tasks say, those with the same text together."""
        groups: List[Dict[str, Any]] = dig(await self._client.request(get(self._path("errors"))), "groups")
        return groups

    async def picture(self, parts: int = 200) -> Dict[str, Any]:
        """How its tasks stand over the range of their indices."""
        raw: Dict[str, Any] = await self._client.request(get(query(self._path("picture"), parts=parts)))
        return raw

    # --- Changing.

    async def cancel(self) -> JobInfo:
        """Skips what waits; workers are told to stop what runs."""
        return await self._act("cancel")

    async def pause(self) -> JobInfo:
        return await self._act("pause")

    async def resume(self) -> JobInfo:
        return await self._act("resume")

    async def retry(self) -> int:
        """Lets failed and skipped tasks of an ended job run again. How many there are."""
        answer = await self._client.request(send_json("POST", self._path("retry")))
        self._seen(dig(answer, "job"))
        return int(answer.get("retried", 0))

    async def change(self, **changes: Any) -> JobInfo:
        """Changes a job that has not ended: priority, tags, delay, at, meta, constraints, requirements, rank, named as
        for `submit`. None takes priority, requirements or rank away."""
        emptied = {
            name: None for name in ("priority", "requirements", "rank") if changes.get(name, 0) is None
        }
        for name in changes:
            if name not in ("priority", "tags", "delay", "at", "meta", "constraints", "requirements", "rank"):
                raise TypeError(f"`{name}` of a job cannot be changed")
        tags = changes.pop("tags", None)
        fields = job_spec(tags=tags or (), **changes)
        if tags is None:
            del fields["tags"]
        fields.update(emptied)
        return self._seen(await self._client.request(send_json("PATCH", self._path(), fields, again=True)))

    async def _act(self, action: str) -> JobInfo:
        return self._seen(await self._client.request(send_json("POST", self._path(action), again=True)))

    async def abandon(self) -> None:
        """Cancels it if that is done at once: for those who leave."""
        try:
            await self._client.request(send_json("POST", self._path("cancel")), patience=0.0, timeout=0.5)
        except Error:
            pass

    def _seen(self, raw: Any) -> JobInfo:
        self._last = JobInfo.of(raw)
        return self._last

    # --- Results.

    async def outcomes(
        self, *, ordered: bool = True, progress: Progress = False
    ) -> AsyncIterator[Outcome[R]]:
        """How each item ended: in order of index, or as they end."""
        bar = Bar(progress, self._items if self._items is not None else self._last.count)
        try:
            if ordered:
                pages = self._pages()
            elif words.RESULTS_AS_COMPLETED in await self._client.features():
                pages = self._pages_pushed()
            else:
                pages = self._pages_as_they_end()
            async for page in pages:
                for entry in page:
                    outcomes = self._outcomes_of(entry)
                    bar.add(len(outcomes))
                    for outcome in outcomes:
                        yield outcome
        finally:
            bar.close()

    async def results(self, *, ordered: bool = True, progress: Progress = False) -> AsyncIterator[R]:
        """The results. Raises JobFailed, JobCancelled or TaskFailed at the first item without one."""
        async for outcome in self.outcomes(ordered=ordered, progress=progress):
            if not outcome.ok:
                raise await self._failure(outcome)
            yield outcome.value()

    async def _failure(self, outcome: Outcome[R]) -> Error:
        info = await self.info()
        if info.state == words.CANCELLED:
            return JobCancelled(info)
        if info.state == words.FAILED:
            error = outcome.error if outcome.state == words.FAILED else None
            if error is None:
                async for task in self.tasks(words.FAILED):
                    error = task.error
                    break
            return JobFailed(info, error, info.done)
        return TaskFailed(outcome.index, outcome.error or "it was skipped")

    def _outcomes_of(self, entry: Dict[str, Any]) -> List[Outcome[R]]:
        task, state = entry["index"], entry["state"]
        chunk = self._chunk
        if state == words.DONE:
            value = entry.get("result")
            items = chunk_of(value)
            if items is None or chunk is None:
                whole: Any = (
                    decode_item(value, self._codec) if items is None else decode_items(items, self._codec)
                )
                return [Outcome(task * (chunk or 1), state, whole)]
            first = task * chunk
            values = decode_items(items, self._codec)
            return [Outcome(first + at, state, value) for at, value in enumerate(values)]
        error = entry.get("error", "")
        if chunk is None or chunk == 1:
            return [Outcome(task, state, None, error)]
        end = task * chunk + chunk if self._items is None else min(task * chunk + chunk, self._items)
        return [Outcome(at, state, None, error) for at in range(task * chunk, end)]

    async def _page(
        self, start: int, limit: int, wait: float
    ) -> Tuple[List[Dict[str, Any]], Optional[int], bool]:
        """Results from there on, where to go on, and whether the job has ended."""
        target = query(
            self._path("results"), limit=limit, wait_ms=round(wait * 1000) or None, **{"from": start}
        )
        text = await self._client.request_text(get(target, wait))
        page = loads(text)
        return dig(page, "results"), page.get("next"), page.get("job_state") in words.ENDED_JOB

    async def _pages(self) -> AsyncIterator[List[Dict[str, Any]]]:
        at: Optional[int] = 0
        while at is not None:
            entries, at, _ = await self._page(at, _PAGE, _LONG_WAIT)
            if entries:
                yield entries

    async def _pages_pushed(self) -> AsyncIterator[List[Dict[str, Any]]]:
        """The server tells them as they complete; after a lost connection, those that have not come."""
        had = Ranges()
        pauses = self._client._pauses()
        while True:
            try:
                listener = await Listener.open(self._client._path("wait"), self._client._options)
                try:
                    await listener.say(self._ask(_CREDIT, had))
                    credit = _CREDIT
                    while True:
                        news = loads(await listener.hear())
                        pauses = self._client._pauses()
                        if "error" in news:
                            raise error_of(0, news)
                        if news.get("unknown"):
                            raise error_of(
                                404, {"error": {"code": "unknown_job", "message": f"there is no job {self.id}"}}
                            )
                        for part in news.get("results") or ():
                            credit -= len(part["results"])
                            fresh = [entry for entry in part["results"] if had.add(entry["index"])]
                            if fresh:
                                yield fresh
                            if part["end"]:
                                return
                        if credit <= _CREDIT // 2:
                            await listener.say(self._ask(_CREDIT - credit, None))
                            credit = _CREDIT
                finally:
                    listener.close()
            except Unavailable:
                pause = pauses.next()
                if pause is None:
                    raise
            await sleep(pause)

    def _ask(self, credit: int, had: Optional[Ranges]) -> str:
        asked: Dict[str, Any] = {"job": self.id, "credit": credit}
        if had is not None:
            asked["have"] = had.first(_MOST_RANGES)
        return json.dumps({"results": [asked]})

    async def _pages_as_they_end(self) -> AsyncIterator[List[Dict[str, Any]]]:
        """Results come in the order of indices only, so what has not been told is looked at time and again: gaps of
        tasks that had not ended. What was looked at costs pauses in proportion."""
        gaps: List[Tuple[int, int]] = [(0, self._last.count)]
        looks = 0
        while gaps:
            began = time.monotonic()
            looks += 1
            left: List[Tuple[int, int]] = []
            # Most tasks begin in order: behind many that wait there is seldom one that has ended.
            everything = looks % 8 == 0 or self._last.ended
            found = False
            for number, (start, end) in enumerate(gaps):
                at = start
                while at < end:
                    entries, following, _ = await self._page(at, min(_PAGE, end - at), 0.0)
                    if entries:
                        found = True
                        at = int(entries[-1]["index"]) + 1
                        yield entries
                        if len(entries) == _PAGE or following is None:
                            continue
                    if at < end:
                        open_end, untouched = await self._open_until(at, end, everything)
                        left.append((at, open_end))
                        at = open_end
                        if untouched and not everything:
                            left.append((at, end))
                            at = end
                if found and not everything and number > 64:
                    left += gaps[number + 1 :]
                    break
            gaps = _joined(left)
            if gaps and not found:
                # It ends early when the first open task does.
                pause = min(1.0, max(0.02, 4 * (time.monotonic() - began)))
                entries, _, ended = await self._page(gaps[0][0], 1, pause)
                if ended and not entries:
                    await sleep(pause)

    async def _open_until(self, start: int, end: int, everything: bool) -> Tuple[int, bool]:
        """The first task from there on that has ended, or the end; and whether it gave up where nothing has begun."""
        at: Optional[int] = start
        while at is not None and at < end:
            target = query(self._path("tasks"), limit=_PAGE, **{"from": at})
            page = await self._client.request(get(target))
            begun = False
            for raw in dig(page, "tasks"):
                if raw["index"] >= end:
                    return end, False
                state = raw["state"]
                if state in words.ENDED_TASK:
                    return int(raw["index"]), False
                begun = begun or state != words.QUEUED
            at = page.get("next")
            if not begun and not everything:
                return min(at if at is not None else end, end), True
        return end, False


def _joined(gaps: List[Tuple[int, int]]) -> List[Tuple[int, int]]:
    """Without empty ones; those that touch are one."""
    made: List[Tuple[int, int]] = []
    for start, end in gaps:
        if start >= end:
            continue
        if made and made[-1][1] == start:
            made[-1] = (made[-1][0], end)
        else:
            made.append((start, end))
    return made


AnyJob = Union[AsyncJob[Any], str]
