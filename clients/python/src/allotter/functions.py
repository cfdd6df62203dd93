# SPDX-License-Identifier: Apache-2.0
"""Functions that workers run: `task`, `batch_task`, what they may raise, and their context."""

from __future__ import annotations

import functools
import inspect
import traceback
from typing import (
    Any,
    Awaitable,
    Callable,
    Generic,
    List,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    overload,
)

from .codec import Codec, plain_progress
from .errors import Error

R = TypeVar("R")
C = TypeVar("C")

_ERROR_TEXT = 3_900  # the server keeps 4,096 bytes


class Retry(Exception):
    """This attempt has failed; try again, after so many seconds where the server can (else after the job's backoff)."""

    def __init__(self, message: str = "", after: Optional[float] = None) -> None:
        super().__init__(message)
        self.after = after


class GiveUp(Exception):
    """The task has failed for good: no further attempt."""


class Release(Exception):
    """Not begun after all: queued again, counting no attempt."""


class Cancelled(BaseException):
    """The server, or whoever stops the worker, wants this attempt stopped."""


class Context:
    """What a running task may know and say. A parameter `ctx`, or one annotated with this class, is given it."""

    def __init__(
        self,
        job: str = "",
        index: int = 0,
        attempt: int = 1,
        count: int = 1,
        payload_prefix: str = "",
        trace: str = "",
        job_payload: Any = None,
        cancelled: Optional[Callable[[], bool]] = None,
        report: Optional[Callable[[dict[str, Any]], None]] = None,
    ) -> None:
        self.job = job
        self.index = index
        self.attempt = attempt
        self.count = count
        self.payload_prefix = payload_prefix
        self.trace = trace
        self.job_payload = job_payload
        self._cancelled = cancelled
        self._report = report

    @property
    def cancelled(self) -> bool:
        """Whether the attempt is to stop."""
        return self._cancelled is not None and self._cancelled()

    def check(self) -> None:
        """Raises Cancelled where the attempt is to stop."""
        if self.cancelled:
            raise Cancelled()

    def progress(self, done: float, of: Optional[float] = None, note: str = "") -> None:
        """Tells how far it is, and checks as `check` does."""
        self.check()
        if self._report is not None:
            told: dict[str, Any] = {"done": done}
            if of is not None:
                told["of"] = of
            if note:
                told["note"] = note
            self._report(plain_progress(told))


class Task(Generic[C, R]):
    """A function with the name under which its jobs are submitted. Called, it is the function."""

    def __init__(
        self,
        function: Callable[..., C],
        name: str,
        *,
        give_up: Sequence[Type[BaseException]] = (),
        codec: Optional[Codec] = None,
        max_items: int = 0,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name
        self.give_up: Tuple[Type[BaseException], ...] = tuple(give_up)
        self.codec = codec
        self.max_items = max_items  # 0: it takes one item
        self.is_async = inspect.iscoroutinefunction(function)
        self.context_name = _context_parameter(function)

    def __call__(self, *args: Any, **kwargs: Any) -> C:
        if self.context_name is not None:
            kwargs.setdefault(self.context_name, Context())
            position = _position(self.function, self.context_name)
            if position is not None and len(args) > position:
                del kwargs[self.context_name]
        return self.function(*args, **kwargs)

    def invoke(self, argument: Any, context: Context) -> C:
        if self.context_name is None:
            return self.function(argument)
        return self.function(argument, **{self.context_name: context})

    def path(self) -> Tuple[str, str]:
        """Where another process finds it: module and name."""
        return self.function.__module__, self.function.__qualname__

    def __repr__(self) -> str:
        return f"<task {self.name}: {self.function.__module__}.{self.function.__qualname__}>"


class _TaskMaker:
    """What `task(…)` gives: makes a Task of the function below it."""

    def __init__(self, name: str, give_up: Sequence[Type[BaseException]], codec: Optional[Codec]) -> None:
        self._arguments: dict[str, Any] = {"name": name, "give_up": give_up, "codec": codec}

    @overload
    def __call__(self, function: Callable[..., Awaitable[R]]) -> Task[Awaitable[R], R]:  # type: ignore[misc]
        ...

    @overload
    def __call__(self, function: Callable[..., R]) -> Task[R, R]:
        ...

    def __call__(self, function: Callable[..., Any]) -> Task[Any, Any]:
        return Task(function, **self._arguments)


class _BatchTaskMaker:
    def __init__(self, **arguments: Any) -> None:
        self._arguments = arguments

    @overload
    def __call__(self, function: Callable[..., Awaitable[Sequence[R]]]) -> Task[Awaitable[Sequence[R]], R]:
        ...

    @overload
    def __call__(self, function: Callable[..., Sequence[R]]) -> Task[Sequence[R], R]:
        ...

    def __call__(self, function: Callable[..., Any]) -> Task[Any, Any]:
        return Task(function, **self._arguments)


def task(
    name: str, *, give_up: Sequence[Type[BaseException]] = (), codec: Optional[Codec] = None
) -> _TaskMaker:
    """A function of one item. Exceptions of the kinds in `give_up` fail the task for good, others after its attempts."""
    return _TaskMaker(name, give_up, codec)


def batch_task(
    name: str,
    *,
    max_items: int,
    give_up: Sequence[Type[BaseException]] = (),
    codec: Optional[Codec] = None,
) -> _BatchTaskMaker:
    """A function of a list of items, at most `max_items`, that gives as many results. Where it raises for several items
    it is called again for each of them alone: one bad item fails alone."""
    if max_items < 1:
        raise ValueError("max_items is at least 1")
    return _BatchTaskMaker(name=name, max_items=max_items, give_up=give_up, codec=codec)


def find_task(module: Any, path: str) -> Task[Any, Any]:
    """The task of that name in a module."""
    found = module
    for part in path.split("."):
        found = getattr(found, part)
    if not isinstance(found, Task):
        raise Error(
            f"{getattr(module, '__name__', module)}:{path} is not a task: decorate it with @allotter.task(…)"
        )
    return found


def tasks_in(module: Any) -> List[Task[Any, Any]]:
    """All tasks of a module, by name."""
    return [value for value in vars(module).values() if isinstance(value, Task)]


def error_text(error: BaseException) -> str:
    """`Type: message`, and the end of the traceback behind it: a text, so that no one has to have the class."""
    head = traceback.format_exception_only(type(error), error)[-1].strip()
    head = head[: _ERROR_TEXT // 2]
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    tail = "".join(lines[:-1]).rstrip()
    room = _ERROR_TEXT - len(head.encode("utf-8", "replace")) - 2
    cut = tail.encode("utf-8", "replace")[-room:].decode("utf-8", "ignore")
    text = f"{head}\n{cut}" if cut else head
    return text.encode("utf-8", "replace").decode("utf-8")


def _context_parameter(function: Callable[..., Any]) -> Optional[str]:
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = parameter.annotation
        if annotation is Context or (isinstance(annotation, str) and annotation.split(".")[-1] == "Context"):
            return name
        if name == "ctx" and annotation is inspect.Parameter.empty:
            return name
    return None


def _position(function: Callable[..., Any], name: str) -> Optional[int]:
    for position, (found, parameter) in enumerate(inspect.signature(function).parameters.items()):
        if found == name:
            return None if parameter.kind is inspect.Parameter.KEYWORD_ONLY else position
    return None
