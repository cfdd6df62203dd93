# SPDX-License-Identifier: Apache-2.0
"""What runs tasks, seen from the thread with the connection; and how one task, or a batch, is run."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Protocol, Sequence, Tuple

from ..codec import chunk_of, decode_item, decode_items, encode_chunk, encode_item
from ..functions import Cancelled, Context, GiveUp, Release, Retry, Task, error_text
from ..wire.worker import RELEASED, Lease, Outcome, done, failed, rejected

AnyTask = Task[Any, Any]


class Assigned(NamedTuple):
    """A task, and the function that it is for."""

    lease: Lease
    function: int  # its place in the worker's list


class Owner(Protocol):
    """The thread with the connection, as a runner sees it. Both are safe from any thread."""

    def finish(self, lease: Lease, outcome: Outcome) -> None:
        ...

    def post(self, call: Callable[[], None]) -> None:
        """Calls it in the thread with the connection."""

    def progress(self, lease: Lease, progress: Dict[str, Any]) -> None:
        ...


class Runner(Protocol):
    """Runs tasks. All calls come from the thread with the connection, and return at once."""

    slots: int

    def start(self) -> None:
        ...

    def run(self, tasks: List[Assigned]) -> None:
        ...

    def cancel(self, lease: Lease, reason: str) -> None:
        """Stops it, wherever it is; its end is reported like any other."""

    def withdraw(self) -> None:
        """Reports all that have not begun as released."""

    def poll(self, now: float) -> Optional[float]:
        """Does what is due. When it wants to be asked next."""

    def stop(self, kill: bool) -> None:
        """Ends what runs tasks; with `kill` those that run as well."""


# Of functions that do not ask for one.
NO_CONTEXT = Context()


def context_of(
    fields: Dict[str, Any], cancelled: Callable[[], bool], report: Callable[[Dict[str, Any]], None]
) -> Context:
    return Context(
        job=fields["job"],
        index=fields["index"],
        attempt=fields.get("attempt", 1),
        count=fields.get("count", 1),
        payload_prefix=fields.get("payload_prefix", ""),
        trace=fields.get("trace", ""),
        job_payload=fields.get("job_payload"),
        cancelled=cancelled,
        report=report,
    )


def outcome_of(error: BaseException, function: AnyTask) -> Outcome:
    """What is reported of an attempt that raised."""
    if isinstance(error, Release):
        return RELEASED
    if isinstance(error, GiveUp):
        return rejected(str(error) or "given up")
    if isinstance(error, Retry):
        return failed(str(error) or "to be tried again", error.after)
    if isinstance(error, Cancelled):
        return failed("cancelled")
    text = error_text(error)
    return rejected(text) if isinstance(error, function.give_up) else failed(text)


def run_one(function: AnyTask, payload: Any, context: Context) -> Outcome:
    """Runs a plain function for a task: of one item, or of a chunk. Cancelled passes through."""
    try:
        items = chunk_of(payload)
        if function.max_items:
            values = (
                [decode_item(payload, function.codec)]
                if items is None
                else decode_items(items, function.codec)
            )
            results = _in_batches(function, values, context)
            return done(_encoded(function, results, items is not None))
        if items is None:
            return done(
                _encoded(function, [function.invoke(decode_item(payload, function.codec), context)], False)
            )
        results = []
        for item in decode_items(items, function.codec):
            results.append(function.invoke(item, context))
        return done(_encoded(function, results, True))
    except (Cancelled, KeyboardInterrupt):
        raise
    except BaseException as error:
        return outcome_of(error, function)


async def run_one_async(function: AnyTask, payload: Any, context: Context) -> Outcome:
    """The same of a coroutine function. CancelledError passes through."""
    try:
        items = chunk_of(payload)
        values = (
            [decode_item(payload, function.codec)] if items is None else decode_items(items, function.codec)
        )
        results: List[Any] = []
        if function.max_items:
            for at in range(0, len(values), function.max_items):
                part = values[at : at + function.max_items]
                results += _as_many(await function.invoke(part, context), part)
        else:
            for value in values:
                results.append(await function.invoke(value, context))
        return done(_encoded(function, results, items is not None))
    except (asyncio.CancelledError, Cancelled, KeyboardInterrupt):
        raise
    except BaseException as error:
        return outcome_of(error, function)


def run_batch(function: AnyTask, payloads: Sequence[Any], contexts: Sequence[Context]) -> List[Outcome]:
    """Runs a batch function once for several tasks, each an item. Where that raises, for each of them alone."""
    if len(payloads) == 1 or any(chunk_of(payload) is not None for payload in payloads):
        return [run_one(function, payload, context) for payload, context in zip(payloads, contexts)]
    try:
        values = [decode_item(payload, function.codec) for payload in payloads]
        results = _as_many(function.invoke(values, contexts[0]), values)
        return [done(_encoded(function, [result], False)) for result in results]
    except (Cancelled, KeyboardInterrupt):
        raise
    except BaseException:
        return [run_one(function, payload, context) for payload, context in zip(payloads, contexts)]


def _in_batches(function: AnyTask, values: List[Any], context: Context) -> List[Any]:
    results: List[Any] = []
    for at in range(0, len(values), function.max_items):
        part = values[at : at + function.max_items]
        results += _as_many(function.invoke(part, context), part)
    return results


def _as_many(results: Any, values: Sequence[Any]) -> List[Any]:
    made = list(results)
    if len(made) != len(values):
        raise ValueError(f"the batch function gave {len(made)} results for {len(values)} items")
    return made


def _encoded(function: AnyTask, results: List[Any], is_chunk: bool) -> str:
    if is_chunk:
        return encode_chunk(results, function.codec)
    return encode_item(results[0], function.codec)


class Router:
    """Which function a job is for. With one function it is always that one."""

    def __init__(self, functions: Sequence[AnyTask], limit: int = 20_000) -> None:
        self._functions = list(functions)
        self._by_tag = {function.name: at for at, function in enumerate(functions)}
        self._known: Dict[str, int] = {}
        self._limit = limit

    def of(self, job: str) -> Optional[int]:
        """None: it has to be learned; -1: there is none."""
        if len(self._functions) == 1:
            return 0
        return self._known.get(job)

    def learn(self, job: str, tags: Sequence[str]) -> int:
        """Takes the tags of a job."""
        found = next((self._by_tag[tag] for tag in tags if tag in self._by_tag), -1)
        if len(self._known) >= self._limit:
            del self._known[next(iter(self._known))]
        self._known[job] = found
        return found


def group_of(tasks: Sequence[Tuple[int, Any]], functions: Sequence[AnyTask]) -> int:
    """How many of the first of them one call takes: (function, payload), …"""
    first, payload = tasks[0]
    function = functions[first]
    if not function.max_items or function.is_async or chunk_of(payload) is not None:
        return 1
    count = 1
    while count < len(tasks) and count < function.max_items:
        at, payload = tasks[count]
        if at != first or chunk_of(payload) is not None:
            break
        count += 1
    return count
