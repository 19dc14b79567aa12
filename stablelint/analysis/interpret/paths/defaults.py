"""What a test comes to for the defaults of parameters: the path that a program takes unless a caller says otherwise."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Any

from stablelint.analysis.values.paths import NEITHER, Assumption, Usual
from stablelint.analysis.values.value import Kind, Value
from stablelint.syntax.signatures import defaults_of

_QUANTIFIERS: dict[str, Callable[[list[bool]], bool]] = {"python.and": all, "python.or": any}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_DEPTH = 4


def usually(test: Value) -> Usual:
    """How a test comes out for the defaults of the parameters that it speaks of."""
    truth = _truth(test, _DEPTH)
    if truth is None:
        return NEITHER
    return Usual(truth, tuple(dict.fromkeys(_settings(test, _DEPTH))), not _asks_for_none(test, _DEPTH))


def _asks_for_none(test: Value, depth: int) -> bool:
    return test.op == "python.is" or (
        depth > 0 and any(_asks_for_none(v, depth - 1) for v in test.operands.values())
    )


def _truth(test: Value, depth: int) -> bool | None:
    if depth == 0:
        return None
    parts = list(test.operands.values())
    if test.op in ("logical_not", "python.not") and parts:
        inner = _truth(parts[0], depth - 1)
        return None if inner is None else not inner
    if test.op in _QUANTIFIERS:
        return _quantified(test.op, [_truth(part, depth - 1) for part in parts])
    if test.op in _COMPARISONS and len(parts) == 2 and any(part.assumed for part in parts):
        return _compared(test.op, parts[0].default(), parts[1].default())
    if test.op == "python.is" and len(parts) == 2 and parts[1].kind is Kind.NONE:
        default = default_of(parts[0])
        return default.value is None if default is not None else None
    if test.op == "const" and test.assumed:
        return bool(test.data)
    default = default_of(test)
    return default.value if default is not None and isinstance(default.value, bool) else None


def _settings(test: Value, depth: int) -> Iterator[Assumption]:
    """The defaults that a test speaks of."""
    if test.belief is not None:
        yield from test.belief.on
    default = default_of(test)
    if default is not None:
        yield Assumption(f"{test.name}={ast.unparse(default)}")
    for part in test.operands.values() if depth else ():
        yield from _settings(part, depth - 1)


def _quantified(op: str, parts: list[bool | None]) -> bool | None:
    """A conjunction is decided by one false part, a disjunction by one true part."""
    decisive = op == "python.or"
    if decisive in parts:
        return decisive
    known = [part for part in parts if part is not None]
    return _QUANTIFIERS[op](known) if len(known) == len(parts) else None


def _compared(op: str, one: object, other: object) -> bool | None:
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    texts = op in ("eq", "ne") and isinstance(one, str | int | float) and isinstance(other, str | int | float)
    return _COMPARISONS[op](one, other) if numbers or texts else None


def default_of(argument: Value) -> ast.Constant | None:
    """The default of a parameter that nobody has bound, where that is written as a constant."""
    node = getattr(argument.data, "node", None) if argument.op == "argument" else None
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return None
    for parameter, default in defaults_of(node):
        if parameter.arg == argument.name and isinstance(default, ast.Constant):
            return default
    return None
