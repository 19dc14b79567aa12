"""Readers of a tensor that look only at the order of its elements, which softmax, sigmoid and the like keep."""

from __future__ import annotations

import ast
import re

from stablelint.syntax.names import called_name
from stablelint.syntax.operations import PLACES

_BOTH = frozenset({"max", "min", "topk", "sort"})  # values and indices
_MONOTONE = re.compile(r"(log_?)?(softmax|sigmoid)", re.IGNORECASE)


def keeps_order(node: ast.AST) -> bool:
    """Whether a call is one of an increasing function, by the name it has: ``torch.softmax(x, -1)``."""
    return isinstance(node, ast.Call) and _MONOTONE.fullmatch(called_name(node)) is not None


def order_readers(scope: ast.AST, text: str) -> set[ast.AST]:
    """The places in `scope` at which the name (or dotted name) `text` is read for the order of its elements.

    ``p.argmax(-1)``, ``torch.argmax(p)``, ``p.max(1)[1]``, ``p.topk(5).indices``, ``_, best = p.max(1)``.
    """
    found: set[ast.AST] = set()
    for node in ast.walk(scope):
        call: ast.AST | None = None
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 1:
            call = node.value
        elif isinstance(node, ast.Attribute) and node.attr == "indices":
            call = node.value
        elif isinstance(node, ast.Assign) and _ignores_values(node.targets):
            call = node.value
        if call is not None and (operand := _operand(call, _BOTH, text)) is not None:
            found.add(operand)
        if (operand := _operand(node, PLACES, text)) is not None:
            found.add(operand)
    return found


def _ignores_values(targets: list[ast.expr]) -> bool:
    if len(targets) != 1 or not isinstance(targets[0], ast.Tuple) or len(targets[0].elts) != 2:
        return False
    first = targets[0].elts[0]
    return isinstance(first, ast.Name) and first.id.startswith("_")


def _operand(node: ast.AST, names: frozenset[str], text: str) -> ast.AST | None:
    """The operand `text` of a call of one of the methods or functions."""
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.func.attr not in names
    ):
        return None
    candidates = [node.func.value, *node.args[:1]]
    return next((one for one in candidates if ast.unparse(one) == text), None)
