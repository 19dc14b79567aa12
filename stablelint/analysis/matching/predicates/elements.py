"""How many elements something has: all of it, or what a mask leaves or selects."""

from __future__ import annotations

import math

from stablelint.analysis.matching.predicates.context import Context, value_of
from stablelint.analysis.matching.truth import Truth
from stablelint.analysis.proof.counts import meets_its_extreme
from stablelint.analysis.values.families import COMPARISONS, FINITE_TESTS
from stablelint.analysis.values.masks import DRAWN, holds_truth, truth_of, unnegated
from stablelint.analysis.values.relations.pairs import are_all_pairs, is_of_all_pairs
from stablelint.analysis.values.selections import keeps_rows, places_reduced, selecting_mask, selects_classes
from stablelint.analysis.values.value import NONEMPTY, Kind, Value, believed
from stablelint.analysis.values.views import about, behind, stripped
from stablelint.catalog.predicates import Predicate
from stablelint.syntax.operations import having

# Of which each row keeps an element.
_SPARING = frozenset("triu tril amax cummax topk sort cumsum".split())
_WEIGHTS = frozenset("exp softplus sigmoid softmax pow".split())  # may all underflow, yet select nothing
_LINEAR = having("linear")
_ELEMENTWISE = having("elementwise")
_DEPTH = 6
_POSITIONS = DRAWN | {"arange", "eye"}  # of which a test leaves something by chance, or by its place


def elements(predicate: Predicate, context: Context) -> Truth:
    """Whether it is shown to have at least so many elements."""
    value = value_of(predicate, context)
    fewer = _can_be_single if float(predicate.args[1]) > 1 else _can_be_empty
    return fewer(value, context).negated()


def _can_be_single(value: Value, context: Context, depth: int = _DEPTH) -> Truth:
    """Nothing shows that the reduction runs over more than one element, nor that what it is computed from has more."""
    value = stripped(value)
    if value.key in context.plural or value.kind not in (Kind.TENSOR, Kind.UNKNOWN):
        return Truth.NO
    spread = [one for one in value.operands.values() if one.kind in (Kind.TENSOR, Kind.UNKNOWN)]
    if (
        depth
        and value.op in _ELEMENTWISE
        and Truth.NO in (_can_be_single(one, context, depth - 1) for one in spread)
    ):
        return Truth.NO
    return Truth.MAYBE


def _can_be_empty(value: Value, context: Context) -> Truth:
    """Nothing shows that a mask leaves an element; what no mask has to do with is taken not to be empty."""
    inner, hidden = stripped(value), _masked_part(value, _DEPTH)
    if hidden is not None:
        return _leaves_none_in_a_row(*hidden)
    spared = keeps_rows(context.root.operands) is not None or selects_classes(context.root)
    mask = (selecting_mask(value) if not spared else None) or (inner if context.root.op == "div" else None)
    shown = {inner.key} if context.root.first is None else {inner.key, stripped(context.root.first).key}
    if (target := context.root.operands.get("target")) is not None:
        shown.add(about(target).key)  # a loss has an element for each of its target's
    if not shown.isdisjoint(context.nonempty):
        return Truth.NO
    if mask is None and places_reduced(context.root, context) is not None:
        return Truth.MAYBE
    if mask is None or mask.op in _WEIGHTS:
        return Truth.NO
    return _can_be_false(mask, context)


def _masked_part(scores: Value, depth: int) -> tuple[Value, Value] | None:
    """What is -inf by a mask in scores, themselves or what was added to them, and that mask.

    `masked_fill(scores, mask, -inf)`, `where(kept, scores, -inf)`, `scores / t + log(kept)`.
    """
    inner = stripped(scores)
    if inner.op == "log" and inner.first is not None and holds_truth(inner.first):
        return inner, inner.first
    if any(believed(operand).interval.hi == -math.inf for operand in inner.operands.values()):
        mask = inner.operands.get("mask") or inner.operands.get("condition")
        return (inner, mask) if mask is not None else None
    if inner.op not in _LINEAR or not depth or not inner.interval.contains(-math.inf):
        return None
    parts = (_masked_part(operand, depth - 1) for operand in inner.operands.values())
    return next((part for part in parts if part is not None), None)


def _leaves_none_in_a_row(value: Value, mask: Value) -> Truth:
    """Masked by something that is not known to spare an element of each row, as a causal mask does."""
    if _spares(mask, 8, hides=not _keeps_what_is_true(value)):
        return Truth.NO
    return Truth.YES if _tests_data(mask) else Truth.MAYBE


def _tests_data(mask: Value) -> bool:
    """Whether a mask is a comparison, made here, of what is neither drawn at random nor a position."""
    parts = list(behind(unnegated(mask)))
    return any(v.op in (COMPARISONS | FINITE_TESTS) for v in parts[:1]) and not any(
        v.op in _POSITIONS for v in parts
    )


