"""What the autograd graph of a loss tells before it is walked backwards: saved values, broadcasts, parameters.

Nothing is recomputed: nodes keep the results their gradients need, and those are read in place.
"""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate, combinations
from typing import Any

import torch

from stablelint.runtime.audit.values import dense
from stablelint.runtime.process.traceback import OWN
from stablelint.runtime.tracing.graph import Row, nodes_of, row_of, saved, variable_of

Crossed = tuple[tuple[int, ...], tuple[int, ...], Row | None]
"""A column or a row, the square that another made of it, and where."""
Misread = tuple[tuple[int, ...], tuple[int, ...], Row | None]
"""The sizes of a tensor, what a view reads them as that puts some before others, and where."""
_VIEWS = {  # of the overloads, which are numbered, all
    f"{one}Backward"
    for one in "ToCopy View UnsafeView Squeeze Unsqueeze Reshape ReshapeAlias Alias "
    "Select Slice Transpose Permute Expand".split()
}
_RESHAPED = ("ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0")
_SATURATED = {"SigmoidBackward0": 0.98, "TanhBackward0": 0.98}  # distance from the middle, in half ranges
# By operation: what it saved, and from the magnitudes of that how far the operand is from its edge (0, 1, infinity).
_OPERANDS: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "LogBackward0": ("_saved_self", lambda low, high: low),
    "Log2Backward0": ("_saved_self", lambda low, high: low),
    "SqrtBackward0": ("_saved_result", lambda low, high: low * low),
    "PowBackward0": ("_saved_self", lambda low, high: low),
    "StdBackward0": ("_saved_result", lambda low, high: low),
    "RsqrtBackward0": ("_saved_result", lambda low, high: high**-2 if high else math.inf),
    "DivBackward0": ("_saved_other", lambda low, high: low),
    "ReciprocalBackward0": ("_saved_result", lambda low, high: 1 / high if high else math.inf),
    "ExpBackward0": ("_saved_result", lambda low, high: 1 / high if high else math.inf),
    "AcosBackward0": ("_saved_self", lambda low, high: 1 - high),
    "AsinBackward0": ("_saved_self", lambda low, high: 1 - high),
}


@dataclass(slots=True)
class UnitFacts:
    """How the units of an activation behaved in one pass; `near` is the parameter whose layer feeds it."""

    operation: str
    near: int | None
    alive: torch.Tensor  # by unit: gave anything but zero (ReLU), or its ends (Hardtanh)
    saturated: float  # share of the elements
    row: Row | None  # of the expression


@dataclass(slots=True)
class OperandFacts:
    """How near an operand comes to the edge of a contract."""

    operation: str
    distance: float  # of a finite element to the edge of the contract, at least
    row: Row | None  # of the expression


@dataclass(slots=True)
class GraphFacts:
    """What was read from one graph."""

    reached: set[int] = field(default_factory=set)  # identities of the parameters
    units: list[UnitFacts] = field(default_factory=list)
    operands: list[OperandFacts] = field(default_factory=list)
    kept: Callable[[], object] = lambda: None  # None as soon as the graph is freed
    crossed: Crossed | None = None
    misread: Misread | None = None


def read_graph(root: Any, since: int) -> GraphFacts:
    """The facts of the graph of a loss; `since` is the sequence number from which nodes are new."""
    facts = GraphFacts()
    oldest = root
    for node in nodes_of(root):
        name = node.name()
        variable = variable_of(node)
        if variable is not None:
            facts.reached.add(id(variable))
            continue
        if since <= node._sequence_nr() < oldest._sequence_nr():
            oldest = node
        if name in ("ReluBackward0", "HardtanhBackward0", *_SATURATED):
            values = _results(node, name)
            if values is not None and values.numel():
                facts.units.append(_units(node, name, values))
        elif name in _OPERANDS:
            operand = _operand(node, name)
            if operand is not None:
                facts.operands.append(operand)
        elif name in ("SubBackward0", "AddBackward0") and facts.crossed is None:
            facts.crossed = _crossed(node)
        elif name in _RESHAPED and facts.misread is None:
            facts.misread = _misread(node)

    def mark(*_: object) -> None:
        """On the oldest node of the graph: it lives as long as anything made from it."""

    facts.kept = weakref.ref(mark)
    oldest.register_hook(mark)
    return facts


