"""Attributes that a class only counts up."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from stablelint.analysis.files.modules import ClassInfo
from stablelint.syntax.names import called_name
from stablelint.syntax.operations import having
from stablelint.syntax.walk import nodes_below

Number = int | float
_SIZES = having("size") | {"len"}


def least_count(classes: Iterable[ClassInfo], attr: str) -> Number | None:
    """The least number that `self.attr` holds, where these classes start it with numbers and otherwise add to it."""
    starts: list[Number] = []
    for info in classes:
        written = {id(one) for one in nodes_below(info.node, ast.Attribute) if _is_written(one, attr)}
        for target, start in _counted(info.node):
            if id(target) in written:
                written.discard(id(target))
                starts += [] if start is None else [start]
        if written:
            return None
    return min(starts, default=None)


def _is_written(node: ast.Attribute, attr: str) -> bool:
    return node.attr == attr and not isinstance(node.ctx, ast.Load)


def _counted(tree: ast.AST) -> Iterator[tuple[ast.expr, Number | None]]:
    """What is assigned a number, with that number, or added what is not negative, with None."""
    given = [(target, node.value) for node in nodes_below(tree, ast.Assign) for target in node.targets]
    given += [
        (node.target, node.value) for node in nodes_below(tree, ast.AnnAssign) if node.value is not None
    ]
    for target, value in given:
        number = _number(value)
        if number is not None:
            yield target, number
        elif _adds_to(value, target):
            yield target, None
    for step in nodes_below(tree, ast.AugAssign):
        if isinstance(step.op, ast.Add) and _is_count(step.value):
            yield step.target, None


def _adds_to(node: ast.expr, target: ast.expr) -> bool:
    """Whether an expression is `target + n`."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and ast.unparse(node.left) == ast.unparse(target)
        and _is_count(node.right)
    )


def _is_count(node: ast.expr) -> bool:
    """Whether an expression is a number that is not negative, by its text: `1`, `len(x)`, `x.size(0)`, `x.shape[0]`."""
    if isinstance(node, ast.Call):
        return called_name(node) in _SIZES
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    number = _number(node)
    return number is not None and number >= 0


def _number(node: ast.expr) -> Number | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, Number) and not isinstance(value, bool) else None
