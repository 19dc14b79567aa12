"""Where a mask comes from, and whether it can be false throughout."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from stablelint.analysis.evidence.vocabulary import is_length_name, is_mask_name
from stablelint.analysis.matching.company import came_together, is_beside_lengths
from stablelint.analysis.matching.padding import leaves_out_padding
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind, stripped

DRAWN = frozenset("rand rand_like randn randn_like normal normal_ uniform_ exponential_ gumbel".split())
_PASSED_MASK = re.compile(r"mask(s|ed_\w+)?$")
_PADDED = re.compile(r"(^|_)is_pad(ding|ded)?$")
_PADDING_MASK = re.compile(r"(?<![a-z])pad(ding)?_mask$")
_OF_TEXT = re.compile(
    r"attention|caption|prompt|text|token|word|loss|label|completion|response|answer|query", re.I
)  # `attention_mask` comes out of a tokenizer; an `attn_mask` is laid out by who attends
_OF_TIES = re.compile(r"neigh|adj|edge", re.I)
_REMADE = frozenset("float to argsort expand repeat".split())
_MADE = frozenset("zeros ones full eye buffer".split())
_COMPARED = frozenset("gt ge lt le".split())
_TESTED = _COMPARED | {"eq", "ne"}
_PASSED = frozenset("argument item attribute unknown index part".split())
_JOINED = frozenset({"logical_and", "mul"})
_UNITED = frozenset("logical_and logical_or add phi".split())
_LENGTH = 8  # operations looked through


def is_own_attribute(value: Value) -> bool:
    """Whether a value is an attribute of `self` of which `__init__` does not tell."""
    return value.op == "attribute" and value.first is not None and value.first.kind is Kind.INSTANCE


def is_kept(mask: Value) -> bool:
    """Whether a mask is made of constants, or is, or tests, what an object keeps."""
    inner = stripped(mask)
    while inner.op in ("eq", "ne", "logical_not", "index", "lt", "gt") and inner.first is not None:
        side = getattr(inner.node, "left", None) or getattr(inner.node, "value", None)
        if inner.first.op == "unknown" and _is_of_self(side):
            return True
        inner = stripped(inner.first)
    return is_own_attribute(inner) or _is_made(mask)


def _is_of_self(node: ast.AST | None) -> bool:
    """Whether an expression is `self.name`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def tests_kept(value: Value) -> bool:
    """Whether a test is one of what an object keeps."""
    return value.op in _TESTED and is_kept(value)


def is_test(mask: Value) -> bool:
    """Whether a mask is a comparison that is made here, of something that is no mask itself."""
    return stripped(mask).op in _TESTED and not is_passed_mask(mask)


def _is_made(mask: Value) -> bool:
    """Whether a mask is put together of constants alone, and neither compares nor draws."""
    parts = list(behind(mask, lambda _: False))
    told = any(v.op in _COMPARED or v.op in DRAWN or v.op in ("eq", "ne", "tensor") for v in parts)
    return not told and all(v.op in _MADE or v.is_constant for v in parts if not v.operands)


def unnegated(value: Value) -> Value:
    """The value without negations, casts to truth values and rearrangements around it."""
    value = stripped(value)
    while _negates(value) and value.first is not None:
        value = stripped(value.first)
    return value


def _negates(value: Value) -> bool:
    if value.op in ("logical_not", "tensor"):
        return True
    other = value.operands.get("other")
    return value.op in ("eq", "ne") and other is not None and other.constant() in (0, 1)


def is_whole_mask(total: Value) -> bool:
    """Whether a mask that somebody passes is counted over the whole batch, which is not padding throughout."""
    dim = total.operands.get("dim")
    dims = dim.data if dim is not None and dim.kind is Kind.SEQUENCE else [dim]
    whole = any(part is None or part.constant() == 0 for part in dims)
    return whole and is_passed_mask(total.operands["input"])


def is_passed_mask(mask: Value) -> bool:
    """Whether somebody passes the mask, who knows what is in the batch, or it leaves out padding."""
    mask = unnegated(mask)
    if mask.op == "gt" and mask.operands["other"].constant() in (0, 0.5):
        mask = unnegated(mask.operands["input"])
    if leaves_out_padding(mask):
        return True
    if mask.op in _UNITED:
        return all(map(is_passed_mask, mask.operands.values()))
    if mask.op == "mul":
        return _is_product_of_passed(mask)
    if mask.op == "bool" and mask.first is not None:
        mask = stripped(mask.first)
        if mask.op in ("sum", "any") and mask.first is not None:  # rows of which it keeps something
            mask = unnegated(mask.first)
        return mask.op == "argument" and _PASSED_MASK.search(mask.name) is not None  # as a whole
    while mask.op == "index" and not _PASSED_MASK.search(mask.name) and mask.first is not None:
        mask = unnegated(mask.first)
    return mask.op in _PASSED and (_PASSED_MASK.search(mask.name) or _PADDED.search(mask.name)) is not None