def maker_of(tensor: torch.Tensor) -> str | None:
    """The operation that made a tensor, or what it is a view of; None without a graph."""
    node = _maker(tensor)
    while node is not None and node.name() == "IndexBackward0" and node.next_functions[0][0] is not None:
        node = _behind_views(node.next_functions[0][0])
    return _called(node.name()) if node is not None else None


def rows_taken(tensor: torch.Tensor) -> torch.Tensor | None:
    """The numbers of the rows that a tensor takes of another one; None where it takes none by number or by a mask."""
    node = _maker(tensor)
    first = node._saved_indices[0] if node is not None and node.name() == "IndexBackward0" else None
    return first.nonzero().flatten() if first is not None and first.dtype is torch.bool else first


def _maker(tensor: torch.Tensor) -> Any:
    return _behind_views(tensor.grad_fn)


def _behind_views(node: Any) -> Any:
    while node is not None and node.name().rstrip("0123456789") in _VIEWS and node.next_functions:
        node = node.next_functions[0][0]
    return node


def _results(node: Any, name: str) -> torch.Tensor | None:
    """What an activation gave: of one with two ends, zero where it is at one of them and passes no gradient."""
    if name != "HardtanhBackward0":
        return saved(node, "_saved_result")
    values = saved(node, "_saved_self")
    if values is None:
        return None
    return torch.gt(values, node._saved_min_val) & torch.lt(values, node._saved_max_val)


def _units(node: Any, name: str, values: torch.Tensor) -> UnitFacts:
    flat = dense(values)
    channels = 1 if flat.dim() >= 4 else flat.dim() - 1
    alive = flat != 0
    if flat.dim():
        alive = alive.movedim(channels, -1).reshape(-1, flat.shape[channels]).any(0)
    edge = _SATURATED.get(name)
    share = 0.0
    if edge is not None:
        distance = flat.abs() if name == "TanhBackward0" else (2 * flat - 1).abs()
        share = float((distance > edge).float().mean())
    nearby = (variable_of(other) for other in nodes_of(node, 24))
    near = next((id(one) for one in nearby if one is not None and one.dim() > 1), None)
    return UnitFacts(_called(name), near, alive, share, row_of(node))


def _operand(node: Any, name: str) -> OperandFacts | None:
    attribute, distance = _OPERANDS[name]
    kept = saved(node, attribute)
    if kept is None or getattr(node, "_saved_exponent", 0) >= 1:
        return None
    values = dense(kept)
    values = values[torch.isfinite(values)]
    if not values.numel():
        return None
    low, high = torch.aminmax(values.abs())
    return OperandFacts(_called(name), distance(float(low), float(high)), row_of(node))


def _crossed(node: Any) -> Crossed | None:
    """A column that met a row: the result is a square though an operand was a column or a row of its length."""
    (result,) = (tuple(one.shape) for one in node._input_metadata)
    if len(result) != 2 or result[0] != result[1] or result[0] < 2:
        return None
    for other, index in node.next_functions:
        if other is None:
            continue
        shape = tuple(other._input_metadata[index].shape)
        if shape in ((result[0], 1), (result[0],)):
            return shape, result, row_of(node)
    return None


def _misread(node: Any) -> Misread | None:
    """A view of the program's that takes (N, channels, height, width) for (N, height x width, channels)."""
    given = tuple(int(size) for size in node._saved_self_sym_sizes)
    (read,) = (tuple(one.shape) for one in node._input_metadata)
    ours, theirs = ([size for size in sizes if size != 1] for sizes in (given, read))
    if len(ours) < max(2, len(theirs)) or _is_merged(ours, theirs):
        return None
    row, calls = row_of(node), [one for one in node.metadata.get("traceback_", ()) if OWN not in one]
    if row is None or f'"{row[0]}", line {row[1]},' not in calls[-1]:
        return None  # a library's own, such as that of heads in a batch
    for first, middle, last in combinations(range(len(ours) + 1), 3):
        exchanged = [*ours[:first], *ours[middle:last], *ours[first:middle], *ours[last:]]
        if len(theirs) > 1 and _is_merged(exchanged, theirs):
            return given, read, row
    return None


def _is_merged(sizes: list[int], merged: list[int]) -> bool:
    """Whether products of neighbours among sizes give others."""
    ends = set(accumulate(sizes, operator.mul))
    return ends.issuperset(accumulate(merged, operator.mul))


def _called(name: str) -> str:
    """The operation of a node."""
    return name.removesuffix("Backward0").lower()
