"""Selections by a test: which mask picks the elements of a value."""

from __future__ import annotations

import re

from stablelint.analysis.values.opaque import is_mask_name
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import stripped
from stablelint.numerics.ranges.elementwise import ELEMENTWISE
from stablelint.syntax.operations import VIEWS

_DEPTH = 12
_IDS = re.compile(r"^(?!.*(token|input|text|word)).*(^|_)(ids?|index|indices|seqs?)$")
_LABELS = re.compile(r"label|target|(^|_)(y|gt)(_|$)|class|loss|reward|score|logit|grad|match", re.I)
_FOUND = re.compile(r"(^|_)(foreground|fg|pos(itives?)?|matched)(_|$)", re.I)
_NO_INDEX = frozenset({("ge", 0), ("ne", -1), ("gt", -1)})
_PADDING = re.compile(r"(?<![a-z])pad", re.IGNORECASE)
# Applied to each element, or to each row that was selected: of nothing they make nothing.
_ELEMENT_BY_ELEMENT = frozenset(ELEMENTWISE) | frozenset(
    "abs neg square sqrt rsqrt exp expm1 log log1p log2 log10 sigmoid tanh relu softplus logsigmoid reciprocal "
    "softmax log_softmax".split()
)
_LOSSES = frozenset(
    "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits "
    "cross_entropy nll_loss kl_div".split()
)
_BY_ROW = frozenset("sum mean norm vector_norm amax amin var std prod cosine_similarity".split())


def selector(index: Value) -> Value:
    """The mask whose true elements an index lists: `nonzero(mask)`, `torch.where(mask)[0]`."""
    inner = stripped(index)
    if inner.op in ("part", "index") and inner.first is not None:
        inner = stripped(inner.first)
    if inner.op == "nonzero" and inner.first is not None:
        return inner.first
    if inner.op == "where" and len(inner.operands) == 1 and inner.first is not None:
        return inner.first
    return index


def selecting_mask(value: Value, depth: int = _DEPTH) -> Value | None:
    """The mask that picked the elements of which `value` consists, or is computed one by one.

    None where no mask did, and where it is not known that an empty selection leaves the value empty.
    """
    value = stripped(value)
    if value.op in ("index", "index_select"):
        return _mask_in(value)
    if not depth:
        return None
    if value.op in _BY_ROW and _keeps_rows(value) and value.first is not None:
        return None if _is_laid_out(value.first) else selecting_mask(value.first, depth - 1)
    if value.op not in _ELEMENT_BY_ELEMENT and not _is_unreduced(value):
        return None
    tensors = [v for v in _elements(value) if v.kind in (Kind.TENSOR, Kind.UNKNOWN)]
    masks = [selecting_mask(v, depth - 1) for v in tensors]
    if value.op == "where" and None in masks:
        return None  # `x[mask] = y[mask]`: the whole of x
    return next((mask for mask in masks if mask is not None), None)


def _elements(value: Value) -> list[Value]:
    """The operands whose elements a value is made of."""
    return [v for n, v in value.operands.items() if value.op != "where" or n != "condition"]


def _mask_in(selection: Value) -> Value | None:
    index = selection.operands.get("index")
    mask = stripped(selector(index)) if index is not None else None
    return mask if mask is not None and mask.dtype == "bool" else None


def _keeps_rows(reduction: Value) -> bool:
    """Whether the reduction is along a dimension other than the one that was selected from, the first."""
    dim = reduction.operands.get("dim")
    number = dim.constant() if dim is not None else None
    return isinstance(number, int) and number != 0


def _is_laid_out(value: Value) -> bool:
    """Whether what was selected is laid out anew, in a given number of rows: `x[mask].view(n, -1)`."""
    while value.op in VIEWS and value.first is not None:
        if value.op == "view":
            sizes = list(value.operands.values())[1:]
            if sizes and sizes[0].kind is Kind.SEQUENCE:
                sizes = sizes[0].data
            return len(sizes) > 1 and sizes[0].constant() != -1
        value = value.first
    return False


