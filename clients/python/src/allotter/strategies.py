# SPDX-License-Identifier: Apache-2.0
"""Strategies as Python objects: which of the tasks that a worker may run comes first.

    al.PreferDistinct("company_id", then=al.Random())
    al.MaxSimultaneous("customer", "20%", al.Fair("user", al.WorkerStrategy()))

`str()` gives the text, `to_json()` what the wire takes. Wherever one stands, a text of the language will do, too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, Tuple, Union

Value = Union[str, int, float, bool]


class Strategy:
    """What all strategies are."""

    word: ClassVar[str] = ""

    def to_json(self) -> Any:
        return self.word

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True)
class Random(Strategy):
    """Every queued task is equally likely."""

    word: ClassVar[str] = "random"


@dataclass(frozen=True)
class Oldest(Strategy):
    """By job, in the order of submission."""

    word: ClassVar[str] = "oldest"


@dataclass(frozen=True)
class Newest(Strategy):
    """The newest job first."""

    word: ClassVar[str] = "newest"


@dataclass(frozen=True)
class Priority(Strategy):
    """The highest priority first, then the one that was scheduled first. The default."""

    word: ClassVar[str] = "priority"


@dataclass(frozen=True)
class LeastRecent(Strategy):
    """The job that was picked from longest ago."""

    word: ClassVar[str] = "least_recent"


@dataclass(frozen=True)
class WorkerStrategy(Strategy):
    """In a queue's policy: the asking worker's own strategy."""

    word: ClassVar[str] = "worker"


@dataclass(frozen=True)
class Named(Strategy):
    """A strategy that has a name in the server's configuration, or `fair`."""

    name: str

    def to_json(self) -> Any:
        return self.name

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class SelectOnly(Strategy):
    """Only jobs whose key has that value."""

    key: str
    value: Value
    then: Strategy = Priority()

    def to_json(self) -> Any:
        return {"select_only": {"key": self.key, "value": self.value, "inner": self.then.to_json()}}

    def __str__(self) -> str:
        return f"select_only({self.key} = {json.dumps(self.value, ensure_ascii=False)}, {self.then})"


@dataclass(frozen=True)
class PreferDistinct(Strategy):
    """Values of the key take turns: those with fewer running tasks come first, and nothing is blocked."""

    key: str
    max: int = 1
    then: Strategy = Priority()

    def to_json(self) -> Any:
        return {"prefer_distinct": {"key": self.key, "max": self.max, "inner": self.then.to_json()}}

    def __str__(self) -> str:
        return f"prefer_distinct({self.key}, {self.max}, {self.then})"


@dataclass(frozen=True)
class MaxSimultaneous(Strategy):
    """No task of a value that has `max` running already; `max` is a number, or a percentage of all slots: "20%"."""

    key: str
    max: Union[int, str]
    then: Strategy = Priority()

    def to_json(self) -> Any:
        return {"max_simultaneous": {"key": self.key, "max": self.max, "inner": self.then.to_json()}}

    def __str__(self) -> str:
        return f"max_simultaneous({self.key}, {self.max}, {self.then})"


@dataclass(frozen=True)
class Fair(Strategy):
    """Shares between the values of the key, by their weights."""

    key: str
    then: Strategy = Priority()

    def to_json(self) -> Any:
        return {"fair": {"key": self.key, "inner": self.then.to_json()}}

    def __str__(self) -> str:
        return f"fair({self.key}, {self.then})"


class OrElse(Strategy):
    """The first of them that has a task."""

    def __init__(self, *choices: Strategy) -> None:
        if len(choices) < 2:
            raise ValueError("OrElse is of two strategies or more")
        self.choices: Tuple[Strategy, ...] = choices

    def to_json(self) -> Any:
        return {"or_else": [choice.to_json() for choice in self.choices]}

    def __str__(self) -> str:
        return f"or_else({', '.join(map(str, self.choices))})"

    def __repr__(self) -> str:
        return f"OrElse({', '.join(map(repr, self.choices))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OrElse) and self.choices == other.choices

    def __hash__(self) -> int:
        return hash(self.choices)


def wire_strategy(value: Union[Strategy, str, None]) -> Any:
    """What the wire takes for a strategy."""
    return value.to_json() if isinstance(value, Strategy) else value
