"""What a test establishes: branches, asserts, masks and `torch.where` narrow the values they speak of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from stablelint.analysis.values.families import FINITE_TESTS
from stablelint.analysis.values.masks import holds_truth, truth_of
from stablelint.analysis.values.selections import places_reduced, places_taken, selector, shows_an_element
from stablelint.analysis.values.state import IN_PLACE, Frame, State, identity
from stablelint.analysis.values.value import NUMERIC, Kind, Value, believed
from stablelint.analysis.values.views import laid_alike, stripped
from stablelint.numerics.formats import INTEGERS
from stablelint.numerics.interval import TOP, Interval
from stablelint.syntax.operations import VIEWS, having

_FLIP = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_SIZES = having("size") - {"shape"}
_COUNTS = having("total") | {"count_nonzero"} | _SIZES
_TOTALS = having("total")  # not 0 where some element is not
_COUNTS_OF_ALL = ("sum", "count_nonzero")
_SMALLER = frozenset({"python.min", "minimum"})  # of two counts
_GAPS = {  # of what is compared
    "lt": Interval(-math.inf, 0.0, hi_open=True),
    "le": Interval(-math.inf, 0.0),
    "gt": Interval(0.0, math.inf, lo_open=True),
    "ge": Interval(0.0, math.inf),
    "eq": Interval.point(0.0),
    "ne": Interval(-math.inf, math.inf, nonzero=True),
}
_NOT = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


_CASTS = having("cast")
_OF_MANY = frozenset({"all", "any"})
_OF_TRUTHS = _CASTS | having("copy") | {"logical_and", "logical_or", "logical_not", "mul", "bool"}
_AT_LEAST_ONE = Interval(1.0, math.inf, hi_open=True)
_SINGLE = ("item", "bool", "is_nonzero")  # what asks the only element of a tensor
_NONZERO = Interval(-math.inf, math.inf, True, True, nonzero=True)


def assume(test: Value, truth: bool, state: State) -> None:
    """Records in `state` what follows from `test` being true (or false) for every element."""
    op = test.op
    operands = list(test.operands.values())
    if op in ("logical_not", "python.not") and operands:
        assume(operands[0], not truth, state)
    elif op in ("logical_and", "python.and", "mul") and truth:
        for operand in operands:
            assume(operand, True, state)
    elif op in ("logical_or", "python.or") and not truth:
        for operand in operands:
            assume(operand, False, state)
    elif op in ("logical_and", "logical_or", "python.and", "python.or"):
        one, other = (_not_zero(operands[end], truth) for end in (0, -1))
        if one is not None and other is not None and len(operands) == 2:
            state.tell_from_zero(one, other)
    elif op in _NOT and len(operands) == 2:
        compare(op if truth else _NOT[op], operands[0], operands[1], state)
    elif (op in ("all", "any", "python.all", "python.any") or op in _SINGLE) and operands:
        _quantified(op.removeprefix("python."), operands[0], truth, state)
        if op == "item" and truth:
            _truthy(test, state)
    elif op in FINITE_TESTS or op == "isclose":
        return
    elif op in state.following and op in VIEWS and (truth or op not in _CASTS or holds_truth(test)):
        assume(operands[0], truth, state)
    elif truth:
        _truthy(test, state)
    elif test.kind in NUMERIC and _is_open(test):
        state.learn(test, Interval.point(0.0))


def _not_zero(test: Value, truth: bool) -> Value | None:
    """The value that is not 0, or is above it, where a test is true (or false)."""
    operands = list(test.operands.values())
    if test.op in ("logical_not", "python.not") and operands:
        return _not_zero(operands[0], not truth)
    if test.op in _NOT and len(operands) == 2:
        left, right = operands
        says = test.op if truth else _NOT[test.op]
        sides = (says, left, right), (_FLIP[says], right, left)
        return next((value for says, value, bound in sides if _tells_from_zero(says, bound)), None)
    return test if truth and test.kind in NUMERIC else None


def _tells_from_zero(op: str, bound: Value) -> bool:
    """Whether what stands so to a number is not 0, or above it."""
    number = bound.constant()
    if not isinstance(number, int | float):
        return False
    return (op == "ne" and number == 0) or (op == "gt" and number >= 0)


def _is_open(value: Value) -> bool:
    """Whether a test can tell something of a value: it is no literal, or one that a caller may override."""
    return not value.is_constant or value.assumed


def _truthy(test: Value, state: State) -> None:
    if test.interval.lo >= 0 and test.interval.integral:
        state.learn(test, _AT_LEAST_ONE)
    elif test.kind is not Kind.SEQUENCE:
        state.learn(test, _NONZERO)
    state.nonempty |= {test.key}
    state.selecting |= {test.key}
    if _shows_elements(test, _NONZERO, state):
        _counted(test, Interval(0.0, math.inf, lo_open=True), state)


def _quantified(op: str, operand: Value, truth: bool, state: State) -> None:
    if (op == "all" or op in _SINGLE) and truth:
        assume(operand, True, state)
    if op == "any" and not truth:
        assume(operand, False, state)
    if op == "any" and truth:
        state.selecting |= {truth_of(operand).key}


def compare(op: str, left: Value, right: Value, state: State) -> None:
    """Records what follows where `left` stands to `right` as the comparison `op` says."""
    _bound(op, left, state.effective(right), state)
    _bound(_FLIP[op], right, state.effective(left), state)
    _suppose(op, left, right, state)
    _suppose(_FLIP[op], right, left, state)
    one, other = identity(left), identity(right)
    state.relate(one, other, _GAPS[op])
    state.relate(other, one, _GAPS[_FLIP[op]])
    for element, bound, sign in ((left, other, op), (right, one, _FLIP[op])):
        if element.op in ("index", "amax", "amin") and element.first is not None:
            state.gaps.setdefault((("some", stripped(element.first).key), bound), _GAPS[sign])


def picks_something(mask: Value, state: State) -> bool:
    """Whether one element of a tensor is known to pass a test: `x > t`, where `x[i] > t` has been tested."""
    if mask.op not in _NOT or len(mask.operands) != 2 or not state.gaps:
        return False
    left, right = mask.operands.values()
    gap = state.gaps.get((("some", stripped(left).key), identity(right)))
    return gap is not None and gap == _GAPS[mask.op]


def _learned(op: str, subject: Value, bound: Interval) -> Interval | None:
    """Where a value lies that compares so with what lies in `bound`; None where that tells nothing."""
    if not _is_open(subject) or subject.kind in (Kind.STRING, Kind.FOREIGN, Kind.NONE):
        return None
    learned: Interval | None = None
    if op in ("gt", "ge") and -math.inf < bound.lo < math.inf:
        learned = Interval(bound.lo, math.inf, lo_open=op == "gt" or bound.lo_open)
    elif op in ("lt", "le") and -math.inf < bound.hi < math.inf:
        learned = Interval(-math.inf, bound.hi, hi_open=op == "lt" or bound.hi_open)
    elif op == "eq" and bound != TOP and bound.is_bounded:
        learned = bound
    elif op == "ne" and bound.is_point and bound.lo == 0.0:
        learned = Interval(-math.inf, math.inf, nonzero=True)
    if learned is not None and subject.interval.integral and learned.lo_open and math.isfinite(learned.lo):
        return Interval(math.floor(learned.lo) + 1.0, learned.hi, False, learned.hi_open, learned.nonzero)
    return learned


def _suppose(op: str, subject: Value, setting: Value, state: State) -> None:
    """What a comparison with a setting tells as long as that stays as it is, of a value and of what it shows."""
    learned = _learned(op, subject, state.believed(setting)) if setting.belief is not None else None
    while learned is not None and setting.belief is not None:
        state.suppose(subject, learned, setting.belief.on)
        if subject.first is None or not (subject.op == "item" or subject.op in state.following & VIEWS):
            return
        subject = subject.first


def _bound(op: str, subject: Value, bound: Interval, state: State) -> None:
    learned = _learned(op, subject, bound)
    if learned is None:
        return
    state.learn(subject, learned)
    _through(op, subject, learned, state)
    if _shows_elements(subject, learned, state):
        _counted(subject, learned, state)
    if learned.hi <= 0 and _is_count_of_truths(subject):
        assume(truth_of(subject.operands["input"]), False, state)


def _shows_elements(subject: Value, learned: Interval, state: State) -> bool:
    """Whether a count or total that lies so has something to count; the mean of nothing is NaN, which is not 0 either."""
    if learned.lo > 0 or (learned.lo == 0 and learned.lo_open):
        return True
    count = stripped(subject, ("item",))
    if not learned.nonzero or (count.op == "mean" and places_reduced(count, state) is not None):
        return False
    return count.interval.lo >= 0 or count.op in _SMALLER | _TOTALS


def _is_count_of_truths(value: Value) -> bool:
    """Whether a value says how many elements of a mask are true."""
    return (
        value.op in _COUNTS_OF_ALL
        and value.operands.keys() == {"input"}
        and holds_truth(value.operands["input"])
    )


def _counted(count: Value, learned: Interval, state: State) -> None:
    """A count that is positive: there is something that was counted."""
    count = stripped(count, ("item",))
    if count.op in _SMALLER:  # the smaller one is positive: so are both
        for part in count.operands.values():
            _counted(part, learned, state)
    if count.op not in _COUNTS or count.first is None:
        return
    if not shows_an_element(count):
        return
    selection = stripped(count.first)
    state.nonempty |= {selection.key}
    if count.op not in _SIZES:
        state.selecting |= {truth_of(count.first).key}
    if (
        places := places_taken(selection)
    ) is not None:  # a selection with an element: its mask has a true one
        state.nonempty |= {places.key}
        state.selecting |= {truth_of(selector(places)).key}
    if selector(count.first) is not count.first:
        state.selecting |= {truth_of(selector(count.first)).key}
    if learned.lo > 1 and count.op != "mean":
        state.plural |= {selection.key}


def _through(op: str, subject: Value, learned: Interval, state: State) -> None:
    """A test of `abs(x)`, of a view, of a maximum or of a product says something of the operands."""
    inner = subject.first
    if inner is None:
        return
    if subject.op == "mul" and not learned.contains(0.0):
        _factors(subject, state)
    elif (subject.op == "abs" and learned.lo > 0) or (
        subject.op == "abs" and learned.lo == 0 and learned.lo_open
    ):
        state.learn(inner, Interval(-math.inf, math.inf, nonzero=True))
    elif subject.op == "abs" and 0 < learned.hi < math.inf:
        state.learn(inner, Interval(-learned.hi, learned.hi, learned.hi_open, learned.hi_open))
    elif (
        (subject.op in ("amin",) and op in ("gt", "ge"))
        or (subject.op in ("amax",) and op in ("lt", "le"))
        or subject.op == "item"
        or (subject.op in state.following and subject.op in VIEWS and subject.dtype not in INTEGERS)
    ):
        state.learn(inner, learned)
        _through(op, inner, learned, state)


def _factors(product: Value, state: State) -> None:
    """A product that is not 0 has no factor that is, unless another is infinite: 0 * inf is NaN, which is not 0."""
    parts = list(product.operands.values())
    for part in parts:
        if not any(state.effective(other).reaches_infinity for other in parts if other is not part):
            state.learn(part, _NONZERO)


def narrowed_by(
    mask: Value,
    truth: bool,
    value: Value,
    frame: Frame,
    settings: Iterable[Value] = (),
    by_row: bool = False,
    matrix: bool = False,
) -> Interval:
    """Where the elements of `value` lie at which `mask` is `truth`, as long as what is believed of `settings` holds.

    Nothing is learnt of elements that stand elsewhere than those that were tested. `by_row` says that the mask may be
    one of the first dimensions of the value, and `matrix` that this has two; else it is laid over the last ones.
    """
    known, (tested, value) = frame.state.effective(value), laid_alike(selector(mask), value)
    if not _is_laid_over(tested, ({-1, 1} if matrix else {-1}) if by_row else set()):
        return known
    state = replace(frame.state.copy(), following=IN_PLACE)
    for setting in settings:
        state.learn(setting, believed(setting).interval)
    assume(tested, truth, state)
    told = state.effective(value)
    return known.meet(told) or told


def _is_laid_over(mask: Value, rows: set[int]) -> bool:
    """Whether each truth that a mask asks of many elements stands where those are."""
    if mask.op in _OF_MANY and "dim" in mask.operands:
        kept, dim = mask.operands.get("keepdim"), mask.operands["dim"].constant()
        return (kept is not None and kept.constant() is True) or dim in rows
    inner = mask.operands.values() if mask.op in _OF_TRUTHS else ()
    return all(_is_laid_over(part, rows) for part in inner)