def _is_unreduced(loss: Value) -> bool:
    reduction = loss.operands.get("reduction")
    return loss.op in _LOSSES and reduction is not None and reduction.constant() == "none"


def _is_row_of_zeros(mask: Value) -> bool:
    """Whether a mask tells rows that hold something from those that are 0 throughout: `x.abs().sum(-1) != 0`."""
    negated = mask.op == "logical_not" and mask.first is not None
    test = stripped(mask.first) if negated and mask.first is not None else mask
    if test.op == ("all" if negated else "any") and test.first is not None and _keeps_rows(test):
        each = stripped(test.first)
        return each.op == ("eq" if negated else "ne") and _is_compared_with_zero(each)
    if test.op != ("eq" if negated else "ne") or not _is_compared_with_zero(test):
        return False
    total = stripped(test.operands["input"])
    size = stripped(total.first) if total.first is not None else total
    return total.op == "sum" and _keeps_rows(total) and size.op in ("abs", "square", "pow")


def _is_compared_with_zero(test: Value) -> bool:
    other = test.operands.get("other")
    return other is not None and other.constant() == 0


def is_mask_of_ids(mask: Value) -> bool:
    """Whether a mask tells ids from 0, or whatever is not called a label from -1: `item_seq > 0`, `species >= 0`."""
    mask = stripped(mask)
    if mask.op == "logical_not" and mask.first is not None and stripped(mask.first).op == "eq":
        return _leaves_out_minus_one("ne", stripped(mask.first))
    if _leaves_out_minus_one(mask.op, mask):
        return True
    other = mask.operands.get("other")
    if mask.op not in ("gt", "ne") or other is None or other.constant() != 0 or mask.first is None:
        return False
    ids = stripped(mask.first)
    return _IDS.search(ids.name or mask.first.name) is not None


def _leaves_out_minus_one(test: str, mask: Value) -> bool:
    """Whether a test of what is handed over leaves out -1, which is no index of anything.

    What is matched to nothing is background, of which there may be nothing else.
    """
    other = mask.operands.get("other")
    if other is None or mask.first is None or (test, other.constant()) not in _NO_INDEX:
        return False
    ids = stripped(mask.first)
    if ids.op not in ("argument", "unknown", "item") or _FOUND.search(mask.name):
        return False
    return not _LABELS.search(ids.name)


def leaves_out_padding(mask: Value) -> bool:
    """Whether a mask leaves out padding, and nothing else: what is called so, or rows that are 0 throughout."""
    mask = stripped(mask)
    if _is_row_of_zeros(mask) or is_mask_of_ids(mask) or is_unpadded(mask):
        return True
    if mask.op == "index" and mask.first is not None:
        return leaves_out_padding(mask.first)
    other = mask.operands.get("other")
    if mask.op != "ne" or other is None or mask.first is None:
        return False
    if other.constant() == 0:  # a cast to bool
        return leaves_out_padding(mask.first)
    return _PADDING.search(f"{mask.name} {mask.first.name} {other.name}") is not None


def is_unpadded(mask: Value) -> bool:
    """Whether a mask is the contrary of a test for an element of padding: `~tokens.eq(self.padding_idx)`."""
    mask = stripped(mask)
    test = stripped(mask.first) if mask.op == "logical_not" and mask.first is not None else mask
    if test is mask or test.op != "eq":
        return False
    return _PADDING.search(test.operands["other"].name) is not None


def is_background(mask: Value) -> bool:
    """Whether a mask picks the elements of class 0: the background, of which there is always some."""
    test = stripped(mask)
    while test.op in ("tensor", "bool") and test.first is not None:
        test = stripped(test.first)
    return test.op == "eq" and _is_compared_with_zero(test) and not is_mask_name(test.operands["input"].name)
