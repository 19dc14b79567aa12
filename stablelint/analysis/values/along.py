"""Where the dimension stands along which elements were selected, as views, reductions and other operands move it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from stablelint.analysis.values.indexing import keeps_all, parts_of
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.value import Kind, Value
from stablelint.records import dataclass, replace
from stablelint.syntax.operations import VIEWS, having

_REARRANGING = having("layout") - {"flip", "roll"}
_PICKING = having("pick")
_SEVERAL = having("several") | {"chunk", "split"}
_REDUCTIONS = having("reduce")
_OF_ONE_OPERAND = VIEWS | having("row", "running", "cut", "whole") | {"phi"}
_NUMERALS = {1: "one dimension", 2: "two dimensions"}


@dataclass(frozen=True, slots=True)
class Along:
    """Its place from the first dimension and from the last one on, if known, and how many dimensions there are at least.

    That many there are as a rule; what else must hold for the places is `on`.
    """

    front: int | None = None
    back: int | None = None
    rank: int = 0
    on: tuple[Assumption, ...] = ()

    def spared_by(self, operands: Mapping[str, Value]) -> tuple[Assumption, ...] | None:
        """What must hold for a reduction to run along other dimensions; None where it need not."""
        on = dict.fromkeys(self.on)
        dims = _numbers(operands.get("dim"))
        for dim in dims:
            rests = self._spared_by(dim)
            if rests is None:
                return None
            on.update(dict.fromkeys(rests))
        return tuple(on) if dims else None

    def _spared_by(self, dim: int) -> tuple[Assumption, ...] | None:
        own, other = (self.front, self.back) if dim >= 0 else (self.back, self.front)
        if own is not None:
            return None if own == dim else ()
        if other is None or (dim - other) % max(self.rank, 1) == 0:
            return None
        return (
            Assumption(f"what is selected has more than {_NUMERALS.get(self.rank - 1, 'a few dimensions')}"),
        )

    def reduced(self, operands: Mapping[str, Value]) -> Along | None:
        """Where it stands in what a reduction leaves; None where that has one element of it, if not of others."""
        named = operands.get("dim")
        if named is None or named.kind is Kind.NONE:
            return None
        if any(dim == (self.front if dim >= 0 else self.back) for dim in _numbers(named)):
            return None
        if self.spared_by(operands) is None:
            return UNKNOWN
        keeps = operands.get("keepdim")
        if keeps is not None and keeps.constant() is not False:
            return self if keeps.constant() is True else UNKNOWN
        dims, front, back = _numbers(operands.get("dim")), self.front, self.back
        if front is not None:  # one that is counted from the last is assumed to stand behind it
            front -= sum(0 <= dim < front for dim in dims)
        if back is not None:
            back += sum(back < dim < 0 for dim in dims)
        return replace(self, front=front, back=back, rank=self.rank - len(dims))

    def after(self, value: Value, part: Value, beside: Sequence[Value]) -> Along | None:
        """Where it stands in `value`, made of `part` and what is `beside`; None where that has elements, or raises."""
        if value.op in ("index", "select"):
            return self._indexed(value, part)
        if value.op == "stack":
            return self._lengthened(value.data if isinstance(value.data, Value) else None)
        if value.op == "unsqueeze":
            dim = value.operands["dim"]
            return self._lengthened(dim) if dim.kind is not Kind.SEQUENCE else self._taken(parts_of(dim))
        if value.op in _REARRANGING:
            return self._laid_out(value)
        if value.op in _PICKING or value.op in ("part", "outer"):
            same = (
                value.op in ("narrow", "chunk", "split", "sort", "gather", "take_along_dim")
                and value.first is part
            )
            of_split = value.op == "part" and part.op in _SEVERAL
            return self if same or of_split else UNKNOWN
        if value.op in _OF_ONE_OPERAND:
            return self
        on = [
            Assumption(f"{v.name or 'what it is combined with'} adds no dimension")
            for v in beside
            if v.op not in _REDUCTIONS or "dim" in v.operands
        ]
        return replace(self, on=tuple(dict.fromkeys((*self.on, *on))))

    def _indexed(self, value: Value, part: Value) -> Along | None:
        if value.op == "select":
            return UNKNOWN
        index = value.operands["index"]
        if part.op in _SEVERAL:  # `x.sort(0)[0]`
            return self
        if part.op == "unbind":
            return UNKNOWN
        if value.first is not part:  # `y[x[mask]]`
            return replace(self, back=None, rank=2) if index is part else UNKNOWN
        return self._taken(parts_of(index))

    def _taken(self, parts: Sequence[Value]) -> Along | None:
        """Where it stands in what an index takes; None where it takes what must be there."""
        if self.front is None or any(p.is_constant and p.data is Ellipsis for p in parts):
            return self if self.back is not None and all(map(keeps_all, parts)) else UNKNOWN
        added = sum(part.kind is Kind.NONE for part in parts)
        rank = self.rank + added - sum(part.kind is Kind.NUMBER for part in parts)
        here = left = 0
        for place, part in enumerate(parts):
            if part.kind is Kind.NONE:
                left += 1
            elif here == self.front:
                back = -len(parts[place:]) if self.back == -1 else None
                return replace(self, front=left, back=back, rank=rank) if part.op == "slice" else None
            elif part.op != "slice" and part.kind is not Kind.NUMBER:
                return UNKNOWN
            else:
                here, left = here + 1, left + (part.op == "slice")
        return replace(self, front=self.front + left - here, rank=rank)

    def _lengthened(self, dim: Value | None) -> Along:
        """Where it stands once a dimension is added."""
        number = dim.constant() if dim is not None else 0
        if not isinstance(number, int):
            return UNKNOWN
        front, back = self.front, self.back
        if front is not None:
            front = front + (0 <= number <= front) if number >= 0 or number == -1 else None
        if back is not None:
            back = back - (number >= back) if number < 0 else back if number == 0 else None
        return replace(self, front=front, back=back, rank=self.rank + 1)

    def _laid_out(self, view: Value) -> Along | None:
        """Where it stands in another layout."""
        sizes = list(view.operands.values())[1:]
        sizes = list(sizes[0].data) if sizes and sizes[0].kind is Kind.SEQUENCE else sizes
        if view.op == "view" and not isinstance(view.node, ast.Call):
            return self
        if view.op in ("expand", "repeat"):
            return replace(self, front=None)
        if view.op == "squeeze" and self.front == 0:
            return replace(self, back=None, rank=self.rank - 1)
        if view.op == "flatten" and not sizes:
            return FLAT
        if view.op == "flatten" and self.front == 0 and sizes[0].interval.lo >= 1:
            return replace(self, back=None)
        if view.op != "view" or not sizes:
            return UNKNOWN
        rest = next((i for i, size in enumerate(sizes) if size.constant() == -1), None)
        if rest is None:
            return None if len(sizes) > 1 else UNKNOWN
        return Along(rest, rest - len(sizes), len(sizes), self.on)


UNKNOWN = Along()
FLAT = Along(0, -1, 1)
"""All that there is, in one dimension."""


def along_index(index: Value, taking: Value) -> Along:
    """Where it stands in what an index takes, of whose parts `taking` may take none."""
    parts = parts_of(index)
    place = next((i for i, part in enumerate(parts) if part is taking), None)
    if place is None or any(part.kind in (Kind.TENSOR, Kind.UNKNOWN) for part in parts if part is not taking):
        return UNKNOWN
    before, after = parts[:place], parts[place + 1 :]
    if any(part.is_constant and part.data is Ellipsis for part in before):
        return Along(None, -1 - len(after), 2 + len(after))
    numbers = sum(part.kind is Kind.NUMBER for part in parts)
    front = sum(part.kind is not Kind.NUMBER for part in before)
    return Along(front, None, max(2 - numbers, front + 1))


def _numbers(dim: Value | None) -> list[int]:
    """The dimensions that are named; none where one is not known."""
    parts = [] if dim is None or dim.kind is Kind.NONE else dim.data if dim.kind is Kind.SEQUENCE else [dim]
    numbers = [number for part in parts if isinstance(number := part.constant(), int)]
    return numbers if len(numbers) == len(parts) else []
