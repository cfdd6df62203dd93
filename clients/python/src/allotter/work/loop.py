# SPDX-License-Identifier: Apache-2.0
"""Runs coroutine functions on one event loop: its own in a thread of its own, or the caller's."""

from __future__ import annotations

import asyncio
import collections
import functools
import threading
import time
from typing import Any, Deque, Dict, List, Optional, Sequence

from ..functions import Cancelled
from ..wire.worker import RELEASED, Lease, Outcome, failed
from .runner import NO_CONTEXT, AnyTask, Assigned, context_of, outcome_of, run_one_async


class _Item:
    __slots__ = ("lease", "function", "stopped", "running")

    def __init__(self, task: Assigned) -> None:
        self.lease = task.lease
        self.function = task.function
        self.stopped = ""
        self.running: Optional[asyncio.Task[Outcome]] = None


class Loop:
    """At most `concurrency` tasks at a time. What is named with _ runs on the loop."""

    def __init__(
        self,
        owner: Any,
        functions: Sequence[AnyTask],
        concurrency: int,
        loop: Optional[asyncio.AbstractEventLoop] = None,
    ) -> None:
        self.slots = concurrency
        self._owner = owner
        self._functions = functions
        self._own = loop is None
        self._loop = loop or asyncio.new_event_loop()
        self._waiting: Deque[_Item] = collections.deque()
        self._running = 0
        self._items: Dict[str, _Item] = {}

    def start(self) -> None:
        if self._own:
            threading.Thread(target=self._run_loop, name="allotter-loop", daemon=True).start()

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def _call(self, function: Any, *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            pass  # the loop has ended, and with it all that ran

    def run(self, tasks: List[Assigned]) -> None:
        items = []
        for task in tasks:
            task.lease.state = item = _Item(task)
            items.append(item)
        self._call(self._take, items)

    def cancel(self, lease: Lease, reason: str) -> None:
        lease.state.stopped = reason
        self._call(self._stop, lease.state)

    def withdraw(self) -> None:
        self._call(self._give_back)

    def poll(self, now: float) -> Optional[float]:
        return None

    def stop(self, kill: bool) -> None:
        if kill:
            self._call(self._stop_all)
        if self._own:
            self._call(self._loop.stop)

    def _take(self, items: List[_Item]) -> None:
        self._waiting.extend(items)
        self._begin()

    def _begin(self) -> None:
        while self._waiting and self._running < self.slots:
            item = self._waiting.popleft()
            if item.stopped:
                self._owner.finish(item.lease, RELEASED)
                continue
            self._running += 1
            self._items[item.lease.lease] = item
            item.running = self._loop.create_task(self._run(item))
            item.running.add_done_callback(functools.partial(self._ended, item, time.perf_counter()))

    async def _run(self, item: _Item) -> Outcome:
        def report(progress: Dict[str, Any]) -> None:
            self._owner.progress(item.lease, progress)

        function = self._functions[item.function]
        context = NO_CONTEXT
        if function.context_name is not None:
            context = context_of(item.lease.fields, lambda: bool(item.stopped), report)
        return await run_one_async(function, item.lease.fields.get("payload"), context)

    def _ended(self, item: _Item, began: float, running: asyncio.Task[Outcome]) -> None:
        # It may have been cancelled before its first step.
        error = Cancelled() if running.cancelled() else running.exception()
        outcome = running.result() if error is None else outcome_of(error, self._functions[item.function])
        if item.stopped and outcome.kind != "done":
            outcome = failed(f"stopped: {item.stopped}")
        self._items.pop(item.lease.lease, None)
        self._owner.took(time.perf_counter() - began)
        self._owner.finish(item.lease, outcome)
        self._running -= 1
        self._begin()

    def _stop(self, item: _Item) -> None:
        if item.running is not None:
            item.running.cancel()

    def _stop_all(self) -> None:
        for item in list(self._items.values()):
            item.stopped = item.stopped or "the worker was stopped"
            self._stop(item)

    def _give_back(self) -> None:
        waiting, self._waiting = self._waiting, collections.deque()
        for item in waiting:
            self._owner.finish(item.lease, RELEASED)
