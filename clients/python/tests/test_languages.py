# SPDX-License-Identifier: Apache-2.0
"""Expressions and strategies as objects: the server understands what they write as what was meant."""

from __future__ import annotations

import json
import random
import subprocess
from typing import Any, Callable, Dict, List, Tuple

import pytest

import allotter as al
from allotter.expressions import Expr
from allotter.testing import find_program


@pytest.mark.parametrize(
    "made, text",
    [
        (
            (al.target.memory >= 4096) & (al.target.arch == "x86_64"),
            'TARGET.memory >= 4096 && TARGET.arch == "x86_64"',
        ),
        ((al.my.a | al.my.b) & ~al.my.c, "(MY.a || MY.b) && !MY.c"),
        (al.my.a - (al.my.b - 1), "MY.a - (MY.b - 1)"),
        ((al.my.a - al.my.b) - 1, "MY.a - MY.b - 1"),
        (2 * (al.my.a + 1) % 3, "2 * (MY.a + 1) % 3"),
        (1 - al.my.a, "1 - MY.a"),
        (-(al.my.a + 1), "-(MY.a + 1)"),
        (al.my.a.is_(None), "MY.a =?= undefined"),
        (al.my.a.isnt(True), "MY.a =!= true"),
        (al.fn.member("gpu", al.target.Tags), 'member("gpu", TARGET.Tags)'),
        (al.fn.sum([1, 2.5]), "sum({1, 2.5})"),
        (al.my.a.if_else("x", "y"), 'MY.a ? "x" : "y"'),
        (al.my.a.or_default(0) > 10, "(MY.a ?: 0) > 10"),
        (al.my.list[0] == 'say "é"\n', 'MY.list[0] == "say \\"é\\"\\n"'),
        (al.my["a"].bit_and(1), "MY.a & 1"),
        (al.all_of([al.my.a, al.my.b | al.my.c]), "MY.a && (MY.b || MY.c)"),
        (al.any_of([]), "false"),
        (al.expr({"a": [1, None]}), "[a = {1, undefined}]"),
    ],
)
def test_expressions_read_as_people_write_them(made: Expr, text: str) -> None:
    assert str(made) == text


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: al.target.a and al.target.b,
        lambda: 1 < al.target.a < 3,
        lambda: 1 in al.target.a,
        lambda: al.target["a b"],
        lambda: al.attr["true"],
        lambda: al.my.a == 2**63,
        lambda: al.my.a == float("nan"),
        lambda: al.my.a == object(),
        lambda: al.OrElse(al.Oldest()),
    ],
)
def test_what_would_mean_something_else_is_refused(wrong: Callable[[], Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        wrong()


_OPERATORS: List[Tuple[str, Callable[[Any, Any], Expr], int]] = [
    ("&&", lambda a, b: a & b, 0),
    ("||", lambda a, b: a | b, 0),
    ("==", lambda a, b: a == b, 0),
    ("!=", lambda a, b: a != b, 0),
    ("<", lambda a, b: a < b, 0),
    (">=", lambda a, b: a >= b, 0),
    ("=?=", lambda a, b: a.is_(b), 0),
    ("=!=", lambda a, b: a.isnt(b), 0),
    ("+", lambda a, b: a + b, 0),
    ("-", lambda a, b: a - b, 0),
    ("*", lambda a, b: a * b, 0),
    ("/", lambda a, b: a / b, 0),
    ("%", lambda a, b: a % b, 0),
    ("<<", lambda a, b: a << b, 0),
    (">>", lambda a, b: a >> b, 0),
    ("&", lambda a, b: a.bit_and(b), 0),
    ("|", lambda a, b: a.bit_or(b), 0),
    ("^", lambda a, b: a.bit_xor(b), 0),
]
_CONSTANTS = [0, 1, 7, -3, 2.5, 1e300, 1e-9, True, False, "a", 'q"\\', None, [1, "b"]]


def _tree(rng: random.Random, depth: int) -> Tuple[Any, str]:
    """An expression, and the same with brackets around everything."""
    if depth == 0 or rng.random() < 0.2:
        if rng.random() < 0.5:
            name = rng.choice("abc")
            return al.my[name], f"MY.{name}"
        value = al.expr(rng.choice(_CONSTANTS))
        return value, f"({value})"
    kind = rng.random()
    left, left_text = _tree(rng, depth - 1)
    if kind < 0.1:
        return ~left, f"(!{left_text})"
    if kind < 0.2:
        return -left, f"(-{left_text})"
    right, right_text = _tree(rng, depth - 1)
    if kind < 0.3:
        third, third_text = _tree(rng, depth - 1)
        return left.if_else(right, third), f"({left_text} ? {right_text} : {third_text})"
    if kind < 0.35:
        return left.or_default(right), f"({left_text} ?: {right_text})"
    if kind < 0.4:
        return al.fn.isUndefined(left), f"isUndefined({left_text})"
    word, make, _ = rng.choice(_OPERATORS)
    return make(left, right), f"({left_text} {word} {right_text})"


def test_random_expressions_mean_what_their_brackets_say() -> None:
    program = find_program()
    if program is None:
        pytest.skip("there is no program `allot`")
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    lines, pairs = [], []
    for _ in range(1500):
        made, bracketed = _tree(rng, rng.randrange(1, 6))
        ads = {name: rng.choice([0, 1, 2, 5.5, True, "a"]) for name in "abc" if rng.random() < 0.8}
        pairs.append((str(made), bracketed, ads))
        for text in (str(made), bracketed):
            lines.append(json.dumps({"expr": text, "my": ads, "target": {}}))
    ran = subprocess.run(
        [program, "expr", "eval", "--batch"],
        input="\n".join(lines),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(answers) == len(lines), f"seed {seed}"
    for at, (text, bracketed, ads) in enumerate(pairs):
        ours, meant = answers[2 * at], answers[2 * at + 1]
        assert "error" not in ours, f"seed {seed}: {text}: {ours}"
        assert ours == meant, f"seed {seed}: {text} is not {bracketed} with {ads}"


def _strategy(rng: random.Random, depth: int, policy: bool) -> al.Strategy:
    leaf = [al.Random(), al.Oldest(), al.Newest(), al.Priority(), al.LeastRecent()]
    if depth == 0:
        return al.WorkerStrategy() if policy else rng.choice(leaf)
    inner = _strategy(rng, depth - 1, policy)
    key = rng.choice(["customer", "user", "job", "company_id"])
    kind = rng.randrange(5)
    if kind == 0:
        value = rng.choice(["a", "two words", "true", 7, -7, 2.5, True, 'q"é'])
        return al.SelectOnly("mode", value, inner)
    if kind == 1:
        return al.PreferDistinct(key, rng.randrange(1, 9), inner)
    if kind == 2:
        return al.MaxSimultaneous(key, rng.choice([1, 20, "20%"]), inner)
    if kind == 3:
        return al.Fair(key, inner)
    return al.OrElse(rng.choice(leaf), inner)


def test_random_strategies_come_back_canonical(client: al.Client) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    for _ in range(150):
        made = _strategy(rng, rng.randrange(0, 5), False)
        answer = client.check_strategy(made)
        assert answer["strategy"] == str(made), f"seed {seed}"
        assert answer["json"] == made.to_json(), f"seed {seed}"
        assert client.check_strategy(str(made))["strategy"] == str(made), f"seed {seed}"
        policy = _strategy(rng, rng.randrange(0, 4), True)
        assert client.check_policy(policy)["strategy"] == str(policy), f"seed {seed}"


def test_every_constant_comes_back_as_it_was(client: al.Client) -> None:
    for value in _CONSTANTS:
        spec: Dict[str, Any] = {"requirements": al.my.a.is_(value)}
        assert client.explain("constants", **spec).raw["verdict"]
