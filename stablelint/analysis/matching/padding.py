"""Masks that leave out padding, or what is no index of anything."""

from __future__ import annotations

from stablelint.analysis.evidence.vocabulary import (
    is_mask_name,
    names_ids,
    names_labels,
    names_padding,
    names_what_was_found,
)
from stablelint.analysis.values.selections import keeps_rows
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import stripped

_NO_INDEX = frozenset({("ge", 0), ("ne", -1), ("gt", -1)})


def _is_row_of_zeros(mask: Value) -> bool:
    """Whether a mask tells rows that hold something from those that are 0 throughout: `x.abs().sum(-1) != 0`."""
    negated = mask.op == "logical_not" and mask.first is not None
    test = stripped(mask.first) if negated and mask.first is not None else mask
    if test.op == ("all" if negated else "any") and test.first is not None and keeps_rows(test):
        each = stripped(test.first)
        return each.op == ("eq" if negated else "ne") and _is_compared_with_zero(each)
    if test.op != ("eq" if negated else "ne") or not _is_compared_with_zero(test):
        return False
    total = stripped(test.operands["input"])
    size = stripped(total.first) if total.first is not None else total
    return total.op == "sum" and keeps_rows(total) and size.op in ("abs", "square", "pow")


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
    return names_ids(ids.name or mask.first.name)


def _leaves_out_minus_one(test: str, mask: Value) -> bool:
    """Whether a test of what is handed over leaves out -1, which is no index of anything.

    What is matched to nothing is background, of which there may be nothing else.
    """
    other = mask.operands.get("other")
    if other is None or mask.first is None or (test, other.constant()) not in _NO_INDEX:
        return False
    ids = stripped(mask.first)
    if ids.op not in ("argument", "unknown", "item") or names_what_was_found(mask.name):
        return False
    return not names_labels(ids.name)


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
    return names_padding(f"{mask.name} {mask.first.name} {other.name}")


def is_unpadded(mask: Value) -> bool:
    """Whether a mask is the contrary of a test for an element of padding: `~tokens.eq(self.padding_idx)`."""
    mask = stripped(mask)
    test = stripped(mask.first) if mask.op == "logical_not" and mask.first is not None else mask
    if test is mask or test.op != "eq":
        return False
    return names_padding(test.operands["other"].name)


def is_background(mask: Value) -> bool:
    """Whether a mask picks the elements of class 0: the background, of which there is always some."""
    test = stripped(mask)
    while test.op in ("tensor", "bool") and test.first is not None:
        test = stripped(test.first)
    return test.op == "eq" and _is_compared_with_zero(test) and not is_mask_name(test.operands["input"].name)
