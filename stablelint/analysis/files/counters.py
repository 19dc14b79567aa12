"""Attributes, and entries of mappings, that a class only counts up."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from stablelint.analysis.files.modules import ClassInfo
from stablelint.syntax.names import called_name
from stablelint.syntax.operations import having
from stablelint.syntax.walk import nodes_below

Number = int | float
_SIZES = having("size") | {"len"}
_BLANK = having("blank") - having("like") - {"empty"}


@dataclass
class _Tally:
    """What is seen of a place: the numbers that it starts from, None for what else is written there, and steps."""

    starts: list[Number | None] = field(default_factory=list)
    steps: int = 0
    in_memory: bool = False  # it may hold a tensor, into which another name can write

    def start(self, node: ast.expr) -> None:
        """Notes what the place is assigned."""
        self.starts.append(_start(node))
        self.in_memory = self.in_memory or isinstance(node, ast.Call)

    @property
    def least(self) -> Number | None:
        """The least number there; None where it is not known, or a tensor is there and nothing shows that it counts."""
        known = [start for start in self.starts if start is not None]
        if len(known) < len(self.starts) or (self.in_memory and not self.steps):
            return None
        return min(known, default=None)


def least_count(classes: Iterable[ClassInfo], attr: str) -> Number | None:
    """The least number that `self.attr` holds, where these classes start it with numbers and otherwise add to it."""
    tally = _Tally()
    for info in classes:
        _count(info.node, lambda node: isinstance(node, ast.Attribute) and node.attr == attr, tally)
        registered = (c for c in nodes_below(info.node, ast.Call) if called_name(c) == "register_buffer")
        for call in registered:
            if len(call.args) > 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value == attr:
                tally.start(call.args[1])
    return tally.least


def least_entry(classes: Iterable[ClassInfo], key: str) -> Number | None:
    """The least number that `state[key]` holds, where these classes start it with numbers and otherwise add to it."""
    tally = _Tally()
    for info in classes:
        _count(info.node, lambda node: _is_entry(node, key), tally)
    return tally.least


def _count(tree: ast.AST, is_place: Callable[[ast.expr], bool], tally: _Tally) -> None:
    """Notes all that is written at a place."""
    written = {id(one) for one in nodes_below(tree, ast.Attribute) if is_place(one) and _is_stored(one)}
    written |= {id(one) for one in nodes_below(tree, ast.Subscript) if is_place(one) and _is_stored(one)}
    for target, start in _counted(tree):
        if id(target) in written:
            written.discard(id(target))
            if start is None:
                tally.steps += 1
            else:
                tally.start(start)
    tally.starts += [None for _ in written]
    for call in nodes_below(tree, ast.Call):
        method = call.func
        if isinstance(method, ast.Attribute) and method.attr.endswith("_") and is_place(method.value):
            adds = (
                method.attr == "add_"
                and len(call.args) == 1
                and not call.keywords
                and _is_count(call.args[0])
            )
            tally.steps += adds
            tally.starts += [] if adds else [None]


def _is_stored(node: ast.Attribute | ast.Subscript) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _is_entry(node: ast.expr, key: str) -> bool:
    return (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == key
    )


def _counted(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """What is assigned a number, with that expression, or added what is not negative, with None."""
    given = [(target, node.value) for node in nodes_below(tree, ast.Assign) for target in node.targets]
    given += [
        (node.target, node.value) for node in nodes_below(tree, ast.AnnAssign) if node.value is not None
    ]
    for target, value in given:
        if _start(value) is not None:
            yield target, value
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