def _keeps_what_is_true(value: Value) -> bool:
    """Whether it is where the test fails that the scores are masked: `where(kept, scores, -inf)`, `log(kept)`."""
    rest = value.operands.get("other" if value.op == "where" else "input")
    return value.op == "log" or (rest is not None and believed(rest).interval.hi == -math.inf)


def _spares(mask: Value, depth: int, hides: bool) -> bool:
    """Whether a mask leaves an element in each row; where it is true it `hides` elements, or keeps them."""
    if mask.op == "eye":
        return not hides  # `~pairs | eye` keeps the diagonal out, `~pairs & ~eye` keeps it in
    if mask.op in _SPARING or _is_diagonal(mask) or (hides and _is_lifted_where_whole(mask)):
        return True
    if mask.op in COMPARISONS and _leaves_itself(mask, hides):
        return True
    if mask.op == "where" and _is_opened(mask, hides):
        return True
    if depth == 0 or mask.op == "arange":
        return False
    if mask.op == "sub" and "other" in mask.operands:
        one, other = mask.operands["input"], mask.operands["other"]
        return _spares(one, depth - 1, hides) or _spares(other, depth - 1, not hides)
    turned = hides is not _negates(mask)
    return any(_spares(v, depth - 1, turned) for v in mask.operands.values())


def _leaves_itself(mask: Value, hides: bool) -> bool:
    """Whether a comparison of all pairs of positions leaves each its own: `i[None] > i[:, None]`, `abs(i - j) > 5`."""
    one, other = mask.operands["input"], mask.operands["other"]
    if are_all_pairs(one, other):
        return mask.op in (("gt", "lt", "ne") if hides else ("ge", "le", "eq"))
    within = mask.op == "gt" if hides else mask.op in ("le", "lt")
    least = other.interval.lo
    return within and is_of_all_pairs(one) and (least > 0 or (least == 0 and mask.op != "lt"))


def _negates(mask: Value) -> bool:
    """Whether a test is true where what it tests is not."""
    other = mask.operands.get("other")
    if mask.op == "eq" and other is not None:
        return other.constant() in (0, False)
    if mask.op == "ne" and other is not None:
        return other.constant() in (1, True)
    return mask.op in ("logical_not", "lt", "le")


def _is_lifted_where_whole(mask: Value) -> bool:
    """Whether a row that would be masked throughout is not masked at all: `mask & ~mask.all(-1, keepdim=True)`."""
    sides = [stripped(side) for side in mask.operands.values()] if mask.op == "logical_and" else []
    if len(sides) != 2:
        return False
    for one, other in (sides, sides[::-1]):
        asked = _asked_of_rows(other.first, "all") if other.op == "logical_not" else None
        if asked is not None and stripped(asked).key == one.key:
            return True
    return False


def _asked_of_rows(test: Value | None, quantifier: str) -> Value | None:
    """The mask of which a test asks for `any` or `all` of each row; asked of the whole, it says nothing of a row."""
    if test is None or stripped(test).op != quantifier or "dim" not in stripped(test).operands:
        return None
    return stripped(test).first


def _is_opened(mask: Value, hides: bool) -> bool:
    """Whether the rows that nothing is left of were opened: `mask[~mask.any(-1)] = True`, `mask[mask.all(-1)] = False`."""
    fill, rest = mask.operands.get("input"), mask.operands.get("other")
    if fill is None or rest is None or fill.constant() not in (not hides, int(not hides)):
        return False
    test = stripped(mask.operands["condition"])
    if hides:
        asked = _asked_of_rows(test, "all")
    else:
        asked = _asked_of_rows(test.first, "any") if test.op == "logical_not" else None
    return asked is not None and asked.node is rest.node


def _is_diagonal(value: Value) -> bool:
    """Whether a diagonal was assigned: `adjacency[:, i, i] = 1`."""
    if value.op != "overwritten" or not isinstance(value.data, Value) or value.data.kind is not Kind.SEQUENCE:
        return False
    places = [part.key for part in value.data.data if part.kind is Kind.TENSOR]
    return len(places) == 2 and len(set(places)) == 1


def _can_be_false(mask: Value, context: Context) -> Truth:
    """Whether a mask may be false throughout."""
    if (
        truth_of(mask).key in context.selecting
        or _is_shown(context.root, mask.key, 6)
        or meets_its_extreme(mask)
    ):
        return Truth.NO
    return Truth.YES if _tests_data(mask) else Truth.MAYBE


def _is_shown(value: Value, mask: int, depth: int) -> bool:
    """Whether the selection by a mask comes from a path that had shown it to hold an element."""
    index = value.operands.get("index") or value.operands.get("mask")
    if index is not None and stripped(index).key == mask and value.guard == NONEMPTY:
        return True
    return depth > 0 and any(_is_shown(v, mask, depth - 1) for v in value.operands.values())
