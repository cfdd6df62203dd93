# SPDX-License-Identifier: Apache-2.0
"""Runs tasks in threads of this process. Cancelling sets a flag, which `ctx.check()` sees."""

from __future__ import annotations

import asyncio
import functools
import queue
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ..functions import Cancelled, Context
from ..wire.worker import RELEASED, Lease, Outcome, failed
from .runner import (
    NO_CONTEXT,
    AnyTask,
    Assigned,
    context_of,
    group_of,
    outcome_of,
    run_batch,
    run_one,
    run_one_async,
)


class _Item:
    __slots__ = ("lease", "function", "begun", "stopped", "stop")

    def __init__(self, task: Assigned) -> None:
        self.lease = task.lease
        self.function = task.function
        self.begun = False
        self.stopped = ""  # why
        self.stop: Optional[Callable[[], object]] = None  # of a coroutine that runs

    def is_stopped(self) -> bool:
        return bool(self.stopped)


class Threads:
    """A number of threads that take tasks from one queue."""

    def __init__(self, owner: Any, functions: Sequence[AnyTask], threads: int) -> None:
        self.slots = threads
        self._owner = owner
        self._functions = functions
        self._queue: queue.SimpleQueue[Optional[_Item]] = queue.SimpleQueue()
        self._threads: List[threading.Thread] = []
        self._killed = False

    def start(self) -> None:
        for number in range(self.slots):
            thread = threading.Thread(target=self._work, name=f"allotter-task-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def run(self, tasks: List[Assigned]) -> None:
        for task in tasks:
            item = task.lease.state = _Item(task)
            self._queue.put(item)

    def cancel(self, lease: Lease, reason: str) -> None:
        item: _Item = lease.state
        item.stopped = reason
        stop = item.stop
        if stop is not None:
            stop()

    def withdraw(self) -> None:
        while True:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return
            if item is not None:
                self._owner.finish(item.lease, RELEASED)

    def poll(self, now: float) -> Optional[float]:
        return None

    def stop(self, kill: bool) -> None:
        """Threads cannot be killed: what runs is told to stop, and left behind."""
        self._killed = self._killed or kill
        for _ in self._threads:
            self._queue.put(None)

    def _work(self) -> None:
        functions, take = self._functions, self._queue
        loop: Optional[asyncio.AbstractEventLoop] = None
        held: Optional[_Item] = None  # taken for a batch into which it did not fit
        while True:
            item = held if held is not None else take.get()
            held = None
            if item is None:
                break
            if item.stopped:
                self._owner.finish(item.lease, RELEASED)
                continue
            began = time.perf_counter()
            function = functions[item.function]
            items = [item]
            if function.is_async:
                loop = loop or asyncio.new_event_loop()
                self._report(item, self._run_async(loop, function, item))
            elif function.max_items > 1:
                items, held = self._batch(item)
                self._run_batch(function, items)
            else:
                item.begun = True
                try:
                    outcome = run_one(function, item.lease.fields.get("payload"), self._context(item))
                except BaseException as error:
                    outcome = outcome_of(error, function)
                self._report(item, outcome)
            self._owner.took(time.perf_counter() - began, len(items))
        if loop is not None:
            loop.close()

    def _batch(self, first: _Item) -> Tuple[List[_Item], Optional[_Item]]:
        """More of the same function, as far as they are there."""
        items = [first]
        held: Optional[_Item] = None
        while len(items) < self._functions[first.function].max_items:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if item is None:
                self._queue.put(None)
                break
            if item.stopped:
                self._owner.finish(item.lease, RELEASED)
                continue
            pair = [(one.function, one.lease.fields.get("payload")) for one in (first, item)]
            if group_of(pair, self._functions) < 2:
                held = item
                break
            items.append(item)
        return items, held

    def _run_batch(self, function: AnyTask, items: List[_Item]) -> None:
        for item in items:
            item.begun = True
        payloads = [item.lease.fields.get("payload") for item in items]
        contexts = [self._context(item) for item in items]
        try:
            outcomes = run_batch(function, payloads, contexts)
        except BaseException as error:
            outcomes = [outcome_of(error, function)] * len(items)
        for item, outcome in zip(items, outcomes):
            self._report(item, outcome)

    def _run_async(self, loop: asyncio.AbstractEventLoop, function: AnyTask, item: _Item) -> Outcome:
        item.begun = True
        payload, context = item.lease.fields.get("payload"), self._context(item)
        running = loop.create_task(run_one_async(function, payload, context))
        item.stop = functools.partial(loop.call_soon_threadsafe, running.cancel)
        if item.stopped:
            running.cancel()
        try:
            return loop.run_until_complete(running)
        except BaseException as error:
            return outcome_of(Cancelled() if isinstance(error, asyncio.CancelledError) else error, function)
        finally:
            item.stop = None

    def _context(self, item: _Item) -> Context:
        if self._functions[item.function].context_name is None:
            return NO_CONTEXT

        def report(progress: Dict[str, Any]) -> None:
            self._owner.progress(item.lease, progress)

        return context_of(item.lease.fields, item.is_stopped, report)

    def _report(self, item: _Item, outcome: Outcome) -> None:
        if item.stopped and outcome.kind != "done":
            outcome = failed(f"stopped: {item.stopped}")
        self._owner.finish(item.lease, outcome)
