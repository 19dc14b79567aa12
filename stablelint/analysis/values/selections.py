"""Selections by a test: which mask picks the elements of a value."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Protocol

from stablelint.analysis.values.families import HANDED_OVER
from stablelint.analysis.values.indexing import keeps_all, parts_of
from stablelint.analysis.values.masks import truth_of
from stablelint.analysis.values.value import NONEMPTY, Attained, Kind, Value
from stablelint.analysis.values.views import COPIES, is_opaque, stripped
from stablelint.numerics.ranges.elementwise import ELEMENTWISE
from stablelint.syntax.operations import CUTS, VIEWS, having

_DEPTH = 12
# Applied to each element, or along each row that was selected: of nothing they make nothing.
_ELEMENT_BY_ELEMENT = ELEMENTWISE.keys() | CUTS.keys() | having("elementwise", "row", "running")
_OF_PATHS = _ELEMENT_BY_ELEMENT | {"phi"}
FILLED = "filled"  # the operand that a tensor of one number has as many elements as
_TENSORS = (Kind.TENSOR, Kind.UNKNOWN)
_INTO = having("into") - ELEMENTWISE.keys()
_LOSSES = having("loss")
_INDEXING = frozenset({"index", "index_select"})
_LAYOUTS = having("layout")
_ONE_BY_ONE = (_ELEMENT_BY_ELEMENT | COPIES) - having("layout", "pick")
_BY_ROW = having("reduce") | {"cosine_similarity"}


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
    return asked is not None and asked.constant() is True


def selecting_mask(value: Value) -> Value | None:
    """The mask that picked the elements of which `value` consists, or is computed one by one.

    None where no mask did, and where it is not known that an empty selection leaves the value empty.
    """
    return _selected_by(value, _mask_in, _DEPTH)


def places_not_known(value: Value, state: Shown) -> Value | None:
    """The index that picked the elements of which `value` consists, where somebody else says whether it picks any.

    It is an argument, say: a mask, a list of places, or a bound that `x[:n]` is cut at.
    """

    def picks(selection: Value) -> Value | None:
        places = _first_places(selection)
        if places is None or selection.guard == NONEMPTY or selection.key in state.nonempty:
            return None
        return places if _may_pick_nothing(places, state) else None

    return _selected_by(value, picks, _DEPTH)


def _selected_by(value: Value, picks: Callable[[Value], Value | None], depth: int) -> Value | None:
    """What `picks` says of the selection whose elements `value` consists of."""
    value = stripped(value)
    if not depth:
        return None
    if value.op in ("index", "index_select", "masked_select"):
        picked, index = picks(value), value.operands.get("index")
        rows = parts_of(index) if picked is None and index is not None else []
        of_rows = len(rows) > 1 and keeps_all(rows[0]) and rows[0].constant() is not Ellipsis
        return (
            _selected_by(value.operands["input"], picks, depth - 1) if of_rows else picked
        )  # `x[mask][:, 0]`
    if value.op in _BY_ROW and _is_within_rows(value.operands) and value.first is not None:
        if _is_laid_out(value.first):
            return None
        if not _is_flat(value.first):
            return _selected_by(value.first, picks, depth - 1)
    whole = _as_large(value)
    if whole is not None:
        return _selected_by(whole, picks, depth - 1)
    if value.op == "cat" and "tensor0" in value.operands:
        parts = [_selected_by(v, picks, depth - 1) for v in value.operands.values()]
        return parts[0] if None not in parts else None
    if value.op not in _OF_PATHS and not _is_unreduced(value):
        return None
    tensors = [v for v in _elements(value) if v.kind in _TENSORS]
    found = [_selected_by(v, picks, depth - 1) for v in tensors]
    if value.op == "where" and None in found:
        return None  # `x[mask] = y[mask]`: the whole of x
    return next((one for one in found if one is not None), None)


def _as_large(value: Value) -> Value | None:
    """What a value has as many elements as, though not made of them: it was filled, or written into."""
    return value.first if value.op in _INTO else value.operands.get(FILLED)


def _first_places(selection: Value) -> Value | None:
    """What says which rows are taken: the first part of an index that is not a single place."""
    index = selection.operands.get("index") or selection.operands.get("mask")
    parts = parts_of(index) if index is not None else []
    return next((part for part in parts if part.kind is not Kind.NUMBER), None)


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


def can_be_empty(value: Value, state: Shown) -> bool:
    """Whether a value may have no element: a mask has selected it, and the path does not show that it is true anywhere."""
    value = stripped(value)
    if value.op == "cat" and "tensor0" in value.operands:
        return all(can_be_empty(part, state) for part in value.operands.values())
    mask = selecting_mask(value)
    if mask is None or value.guard == NONEMPTY or value.key in state.nonempty:
        return False
    return truth_of(mask).key not in state.selecting


def _elements(value: Value) -> list[Value]:
    """The operands whose elements a value is made of."""
    return [v for n, v in value.operands.items() if value.op != "where" or n != "condition"]


def _mask_in(selection: Value) -> Value | None:
    index = selection.operands.get("index") or selection.operands.get("mask")
    taking = (
        next((part for part in parts_of(index) if not keeps_all(part)), index) if index is not None else None
    )
    mask = stripped(selector(taking)) if taking is not None else None
    return mask if mask is not None and mask.dtype == "bool" else None


def keeps_rows(operands: Mapping[str, Value]) -> bool:
    """Whether a reduction is along a dimension other than the one that was selected from, the first as a rule."""
    return _is_within_rows(operands) and not _is_flat(operands.get("input"))


def _is_within_rows(operands: Mapping[str, Value]) -> bool:
    """Whether a reduction is along one dimension, and not the first; along that where columns were selected."""
    dim = operands.get("dim")
    number = dim.constant() if dim is not None else None
    return isinstance(number, int) and (number == 0) is _is_of_columns(operands.get("input"))


def _is_of_columns(value: Value | None) -> bool:
    """Whether what a value consists of was selected from another dimension than the first: `x[:, mask]`."""
    selects = False
    while value is not None and not selects and value.op in _ONE_BY_ONE | _INDEXING:
        selects = value.op in _INDEXING and _mask_in(value) is not None
        value = value if selects else value.first
    if value is None or not selects:
        return False
    number = value.operands["dim"].constant() if "dim" in value.operands else 0
    return number != 0 or keeps_all(parts_of(value.operands["index"])[0])


def _is_flat(value: Value | None) -> bool:
    """Whether what was selected may lie along any dimension: `x[x > 0]`, in one dimension, or what is laid out anew."""
    while value is not None and value.op in _ONE_BY_ONE | _LAYOUTS and value.first is not None:
        if value.op in _LAYOUTS and (value.op != "view" or isinstance(value.node, ast.Call)):
            return not _keeps_first(value)
        value = value.first
    if value is not None and value.op in ("phi", "cat"):
        return any(map(_is_flat, value.operands.values()))
    whole = _as_large(value) if value is not None else None
    if whole is not None:
        return _is_flat(whole)
    mask = _mask_in(value) if value is not None and value.op == "index" else None
    if mask is None or value is None or value.first is None:
        return False
    own = stripped(value.first)  # narrowed by the test, and so with a key of its own
    same = (v for v in map(stripped, mask.operands.values()) if v.op == own.op and v.node is own.node)
    return mask.op in ("gt", "ge", "lt", "le", "eq", "ne") and any(same)


def _keeps_first(view: Value) -> bool:
    """Whether what lay along the first dimension has it for its own: in `x.unsqueeze(-1)`, `x[:, None]`, `x.view(-1, 3)`."""
    if view.op == "view":
        sizes = _sizes(view)
        return len(sizes) > 1 and sizes[0].constant() == -1
    if view.op != "unsqueeze":
        return False
    dim = view.operands["dim"]
    number = dim.constant()
    first = parts_of(dim)[0] if dim.kind is Kind.SEQUENCE and parts_of(dim) else dim
    return number != 0 if isinstance(number, int) else first.kind is not Kind.NONE


def _is_laid_out(value: Value) -> bool:
    """Whether what was selected is laid out anew, in a given number of rows: `x[mask].view(n, -1)`."""
    while value.op in VIEWS and value.first is not None:
        if value.op == "view":
            sizes = _sizes(value)
            return len(sizes) > 1 and sizes[0].constant() != -1
        value = value.first
    return False


def _sizes(view: Value) -> list[Value]:
    """The sizes by which a view lays a value out, where it is told some."""
    sizes = list(view.operands.values())[1:]
    return list(sizes[0].data) if sizes and sizes[0].kind is Kind.SEQUENCE else sizes


def _is_unreduced(loss: Value) -> bool:
    reduction = loss.operands.get("reduction")
    return loss.op in _LOSSES and reduction is not None and reduction.constant() == "none"
