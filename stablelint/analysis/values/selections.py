"""Selections by a test: which mask picks the elements of a value."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from stablelint.analysis.values.along import FLAT, UNKNOWN, Along, along_index
from stablelint.analysis.values.families import HANDED_OVER
from stablelint.analysis.values.indexing import keeps_all, parts_of
from stablelint.analysis.values.masks import truth_of
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.relations.centres import count_of, radius_of
from stablelint.analysis.values.relations.pairs import meets_itself
from stablelint.analysis.values.state import State
from stablelint.analysis.values.value import NONEMPTY, Attained, Kind, Value, unpacked
from stablelint.analysis.values.views import is_opaque, stripped
from stablelint.numerics.ranges.elementwise import ELEMENTWISE
from stablelint.syntax.operations import CUTS, VIEWS, having

_DEPTH = 20
# Applied to each element, or along each row that was selected, or taking some: of nothing they make nothing.
_PASSING = (
    ELEMENTWISE.keys()
    | CUTS.keys()
    | VIEWS
    | having("elementwise", "row", "running", "pick", "several", "layer")
    | frozenset("phi part outer unique normalize linear linear_module layer_norm tensor".split())
)
_JOINS = having("join")
_KEEPING = _PASSING | _JOINS
_WHOLLY = (_JOINS - {"stack"}) | {"where"}  # empty where all that they are made of is
FILLED = "filled"  # the operand that a tensor of one number has as many elements as
_TENSORS = (Kind.TENSOR, Kind.UNKNOWN, Kind.ARRAY)
_INTO = having("into").difference(ELEMENTWISE)
_LOSSES = having("loss")
_COMPARING = having("compare")
_OF_CLASSES = having("of-classes")
_INDEXING = frozenset({"index", "index_select", "masked_select"})
_LISTS = frozenset({"nonzero", "list_of"})
_SIZED = having("create") | {"expand", "repeat", "repeat_interleave", "topk", "narrow"}
_EXTENTS = frozenset({"size", "steps", "n", "m", "repeats", "k", "length"})
_SHORTENING = frozenset({"diagonal", "method.diff", "torch.diff"})  # to nothing, what is short
_TAKING = _INDEXING | _LISTS | _SIZED | _SHORTENING
_BY_ROW = having("reduce") | {"cosine_similarity"}


_Picked = TypeVar("_Picked")
# What picks elements, and where the dimension stands that has none if it picks none.
_Selected = tuple[_Picked, Along]
_Picks = Callable[[Value], _Selected[_Picked] | None]


class Shown(Protocol):
    """What a path has shown to hold something."""

    @property
    def nonempty(self) -> frozenset[int]:
        """Keys of tensors with an element."""

    @property
    def selecting(self) -> frozenset[int]:
        """Keys of masks with a true element."""


def selector(index: Value) -> Value:
    """The mask whose true elements an index lists: `nonzero(mask)`."""
    inner = stripped(index)
    if inner.op in ("part", "index") and inner.first is not None and not _is_one_place(inner):
        inner = stripped(inner.first)
    if inner.op == "nonzero" and inner.first is not None:
        return inner.first
    return index


def picks_rows(index: Value) -> bool:
    """Whether a list of places, of which a tensor of several dimensions takes as many rows, is used as an index."""
    listing = stripped(index)
    return selector(index) is not index and not _is_tuple(listing)


def _is_one_place(part: Value) -> bool:
    """Whether a part of a list of places is a single one: `nonzero(mask)[0]`."""
    at = part.operands.get("index")
    if part.first is None or part.first.kind is not Kind.TENSOR or at is None:
        return False
    listing = stripped(part.first)
    return listing.op == "nonzero" and not _is_tuple(listing) and type(at.constant()) is int


def _is_tuple(listing: Value) -> bool:
    asked = listing.operands.get("as_tuple")
    return listing.op == "nonzero" and asked is not None and asked.constant() is True


def selecting_mask(value: Value) -> Value | None:
    """The mask that picked the elements of which `value` consists, or is computed one by one.

    None where no mask did, and where it is not known that an empty selection leaves the value empty.
    """
    return _first_of(value, _masking)


def places_not_known(value: Value, state: Shown) -> Value | None:
    """The index that picked the elements of which `value` consists, where somebody else says whether it picks any.

    It is an argument, say: a mask, a list of places, or a bound that `x[:n]` is cut at.
    """
    return _first_of(value, _picking(state))


def _first_of(value: Value, picks: _Picks[_Picked]) -> _Picked | None:
    if not value.operands and value.op not in _TAKING:
        return None
    found = _selected(value, picks, _DEPTH, {})
    return found[0] if found is not None else None


def places_reduced(reduction: Value, state: Shown) -> Value | None:
    """Such an index, where it may be none of the elements it picks that a reduction runs over."""
    found = _reduced(reduction.operands, _picking(state))
    return found[0] if found is not None and not _lies_along_classes(reduction, found[1]) else None


def selects_classes(loss: Value) -> bool:
    """Whether a mask selects elements along the classes of a loss, which has as many rows as before."""
    found = _reduced(loss.operands, _masking)
    return found is not None and _lies_along_classes(loss, found[1])


def _lies_along_classes(loss: Value, along: Along) -> bool:
    return loss.op in _OF_CLASSES and along.front == 1


def filled_if(operands: Mapping[str, Value], state: State) -> tuple[Assumption, ...]:
    """What must hold for a reduction to run over an element.

    Such an index picks one, or a part that a tensor of few elements has not, `x[1:]`; a size is not 0.
    """
    picks = _picking(state)

    def asks(selection: Value) -> _Selected[tuple[Assumption, ...]] | None:
        if selection.op in _SIZED:
            return _by_size(selection, state)
        if selection.op in _SHORTENING:
            taken, offset = selection.op.rpartition(".")[2], selection.operands.get("offset")
            whole = taken == "diagonal" and (offset is None or offset.constant() == 0)
            return ((Assumption(f"{taken}() leaves an element"),), UNKNOWN) if not whole else None
        found = picks(selection) or _located(selection, _cut(selection, state))
        if found is None:
            return None
        return (Assumption(f"{found[0].name or 'the index'} picks an element"),), found[1]

    found = _reduced(operands, asks)
    return found[0] if found is not None else ()


def positive_if(size: Value) -> tuple[Assumption, ...]:
    """What must hold for a size not to be 0."""
    belief = size.belief
    if belief is not None and not belief.interval.contains(0.0):
        return belief.on
    return (Assumption(f"{size.name or 'the size'} is positive"),)


def _by_size(made: Value, state: State) -> _Selected[tuple[Assumption, ...]] | None:
    """What must hold for a tensor to have elements along the dimensions of which it is not known to have any."""
    if {"start", "end"} <= made.operands.keys() and made.op == "arange":
        return _by_bounds(made, state)
    count = count_of(made)
    extents = [v for n, v in made.operands.items() if n in _EXTENTS or n.startswith("more")]
    given = [count] if count is not None else extents
    sizes = unpacked(given)
    numbers = [i for i, size in enumerate(sizes) if size.kind in (Kind.NUMBER, Kind.UNKNOWN, Kind.ARRAY)]
    places = [i for i in numbers if state.effective(sizes[i]).contains(0.0)]
    on = tuple(dict.fromkeys(one for i in places for one in positive_if(sizes[i])))
    is_one = len(places) == 1 < len(sizes)
    along = Along(places[0], places[0] - len(sizes), len(sizes)) if is_one else UNKNOWN
    return (on, along) if on else None


def _by_bounds(counted: Value, state: State) -> _Selected[tuple[Assumption, ...]] | None:
    """What must hold for there to be numbers from one on, and below another; torch refuses a radius below 0."""
    low, high = counted.operands["start"], counted.operands["end"]
    if "step" in counted.operands and counted.operands["step"].interval.hi < 0:
        low, high = high, low
    around = counted.kind is Kind.TENSOR and radius_of(counted) is not None
    if around or state.effective(high).lo > state.effective(low).hi:
        return None
    least, most = (ast.unparse(v.node) if isinstance(v.node, ast.expr) else v.name for v in (low, high))
    return (Assumption(f"{most} is larger than {least}"),), UNKNOWN


def _reduced(operands: Mapping[str, Value], picks: _Picks[_Picked]) -> _Selected[_Picked] | None:
    operand = operands.get("input")
    found = _selected(operand, picks, _DEPTH, {}) if operand is not None else None
    return found if found is not None and found[1].spared_by(operands) is None else None


def _cut(selection: Value, state: Shown) -> Value | None:
    """The part of an index that leaves out the first or the last elements, of which there may be no more."""
    part = places_taken(selection)
    if part is None or part.op != "slice" or selection.key in state.nonempty:
        return None
    lower, upper = part.data[:2]
    return part if lower.constant() not in (None, 0) or upper.interval.hi <= 0 else None


def _picking(state: Shown) -> _Picks[Value]:
    def picks(selection: Value) -> _Selected[Value] | None:
        places = places_taken(selection)
        if places is None or selection.guard == NONEMPTY or selection.key in state.nonempty:
            return None
        return _located(selection, places if _may_pick_nothing(places, state) else None)

    return picks


def _masking(selection: Value) -> _Selected[Value] | None:
    mask = _mask_in(selection)
    return _located(selection, None if mask is not None and _holds_in_rows(truth_of(mask)) else mask)


def _holds_in_rows(mask: Value) -> bool:
    """Whether a mask holds in each row: of a class, or since each element meets itself, `labels == labels[:, None]`."""
    return mask.op in ("eye", "one_hot") or meets_itself(mask)


def _located(selection: Value, places: Value | None) -> _Selected[Value] | None:
    return (places, _placed(selection)) if places is not None else None


def _selected(
    value: Value, picks: _Picks[_Picked], depth: int, known: dict[int, _Selected[_Picked] | None]
) -> _Selected[_Picked] | None:
    """What `picks` says of that selection, and where the dimension stands that has no element where it picks none."""
    if id(value) not in known:
        known[id(value)] = _found_in(value, picks, depth, known) if depth else None
    return known[id(value)]


def _found_in(
    value: Value, picks: _Picks[_Picked], depth: int, known: dict[int, _Selected[_Picked] | None]
) -> _Selected[_Picked] | None:
    if value.op in _TAKING and (asked := picks(value)) is not None:
        return asked
    if value.op in ("part", "index") and value.first is not None and _is_tuple(value.first):
        listed = picks(value.first)  # of `where(mask)`, the places along one dimension
        return (listed[0], FLAT) if listed is not None else None
    whole = _as_large(value)
    if whole is not None:
        return _selected(whole, picks, depth - 1, known)
    if value.op in _BY_ROW and value.first is not None:
        found = _selected(value.first, picks, depth - 1, known)
        left = found[1].reduced(value.operands) if found is not None else None
        return (found[0], left) if found is not None and left is not None else None
    if value.op not in _KEEPING and not (value.op in _LOSSES and _is_unreduced(value)):
        return None
    count, met = 0, []
    for name, part in value.operands.items():
        if part.kind not in _TENSORS or (name == "condition" and value.op == "where"):
            continue
        count += 1
        if part.operands or part.op in _TAKING:  # what is made of nothing is no selection
            found = _selected(part, picks, depth - 1, known)
            if found is not None:
                met.append((part, found))
    if not met or (value.op in _WHOLLY and len(met) < count):
        return None
    alike = {id(v) for v, _ in met}
    beside = [v for v in value.operands.values() if id(v) not in alike and v.kind in _TENSORS]
    part, (picked, along) = met[-1]  # what is written into stands last
    left = along.after(value, part, beside)
    if left is None:
        return None
    return picked, left if all(found[1] == along for _, found in met) else UNKNOWN


def _as_large(value: Value) -> Value | None:
    """What a value has as many elements as, though not made of them: it was filled, or written into."""
    return value.first if value.op in _INTO else value.operands.get(FILLED)


def places_taken(selection: Value) -> Value | None:
    """What says which elements are taken: the first part of an index that is neither a single place nor all of them."""
    if selection.op in _LISTS:
        return selection
    index = selection.operands.get("index") or selection.operands.get("mask")
    parts = parts_of(index) if index is not None else []
    return next((part for part in parts if part.kind is not Kind.NUMBER and not keeps_all(part)), None)


def _placed(selection: Value) -> Along:
    """Where the dimension stands along which a selection takes elements."""
    taking = places_taken(selection)
    if selection.op in _LISTS:
        return Along(0, None, 2)
    if taking is None or selection.op == "masked_select" or _tests_itself(selection):
        return FLAT
    if selection.op == "index":
        return along_index(selection.operands["index"], taking)
    dim = selection.operands["dim"].constant()
    if not isinstance(dim, int):
        return UNKNOWN
    return Along(dim, None, max(2, dim + 1)) if dim >= 0 else Along(None, dim, max(2, -dim))


def _tests_itself(selection: Value) -> bool:
    """Whether a mask compares the very elements that it selects, which then lie in one dimension: `x[x > 0]`."""
    mask = _mask_in(selection)
    if mask is None or selection.first is None:
        return False
    own = stripped(selection.first)  # narrowed by the test, and so with a key of its own
    same = (v for v in map(stripped, mask.operands.values()) if v.op == own.op and v.node is own.node)
    return mask.op in _COMPARING and any(same)


def _may_pick_nothing(places: Value, state: Shown) -> bool:
    """Whether somebody else says if an index takes anything, and no test on the path has shown that it does."""
    if places.op == "slice":
        return any(map(_is_handed_over, places.data[:2]))
    mask = truth_of(selector(places))
    shown = {places.key, stripped(places).key} & state.nonempty or mask.key in state.selecting
    return not shown and mask.kind in _TENSORS and (_is_handed_over(mask) or _is_sieved(mask))


def _is_handed_over(places: Value) -> bool:
    """Whether nothing in sight has computed an index, and it is no element that a loop takes, or key of a mapping."""
    taken = isinstance(places.node, ast.Name) and isinstance(places.node.ctx, ast.Store)
    return (places.op in HANDED_OVER and not taken) or is_opaque(places)


def _is_sieved(places: Value) -> bool:
    """Whether an index is a list of those that a test lets through: `[i for i in range(n) if kept(i)]`."""
    return places.op == "list_of" and places.zero is Attained.EXACT


def shows_an_element(count: Value) -> bool:
    """Whether what a count is of has an element where it is not 0: no selection is made along another dimension."""
    if count.op not in ("size", "len") or count.first is None:
        return True
    dim = 0 if count.op == "len" else count.data
    found = (_selected(count.first, picks, _DEPTH, {}) for picks in map(_taking, (False, True)))
    return all(one is None or (dim is not None and dim in (one[1].front, one[1].back)) for one in found)


def _taking(cut: bool) -> _Picks[Value]:
    """What takes elements: a bound that a tensor is cut at, or a mask or a list of places."""

    def picks(selection: Value) -> _Selected[Value] | None:
        places = places_taken(selection)
        return _located(selection, places if places is not None and cut is (places.op == "slice") else None)

    return picks


def can_be_empty(value: Value, state: Shown) -> bool:
    """Whether a value may have no element: a mask has selected it, and the path does not show that it is true anywhere."""
    value = stripped(value)
    if value.op == "cat" and "tensor0" in value.operands:
        return all(can_be_empty(part, state) for part in value.operands.values())
    mask = selecting_mask(value)
    if mask is None or value.guard == NONEMPTY or value.key in state.nonempty:
        return False
    return truth_of(mask).key not in state.selecting


def can_lack(value: Value, dim: object, state: Shown) -> bool:
    """Whether a value may have no element along a dimension, which is not known for None, because a mask selects none."""
    if not can_be_empty(value, state):
        return False
    found = _selected(value, _masking, _DEPTH, {})
    return found is None or not isinstance(dim, int) or dim in (found[1].front, found[1].back)


def _mask_in(selection: Value) -> Value | None:
    taking = places_taken(selection)
    mask = stripped(selector(taking)) if taking is not None else None
    return mask if mask is not None and mask.dtype == "bool" else None


def keeps_rows(operands: Mapping[str, Value]) -> tuple[Assumption, ...] | None:
    """What must hold for a reduction to run along other dimensions than that of a selection; None where it need not."""
    operand = operands.get("input")
    found = _selected(operand, _masking, _DEPTH, {}) if operand is not None else None
    return found[1].spared_by(operands) if found is not None else ()


def _is_unreduced(loss: Value) -> bool:
    reduction = loss.operands.get("reduction")
    return reduction is not None and reduction.constant() == "none"
