"""What a test comes to for the defaults of parameters: the path that a program takes unless a caller says otherwise."""

from __future__ import annotations

import ast
from collections.abc import Callable

from stablelint.analysis.values.value import Value

_QUANTIFIERS: dict[str, Callable[[list[bool]], bool]] = {"python.and": all, "python.or": any}


def usually(test: Value, depth: int = 4) -> bool | None:
    """How a test comes out for the defaults of the parameters that it speaks of; None where they do not decide it."""
    if depth == 0:
        return None
    parts = list(test.operands.values())
    if test.op in ("logical_not", "python.not") and parts:
        inner = usually(parts[0], depth - 1)
        return None if inner is None else not inner
    if test.op in _QUANTIFIERS:
        return _quantified(test.op, [usually(part, depth - 1) for part in parts])
    if test.op in ("eq", "ne") and len(parts) == 2 and any(part.assumed for part in parts):
        same = _are_same(parts[0].constant(), parts[1].constant())
        return None if same is None else same == (test.op == "eq")
    if test.op == "const" and test.assumed:
        return bool(test.data)
    return _flag(test) if test.op == "argument" else None


def _quantified(op: str, parts: list[bool | None]) -> bool | None:
    """A conjunction is decided by one false part, a disjunction by one true part."""
    decisive = op == "python.or"
    if decisive in parts:
        return decisive
    known = [part for part in parts if part is not None]
    return _QUANTIFIERS[op](known) if len(known) == len(parts) else None


def _are_same(one: object, other: object) -> bool | None:
    if not isinstance(one, str | int | float) or not isinstance(other, str | int | float):
        return None
    return one == other


def _flag(argument: Value) -> bool | None:
    """The default of a parameter that is True or False."""
    node = getattr(argument.data, "node", None)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return None
    signature = node.args
    placed = [*signature.posonlyargs, *signature.args]
    defaults = [*zip(reversed(placed), reversed(signature.defaults), strict=False)]
    defaults += [
        (p, d) for p, d in zip(signature.kwonlyargs, signature.kw_defaults, strict=True) if d is not None
    ]
    for parameter, default in defaults:
        if parameter.arg == argument.name and isinstance(default, ast.Constant):
            return default.value if isinstance(default.value, bool) else None
    return None
