"""Attributes, and entries of mappings, that a class only counts up."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from stablelint.analysis.files.modules import ClassInfo
from stablelint.records import dataclass, field
from stablelint.syntax.names import called_name
from stablelint.syntax.operations import having
from stablelint.syntax.walk import nodes_below

Number = int | float
_Place = tuple[type[ast.expr], object]
_SIZES = having("size") | {"len"}
_BLANK = having("blank") - having("like") - {"empty"}


@dataclass
class _Tally:
    """What a class does to a place: the numbers that it starts from, None for what else is written there, and steps."""

    starts: list[Number | None] = field(default_factory=list)
    steps: int = 0
    in_memory: bool = False  # it may hold a tensor, into which another name can write

    def start(self, node: ast.expr) -> None:
        """Notes what the place is assigned."""
        self.starts.append(_start(node))
        self.in_memory = self.in_memory or isinstance(node, ast.Call)


def least_count(classes: Sequence[ClassInfo], attr: str) -> Number | None:
    """The least number that `self.attr` holds, where these classes start it with numbers and otherwise add to it.

    What a body that was not kept assigns is not known.
    """
    unseen = any(attr in info.assigned_unseen for info in classes)
    return None if unseen else _least(classes, (ast.Attribute, attr))


def least_entry(classes: Iterable[ClassInfo], key: str) -> Number | None:
    """The least number that `state[key]` holds, where these classes start it with numbers and otherwise add to it."""
    return _least(classes, (ast.Subscript, key))


def _least(classes: Iterable[ClassInfo], place: _Place) -> Number | None:
    """None where it is not known, or a tensor is there and nothing shows that it counts."""
    seen = [tallies[place] for info in classes if place in (tallies := _tallies_of(info.node))]
    known = [start for tally in seen for start in tally.starts if start is not None]
    counts = any(tally.steps for tally in seen) or not any(tally.in_memory for tally in seen)
    return min(known, default=None) if counts and all(None not in tally.starts for tally in seen) else None


def _tallies_of(tree: ast.AST) -> dict[_Place, _Tally]:
    """All that is written, by place; the tree itself remembers it."""
    known: dict[_Place, _Tally] | None = tree.__dict__.get("_tallies")
    if known is None:
        known = tree.__dict__["_tallies"] = _tallied(tree)
    return known


def _tallied(tree: ast.AST) -> dict[_Place, _Tally]:
    tallies: defaultdict[_Place, _Tally] = defaultdict(_Tally)
    places: list[ast.Attribute | ast.Subscript] = [*nodes_below(tree, ast.Attribute)]
    places += nodes_below(tree, ast.Subscript)
    stored = (node for node in places if not isinstance(node.ctx, ast.Load))
    written = {id(node): place for node in stored if (place := _place(node)) is not None}
    for target, start in _counted(tree):
        if (place := written.pop(id(target), None)) is None:
            continue
        if start is None:
            tallies[place].steps += 1
        else:
            tallies[place].start(start)
    for place in written.values():
        tallies[place].starts.append(None)
    for call in nodes_below(tree, ast.Call):
        _tally_call(call, tallies)
    return tallies


def _tally_call(call: ast.Call, tallies: defaultdict[_Place, _Tally]) -> None:
    """Notes what a call registers, or does to a tensor in place."""
    method = call.func
    if (
        called_name(call) == "register_buffer"
        and len(call.args) > 1
        and isinstance(call.args[0], ast.Constant)
    ):
        tallies[ast.Attribute, call.args[0].value].start(call.args[1])
    elif isinstance(method, ast.Attribute) and method.attr.endswith("_"):
        place = _place(method.value)
        if place is None:
            return
        if method.attr == "add_" and len(call.args) == 1 and not call.keywords and _is_count(call.args[0]):
            tallies[place].steps += 1
        else:
            tallies[place].starts.append(None)


def _place(node: ast.expr) -> _Place | None:
    """An attribute by its name, or an entry by its key, whatever they belong to."""
    if isinstance(node, ast.Attribute):
        return ast.Attribute, node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return ast.Subscript, node.slice.value
    return None


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
