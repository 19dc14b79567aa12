"""Attributes, and entries of mappings, that a class only counts up."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from stablelint.analysis.files.modules import ClassInfo
from stablelint.syntax.names import called_name
from stablelint.syntax.operations import having
from stablelint.syntax.walk import nodes_below

Number = int | float
_SIZES = having("size") | {"len"}
_BLANK = having("blank") - having("like") - {"empty"}


def least_count(classes: Iterable[ClassInfo], attr: str) -> Number | None:
    """The least number that `self.attr` holds, where these classes start it with numbers and otherwise add to it."""
    found: list[Number | None] = []
    for info in classes:
        found += _starts(info.node, lambda node: isinstance(node, ast.Attribute) and node.attr == attr)
        registered = (c for c in nodes_below(info.node, ast.Call) if called_name(c) == "register_buffer")
        for call in registered:
            if len(call.args) > 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value == attr:
                found.append(_start(call.args[1]))
    return _least(found)


def least_entry(info: ClassInfo, key: str) -> Number | None:
    """The least number that `state[key]` holds, where a class starts it with numbers and otherwise adds to it."""
    return _least(list(_starts(info.node, lambda node: _is_entry(node, key))))


def _least(starts: list[Number | None]) -> Number | None:
    known = [start for start in starts if start is not None]
    return min(known) if known and len(known) == len(starts) else None


def _starts(tree: ast.AST, is_place: Callable[[ast.expr], bool]) -> Iterator[Number | None]:
    """The numbers that a place starts from; None for what else is written there than that and what is added."""
    written = {id(one) for one in nodes_below(tree, ast.Attribute) if is_place(one) and _is_stored(one)}
    written |= {id(one) for one in nodes_below(tree, ast.Subscript) if is_place(one) and _is_stored(one)}
    for target, start in _counted(tree):
        if id(target) in written:
            written.discard(id(target))
            yield from () if start is None else (start,)
    yield from (None for _ in written)
    for call in nodes_below(tree, ast.Call):
        method = call.func
        if isinstance(method, ast.Attribute) and method.attr.endswith("_") and is_place(method.value):
            if method.attr != "add_" or len(call.args) != 1 or call.keywords or not _is_count(call.args[0]):
                yield None


def _is_stored(node: ast.Attribute | ast.Subscript) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _is_entry(node: ast.expr, key: str) -> bool:
    return (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == key
    )


def _counted(tree: ast.AST) -> Iterator[tuple[ast.expr, Number | None]]:
    """What is assigned a number, with that number, or added what is not negative, with None."""
    given = [(target, node.value) for node in nodes_below(tree, ast.Assign) for target in node.targets]
    given += [
        (node.target, node.value) for node in nodes_below(tree, ast.AnnAssign) if node.value is not None
    ]
    for target, value in given:
        number = _start(value)
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


def _start(node: ast.expr) -> Number | None:
    """The number that is written, also as a tensor: `0`, `torch.tensor(0)`, `torch.zeros(1)`."""
    if not isinstance(node, ast.Call):
        return _number(node)
    name = called_name(node)
    if name in _BLANK:
        return 0
    return _number(node.args[0]) if name == "tensor" and node.args else None


def _number(node: ast.expr) -> Number | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, Number) and not isinstance(value, bool) else None
