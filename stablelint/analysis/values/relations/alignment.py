"""Whether what a reduction yields of each row comes to lie along that row when it is combined with its operand."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from stablelint.analysis.values.indexing import keeps_all, parts_of
from stablelint.analysis.values.paths import Assumption, Tests
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import COPIES, keeps_numbers, recast
from stablelint.records import dataclass
from stablelint.syntax.operations import VIEWS

Shape = Sequence[int | None]  # which dimension of the operand each one is; None where it is a single place

_ADDING = frozenset({"unsqueeze", "index"})
_MOST_DIMENSIONS = 7
_NUMERALS = {1: "one dimension", 2: "two dimensions", 3: "three dimensions"}


@dataclass(frozen=True, slots=True)
class Alignment:
    """What must hold for a reduction to lie along its rows: the assumptions `on`, and whether it keeps its dimensions."""

    on: tuple[Assumption, ...] = ()
    keeps: Value | None = None
    kept: bool = False

    @property
    def is_shown(self) -> bool:
        """Whether the text alone shows it."""
        return not self.on and self.keeps is None

    def given(self, tests: Tests) -> Alignment | None:
        """What is left to hold where tests came out so; None where they speak against it."""
        passed = tests.get(self.keeps.key) if self.keeps is not None else None
        if passed is None:
            return self
        return Alignment(self.on) if passed is self.kept else None

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """All that must hold, in words."""
        kept = f"{self.keeps.name or 'keepdim'} is {self.kept}" if self.keeps is not None else ""
        return (*self.on, Assumption(kept)) if kept else self.on


EVERYWHERE = Alignment()


def alignment(reduction: Value, views: Sequence[Value]) -> Alignment | None:
    """What must hold for `views` of a reduction, innermost first, to lie along the rows; None where they never do.

    Two tensors are laid beside each other from the last dimension on. A row keeps its place where its dimension is kept,
    or added again, whatever the number of dimensions; `x.amax(1).view(-1, 1)` keeps it only in a matrix.
    """
    keeps = reduction.operands.get("keepdim")
    kept = keeps.constant() if keeps is not None else False
    if keeps is None or isinstance(kept, int):
        on = _alignment(reduction, views, bool(kept))
        return Alignment(on) if on is not None else None
    for either in (True, False):
        on = _alignment(reduction, views, either)
        if on is not None:
            return Alignment(on, keeps, either)
    return None


def unlaid(value: Value) -> tuple[Value, list[Value]]:
    """What a value shows in another shape, and the views that do so, innermost first: `x.unsqueeze(1)`, `x[:, None]`."""
    views: list[Value] = []
    while _shows_all(value) and value.first is not None:
        views += [] if value.op in COPIES else [value]
        value = value.first
    return value, views[::-1]


def _shows_all(value: Value) -> bool:
    index = value.operands.get("index")
    return (value.op in VIEWS and keeps_numbers(value)) or (
        value.op == "index" and index is not None and keeps_all(index)
    )


def _alignment(reduction: Value, views: Sequence[Value], kept: bool) -> tuple[Assumption, ...] | None:
    dims = _dims(reduction.operands)
    if dims is None:
        return None
    lies = {
        rank: answers
        for rank in range(1, _MOST_DIMENSIONS + 1)
        if (answers := list(_tried(dims, views, kept, rank)))
    }
    aligned = [rank for rank, answers in lies.items() if all(answers)]
    if len(aligned) == len(lies) > 1:
        return ()
    rank = next((rank for rank in aligned if rank > 1), None)  # a row alone is seldom reduced by its number
    if rank is None:
        return None
    operand = recast(reduction.operands["input"])
    return (Assumption(f"{operand.name or 'the operand'} has {_NUMERALS.get(rank, f'{rank} dimensions')}"),)


def _dims(operands: Mapping[str, Value]) -> list[Value] | None:
    """The dimensions that a reduction names."""
    dim = operands.get("dim")
    if dim is None:
        return None
    return list(dim.data) if dim.kind is Kind.SEQUENCE else [dim]


def _tried(dims: list[Value], views: Sequence[Value], kept: bool, rank: int) -> Iterator[bool]:
    """Whether rows lie along themselves in an operand of `rank` dimensions, for each that a name may stand for.

    Nothing where such an operand cannot be reduced and laid out so.
    """
    named = {dim.key for dim in dims if not isinstance(dim.constant(), int)}
    if len(named) > 1:
        yield False
        return
    for meant in range(-rank, rank) if named else (0,):
        places = dict.fromkeys(named, meant)
        shape = _reduced([_place(dim, places) for dim in dims], kept, rank)
        for view in views:
            shape = _laid_out(shape, view, places) if shape is not None else None
        if shape is not None:
            yield _lies_along(shape, rank)


def _place(dim: Value, places: Mapping[int, int]) -> int | None:
    """The dimension that a value names, where it is known what it stands for."""
    number = dim.constant()
    return number if isinstance(number, int) else places.get(dim.key)


def _reduced(dims: Sequence[int | None], kept: bool, rank: int) -> Shape | None:
    if not all(dim is not None and -rank <= dim < rank for dim in dims):
        return None
    gone = {dim % rank for dim in dims if dim is not None}
    shape = [None if place in gone else place for place in range(rank)]
    return shape if kept else [place for place in shape if place is not None]


def _laid_out(shape: Shape, view: Value, places: Mapping[int, int]) -> Shape | None:
    """The shape that a view gives to a tensor; None where it cannot."""
    if view.op == "expand":
        return shape  # places are repeated, and dimensions added in front
    if view.op == "view":
        return _resized(shape, view)
    if view.op not in _ADDING:
        return [-1]  # not known where anything lies
    out = list(shape)
    for place in _added_by(view, len(shape), places):
        if place is None or not -len(out) - 1 <= place <= len(out):
            return None
        out.insert(place % (len(out) + 1), None)
    return out


def _added_by(view: Value, rank: int, places: Mapping[int, int]) -> list[int | None]:
    """The dimensions that a view adds, in order: 1 of `x.unsqueeze(1)` and of `x[:, None]`, the last of `x[..., None]`."""
    given = view.operands.get("dim") or view.operands["index"]
    if given.kind not in (Kind.SEQUENCE, Kind.NONE):
        return [_place(given, places)]
    parts = parts_of(given)
    taken = sum(part.kind is not Kind.NONE and not _is_ellipsis(part) for part in parts)
    added: list[int | None] = []
    here = 0
    for part in parts:
        if part.kind is Kind.NONE:
            added.append(here)
        here += max(rank - taken, 0) if _is_ellipsis(part) else 1
    return added


def counts_from_the_end(view: Value) -> bool:
    """Whether a view lays the last dimensions out alike, whatever stands before them: `unsqueeze(-1)`, `[..., None]`."""
    if view.op == "expand":
        return True
    given = view.operands.get("index") if view.op == "index" else view.operands.get("dim")
    if view.op not in _ADDING or given is None:
        return False
    parts = parts_of(given) if given.kind is Kind.SEQUENCE else []
    dim = given.constant()
    return (isinstance(dim, int) and dim < 0) or (bool(parts) and _is_ellipsis(parts[0]))


def _is_ellipsis(part: Value) -> bool:
    return part.is_constant and part.data is Ellipsis


def _resized(shape: Shape, view: Value) -> Shape | None:
    """A shape by its sizes, of which as many are not written as 1 as the tensor has dimensions."""
    sizes = list(view.operands.values())[1:]
    if not sizes:
        return [-1] if isinstance(view.node, ast.Call) else shape  # `x.values`, `x[:]`
    sizes = (
        list(sizes[0].data) if sizes[0].kind is Kind.SEQUENCE and isinstance(sizes[0].data, list) else sizes
    )
    rest = [place for place in shape if place is not None]
    single = [size.constant() == 1 for size in sizes]
    if len(rest) != single.count(False):
        return [-1]
    filling = iter(rest)
    return [None if one else next(filling) for one in single]


def _lies_along(shape: Shape, rank: int) -> bool:
    """Whether each dimension of a shape is that of the operand, or a single place, counted from the last."""
    return all(place is None or place == rank - 1 - back for back, place in enumerate(reversed(shape)))
