"""The word of the sieve that an expression stands for: `nn.BCELoss()`, `torch.exp`, `-math.inf`, a large number."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from stablelint.syntax.names import last_name

INIT = "torch.nn.init"
LARGE = 1000.0
BIG = 2.0
PARAMETER = "parameter"  # what a name holds: it is made once, and not again where the name is read
NUMBERS = {
    "nan": "nan",
    "NaN": "nan",
    "NAN": "nan",
    "inf": "inf",
    "Inf": "inf",
    "-inf": "inf",
    "infinity": "inf",
}


@lru_cache(maxsize=8192)
def word_of_name(qualified: str) -> str:
    """The word that a qualified name stands for: its last component, marked where it initialises."""
    if qualified.startswith(f"{INIT}."):
        return "init" + qualified.removeprefix(INIT)
    return qualified.rpartition(".")[2]


def origin(node: ast.expr, imports: Mapping[str, str]) -> str:
    """What the name at the start of a dotted expression is imported as; "" where it is not."""
    while type(node) is ast.Attribute:
        node = node.value
    return imports.get(node.id, "") if type(node) is ast.Name else ""


def assigned_word(value: ast.expr, imports: Mapping[str, str]) -> str:
    """The word that a value stands for; "" where there is none."""
    find = _WORDS.get(type(value))
    return "" if find is None else find(value, imports)


def _word_of_choice(value: ast.BoolOp, imports: Mapping[str, str]) -> str:
    return next(filter(None, (assigned_word(v, imports) for v in value.values)), "")


def _word_of_branches(value: ast.IfExp, imports: Mapping[str, str]) -> str:
    return assigned_word(value.body, imports) or assigned_word(value.orelse, imports)


def _word_of_constant(value: ast.Constant, imports: Mapping[str, str]) -> str:
    number: Any = value.value
    if type(number) not in (int, float) or number <= BIG:
        return ""
    return "large" if number >= LARGE else "big"


def _word_of_call(value: ast.Call, imports: Mapping[str, str]) -> str:
    name = last_name(value.func)
    if name == "float" and value.args and isinstance(value.args[0], ast.Constant):
        return NUMBERS.get(str(value.args[0].value), "")
    if name == "partial" and value.args:
        return assigned_word(value.args[0], imports)
    name = word_of_name(imports.get(name, name))
    if name == "Parameter":
        return PARAMETER
    return name if name[:1].isupper() else ""


def _word_of_attribute(value: ast.Attribute, imports: Mapping[str, str]) -> str:
    number = NUMBERS.get(value.attr, "")
    return number or (value.attr if origin(value, imports).startswith("torch") else "")


_WORDS: dict[type[ast.expr], Callable[[Any, Mapping[str, str]], str]] = {
    ast.BoolOp: _word_of_choice,
    ast.IfExp: _word_of_branches,
    ast.UnaryOp: lambda value, imports: assigned_word(value.operand, imports),
    ast.Constant: _word_of_constant,
    ast.Call: _word_of_call,
    ast.Attribute: _word_of_attribute,
    ast.Name: lambda value, imports: word_of_name(imports.get(value.id, "")),
}