def _is_product_of_passed(product: Value) -> bool:
    """Whether each factor is a mask that somebody passes, or came beside one in the same batch."""
    factors = list(product.operands.values())
    masks = [factor for factor in factors if is_passed_mask(factor)]
    return bool(masks) and all(
        factor in masks or any(came_together(factor, mask) for mask in masks) for factor in factors
    )


def is_known(mask: Value) -> bool:
    """Whether a mask leaves out what is missing in data that somebody passes: `~torch.isnan(labels)`."""
    mask = stripped(mask)
    missing = stripped(mask.first) if mask.op == "logical_not" and mask.first is not None else mask
    if missing.op != "isnan" or missing is mask or missing.first is None:
        return False
    return stripped(missing.first).op in _PASSED


def is_outer_mask(mask: Value) -> bool:
    """Whether two masks that somebody passes span a table of pairs, some of which both of them keep."""
    mask = unnegated(mask)
    sides = list(mask.operands.values())
    if mask.op not in _JOINED or len(sides) != 2:
        return False
    return all(side.op == "unsqueeze" and is_passed_mask(side) for side in sides)


def is_mask_of_padding(mask: Value, depth: int = 12) -> bool:
    """Whether a caller passes a mask of padding, which may have been lengthened: no row is padding throughout."""
    inner = unnegated(mask)
    if inner.op == "phi" and depth:
        return all(is_mask_of_padding(path, depth - 1) for path in inner.operands.values())
    if inner.op == "cat" and depth:
        return any(is_mask_of_padding(part, depth - 1) for part in inner.operands.values())
    if inner.op == "pad" and inner.first is not None and depth:
        return is_mask_of_padding(inner.first, depth - 1)
    return inner.op in ("argument", "item") and _PADDING_MASK.search(inner.name) is not None


def is_mask_of_caller(mask: Value, depth: int = 12) -> bool:
    """Whether a caller passes a mask, cast, laid out or negated here, that is one neither of a text nor of ties.

    Two masks that are joined here may leave nothing between them.
    """
    inner = unnegated(mask)
    if inner.op == "phi" and depth:
        return all(is_mask_of_caller(path, depth - 1) for path in inner.operands.values())
    if inner.op == "sub" and inner.operands["input"].constant() == 1 and depth:
        return is_mask_of_caller(inner.operands["other"], depth - 1)
    if inner.op in ("index", "bool") and inner.first is not None and depth:
        return is_mask_of_caller(inner.first, depth - 1)
    if inner.op not in ("argument", "item") or not _PASSED_MASK.search(inner.name):
        return False
    return not is_name_of_text(inner.name) and not _OF_TIES.search(inner.name) and not _is_among_tokens(inner)


@lru_cache(maxsize=4096)
def is_name_of_text(name: str) -> bool:
    """Whether a mask of that name keeps tokens of a text, of which there may be none: other things have parts."""
    return _OF_TEXT.search(name) is not None


def _is_among_tokens(mask: Value) -> bool:
    """Whether the file in which a mask is passed takes a text, as ids of its tokens: one may be empty."""
    return mask.module is not None and "input_ids" in mask.module.source.text


def is_mask_of_lengths(mask: Value) -> bool:
    """Whether a helper has made a mask of lengths, or a caller passes one beside them."""
    inner = unnegated(mask)
    while inner.op == "part" and inner.first is not None:
        inner = unnegated(inner.first)
    return _is_made_of_lengths(inner) or is_beside_lengths(inner)


def _is_made_of_lengths(value: Value) -> bool:
    """Whether a call of what is named a mask takes lengths."""
    kind, _, name = value.op.rpartition(".")
    if not kind or not is_mask_name(name):
        return False
    words = [name, *value.operands, *(operand.name for operand in value.operands.values())]
    return any(map(is_length_name, words))


def is_chance_test(test: Value, depth: int = 6) -> bool:
    """Whether a test compares random numbers, or positions with lengths: that it fails for all of them is chance."""
    test = unnegated(test)
    if test.op == "mul" and not 0 <= test.interval.lo <= test.interval.hi <= 1:
        return False  # what is masked is no mask
    if test.op in ("phi", "mul", "logical_and") and depth:
        parts = [part for part in test.operands.values() if not part.interval.lo > 0]
        return bool(parts) and all(is_chance_test(part, depth - 1) for part in parts)
    if is_mask_of_lengths(test):
        return True
    return test.op in DRAWN or (
        test.op in _COMPARED and any(map(_is_drawn_or_counted, test.operands.values()))
    )


def _is_drawn_or_counted(value: Value) -> bool:
    """Whether a value is made of random numbers alone, or of positions."""
    for _ in range(_LENGTH):
        value = stripped(value)
        if value.op in DRAWN or value.op == "arange":
            return True
        if value.op not in _REMADE or value.first is None:
            return False
        value = value.first
    return False
