# SPDX-License-Identifier: Apache-2.0
"""Expressions of requirements, ranks and limits as Python objects.

    (al.target.memory >= 4096) & (al.target.arch == "x86_64")
    al.fn.regexp("^node", al.target.Name) | al.my.urgent.is_(True)

`target` is the other side (for a job's requirements the worker), `my` the own one, `job` and `machine` whoever owns the
expression, `attr` a name without a side. `&`, `|` and `~` are and, or and not: Python's own words cannot be.
`str()` gives the text.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Iterable, Mapping, NoReturn, Union

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NUMBER_NAME = re.compile(r"[0-9][A-Za-z0-9_]*\Z")  # written in brackets: MY["6"]
_RESERVED = frozenset(("true", "false", "undefined", "error", "is", "isnt", "my", "target", "job", "machine"))

# How tightly operators bind, as docs/reference/expressions.md has them.
(
    _CHOICE,
    _OR,
    _AND,
    _BIT_OR,
    _BIT_XOR,
    _BIT_AND,
    _EQUAL,
    _ORDER,
    _SHIFT,
    _SUM,
    _PRODUCT,
    _UNARY,
    _ATOM,
) = range(13)

Operand = Union["Expr", bool, int, float, str, None, "list[Any]", "tuple[Any, ...]", "dict[str, Any]"]


class Expr:
    """A part of an expression. Comparing and computing with it makes larger ones."""

    __slots__ = ("_text", "_level")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, text: str, level: int = _CHOICE) -> None:
        """An expression of a text, taken as it is."""
        self._text = text
        self._level = level

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Expr({self._text!r})"

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "an expression has no truth here: join with & | ~ (in brackets), not with and, or, not"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError("an expression cannot be gone through")

    def __contains__(self, item: object) -> NoReturn:
        raise TypeError("write fn.member(item, list) for `item in list`")

    # --- Comparing.
    def __eq__(self, other: Operand) -> Expr:  # type: ignore[override]
        return _binary(self, "==", other, _EQUAL)

    def __ne__(self, other: Operand) -> Expr:  # type: ignore[override]
        return _binary(self, "!=", other, _EQUAL)

    def __lt__(self, other: Operand) -> Expr:
        return _binary(self, "<", other, _ORDER)

    def __le__(self, other: Operand) -> Expr:
        return _binary(self, "<=", other, _ORDER)

    def __gt__(self, other: Operand) -> Expr:
        return _binary(self, ">", other, _ORDER)

    def __ge__(self, other: Operand) -> Expr:
        return _binary(self, ">=", other, _ORDER)

    def is_(self, other: Operand) -> Expr:
        """`=?=`: the same in kind and value, case included; never undefined."""
        return _binary(self, "=?=", other, _EQUAL)

    def isnt(self, other: Operand) -> Expr:
        """`=!=`: the opposite of `is_`."""
        return _binary(self, "=!=", other, _EQUAL)

    # --- Joining.
    def __and__(self, other: Operand) -> Expr:
        return _binary(self, "&&", other, _AND)

    def __rand__(self, other: Operand) -> Expr:
        return _binary(other, "&&", self, _AND)

    def __or__(self, other: Operand) -> Expr:
        return _binary(self, "||", other, _OR)

    def __ror__(self, other: Operand) -> Expr:
        return _binary(other, "||", self, _OR)

    def __invert__(self) -> Expr:
        return _unary("!", self)

    def if_else(self, then: Operand, otherwise: Operand) -> Expr:
        """`c ? a : b`."""
        return Expr(f"{_at(self, _OR)} ? {_at(then, _OR)} : {_at(otherwise, _CHOICE)}", _CHOICE)

    def or_default(self, otherwise: Operand) -> Expr:
        """`a ?: b`: the other, where this is undefined."""
        return Expr(f"({_at(self, _ATOM)} ?: {_at(otherwise, _ATOM)})", _ATOM)

    # --- Computing.
    def __add__(self, other: Operand) -> Expr:
        return _binary(self, "+", other, _SUM)

    def __radd__(self, other: Operand) -> Expr:
        return _binary(other, "+", self, _SUM)

    def __sub__(self, other: Operand) -> Expr:
        return _binary(self, "-", other, _SUM)

    def __rsub__(self, other: Operand) -> Expr:
        return _binary(other, "-", self, _SUM)

    def __mul__(self, other: Operand) -> Expr:
        return _binary(self, "*", other, _PRODUCT)

    def __rmul__(self, other: Operand) -> Expr:
        return _binary(other, "*", self, _PRODUCT)

    def __truediv__(self, other: Operand) -> Expr:
        return _binary(self, "/", other, _PRODUCT)

    def __rtruediv__(self, other: Operand) -> Expr:
        return _binary(other, "/", self, _PRODUCT)

    def __mod__(self, other: Operand) -> Expr:
        return _binary(self, "%", other, _PRODUCT)

    def __rmod__(self, other: Operand) -> Expr:
        return _binary(other, "%", self, _PRODUCT)

    def __neg__(self) -> Expr:
        return _unary("-", self)

    def __pos__(self) -> Expr:
        return _unary("+", self)

    def __lshift__(self, other: Operand) -> Expr:
        return _binary(self, "<<", other, _SHIFT)

    def __rshift__(self, other: Operand) -> Expr:
        return _binary(self, ">>", other, _SHIFT)

    def bit_and(self, other: Operand) -> Expr:
        return _binary(self, "&", other, _BIT_AND)

    def bit_or(self, other: Operand) -> Expr:
        return _binary(self, "|", other, _BIT_OR)

    def bit_xor(self, other: Operand) -> Expr:
        return _binary(self, "^", other, _BIT_XOR)

    # --- Selecting.
    def __getitem__(self, key: Operand) -> Expr:
        return Expr(f"{_at(self, _ATOM)}[{_at(key, _CHOICE)}]", _ATOM)

    def field(self, name: str) -> Expr:
        """`a.name` of a record or a list of them."""
        return Expr(f"{_at(self, _ATOM)}.{_checked(name)}", _ATOM)


def _checked(name: str) -> str:
    if not _NAME.match(name):
        raise ValueError(f"`{name}` is no attribute's name: letters, digits and _, no digit first")
    return name


def _binary(left: Operand, operator: str, right: Operand, level: int) -> Expr:
    # What stands on the right binds more tightly: operators of one row go from left to right.
    return Expr(f"{_at(left, level)} {operator} {_at(right, level + 1)}", level)


def _unary(operator: str, operand: Operand) -> Expr:
    return Expr(f"{operator}{_at(operand, _ATOM)}", _UNARY)


def _at(operand: Operand, level: int) -> str:
    made = expr(operand)
    return made._text if made._level >= level else f"({made._text})"


def expr(value: Operand) -> Expr:
    """The expression of a constant, a list, a record, or what is one already."""
    if isinstance(value, Expr):
        return value
    if value is None:
        return Expr("undefined", _ATOM)
    if isinstance(value, bool):
        return Expr("true" if value else "false", _ATOM)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"{value} does not fit into 64 bits")
        return Expr(str(value), _ATOM if value >= 0 else _UNARY)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is not finite")
        return Expr(repr(value).replace("e+", "e"), _ATOM if math.copysign(1, value) > 0 else _UNARY)
    if isinstance(value, str):
        return Expr(json.dumps(value, ensure_ascii=False), _ATOM)
    if isinstance(value, Mapping):
        fields = "; ".join(f"{_checked(key)} = {_at(item, _CHOICE)}" for key, item in value.items())
        return Expr(f"[{fields}]", _ATOM)
    if isinstance(value, (list, tuple)):
        return Expr("{" + ", ".join(_at(item, _CHOICE) for item in value) + "}", _ATOM)
    raise TypeError(f"a {type(value).__name__} is no value of an expression")


class _Scope:
    """Attributes of one side: `target.memory`, or `target["memory"]`."""

    __slots__ = ("_prefix",)

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Expr:
        if not self._prefix and name.lower() in _RESERVED:
            raise ValueError(f"`{name}` cannot stand alone: say whose it is, my or target")
        if self._prefix and _NUMBER_NAME.match(name):
            return Expr(f'{self._prefix[:-1]}["{name}"]', _ATOM)
        return Expr(self._prefix + _checked(name), _ATOM)


class _Functions:
    """The functions of the language: `fn.regexp("^node", target.Name)`. The server knows which there are."""

    __slots__ = ()

    def __getattr__(self, name: str) -> _Function:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Function(_checked(name))


class _Function:
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *arguments: Operand) -> Expr:
        return Expr(f"{self._name}({', '.join(_at(one, _CHOICE) for one in arguments)})", _ATOM)


target = _Scope("TARGET.")
my = _Scope("MY.")
job = _Scope("JOB.")
machine = _Scope("MACHINE.")
attr = _Scope("")
fn = _Functions()
undefined = Expr("undefined", _ATOM)


def all_of(parts: Iterable[Operand]) -> Expr:
    """Joined by `&&`; of nothing it is true."""
    return _joined(parts, "&&", _AND, True)


def any_of(parts: Iterable[Operand]) -> Expr:
    """Joined by `||`; of nothing it is false."""
    return _joined(parts, "||", _OR, False)


def _joined(parts: Iterable[Operand], operator: str, level: int, empty: bool) -> Expr:
    texts = [_at(part, level) for part in parts]
    return Expr(f" {operator} ".join(texts), level if len(texts) > 1 else _CHOICE) if texts else expr(empty)


def text_of(value: Union[Expr, str, int, float, None]) -> Union[str, int, float, None]:
    """What the wire takes for an expression."""
    return str(value) if isinstance(value, Expr) else value
