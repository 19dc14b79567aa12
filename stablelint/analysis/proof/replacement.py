"""Guards that come after the operation: `where`, `masked_fill` and `nan_to_num` over its result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Set

from stablelint.analysis.interpret.paths.conditions import assume
from stablelint.analysis.interpret.paths.contexts import CREATIONS
from stablelint.analysis.proof.judge import differentiable
from stablelint.analysis.proof.produced import vanishes_with
from stablelint.analysis.proof.uses import keys_within, passes_gradient
from stablelint.analysis.values.families import CONDITIONS, FINITE_TESTS
from stablelint.analysis.values.masks import found_by
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.selections import selector
from stablelint.analysis.values.state import IN_PLACE, Frame, State
from stablelint.analysis.values.transfer import format_of, result_interval
from stablelint.analysis.values.value import Attained, Kind, Value
from stablelint.analysis.values.views import behind, laid_alike, stripped
from stablelint.catalog.contract import Comparison
from stablelint.numerics.interval import TOP, Interval
from stablelint.numerics.ranges import range_of
from stablelint.records import dataclass, replace
from stablelint.syntax.operations import SELECTIONS, VIEWS, having

_REPLACING = having("replace")
_BOUNDING = having("bound") | {"clamp"}
_COMPUTED = having("elementwise", "cast")
GROUPED = having("scatter")
_SCALING = having("scale")
_ELEMENTWISE = VIEWS | frozenset({"log", "pow", "sqrt", "neg", "div"})
_ROWS = frozenset({"softmax", "log_softmax"})
_TESTS = CONDITIONS | FINITE_TESTS
_CARRIERS = VIEWS | {"dropout"}
_ONE_BY_ONE = (
    VIEWS | SELECTIONS | having("elementwise", "replace", "bound") | {"clamp", "index", "overwritten"}
)
_SUMMARIES = frozenset("norm sqrt sum mean pow abs neg exp softplus sigmoid".split())
_SCALING = having("linear")
_SIZES = having("size")
_SHIFTED = VIEWS | SELECTIONS | having("product") | frozenset("add sub mul neg square index".split())
_DEPTH = 8
_SMALL = 1e-4  # of a number from here on single precision keeps three digits of its sum with 1


@dataclass(frozen=True, slots=True)
class Obligation:
    """An operation whose operand may be bad, where a function computes it."""

    value: Value
    operand: Value | None
    gradient: bool  # gradients are recorded at this place
    frame: Frame
    needs: tuple[Comparison, ...] = ()  # what the operand must fulfil for a finite value


@dataclass(frozen=True, slots=True)
class Replacement:
    """An operation that replaces some elements of another's result, and the keys of what it is made from."""

    value: Value
    made_from: frozenset[int]
    feels: frozenset[int]  # those of them through which a gradient flows

    @property
    def test(self) -> Value | None:
        """The condition or mask."""
        return self.value.operands.get("condition") or self.value.operands.get("mask")


def replacements(observed: Iterable[Value]) -> list[Replacement]:
    """The replacements_ among the operations of a function."""
    found: list[Replacement] = []
    for value in observed:
        if value.op in _REPLACING:
            branches = [v for n, v in value.operands.items() if n not in ("condition", "mask")]
            made_from = _reach(branches, lambda v: v.op not in CREATIONS)
            found.append(Replacement(value, made_from, _reach(branches, passes_gradient)))
        elif value.op in _BOUNDING and value.first is not None:
            felt = _reach([value.first], lambda v: _scales(v) and passes_gradient(v))
            found.append(Replacement(value, _reach([value.first], _scales), felt))
    return found


def replacement_of(
    site: Obligation, later: Sequence[Replacement], observed: Iterable[tuple[Value, object]]
) -> Replacement | None:
    """The later operation that replaces this site's result where its operand is bad, before anything else reads it.

    `where` and `masked_fill` count only when their test speaks of the operand.
    """
    hiding = [one for one in later if _hides(one, site) and not _keeps_the_bad(one, site)]
    hidden = {one.value.key for one in hiding}
    return None if not hiding or _is_read(site, hidden, _ONE_BY_ONE, observed) else hiding[0]


def believing(site: Obligation, later: Sequence[Replacement]) -> tuple[Obligation, tuple[Assumption, ...]]:
    """The obligation as it is if all settings stay as they are, and what is assumed then.

    Nothing that it is made of is divided by 0, which would be another flaw.
    """
    state, on = site.frame.state.copy(), dict[Assumption, None]()
    made_from = [one for one in (site.operand, *(found.test for found in later)) if one is not None]
    for value in (part for one in made_from for part in behind(one)):
        if value.belief is not None and value.kind is not Kind.TENSOR:  # whose elements are tested one by one
            state.learn(value, value.belief.interval)
            on.update(dict.fromkeys(value.belief.on))
    for value in behind(site.operand) if site.operand is not None else ():
        divisor = value.operands.get("other") if value.op == "div" else None
        if divisor is not None:
            assume(divisor, True, state)
    return replace(site, frame=replace(site.frame, state=state)), tuple(on)


def replacement_in_part(site: Obligation, later: Sequence[Replacement]) -> Replacement | None:
    """The later operation that replaces this site's result for some bad operands, if not for all of them."""
    return next((one for one in later if _hides(one, site) and not _keeps_the_result(one, site)), None)


def _keeps_the_result(replacement: Replacement, site: Obligation) -> bool:
    """Whether whatever `where` takes is the site's result, but for sums and factors: what is bad stays so."""
    branches = [v for n, v in replacement.value.operands.items() if n != "condition"]
    return replacement.value.op == "where" and all(
        site.value.key in _reach([branch], lambda v: v.op in _SHIFTED) for branch in branches
    )


def is_replaced(site: Obligation, replacement: Replacement) -> bool:
    """Whether the replacement, whatever it tests, may yield something that is not made of the site's result."""
    if site.value.key not in replacement.made_from or replacement.value.op in _BOUNDING:
        return False
    if replacement.value.op != "where":
        return True
    other = replacement.value.operands.get("other")
    branches = [replacement.value.operands["input"], *([other] if other is not None else [])]
    return not all(site.value.key in _reach([branch], lambda v: True) for branch in branches)


def is_doubled(site: Obligation, replacement: Replacement) -> bool:
    """Whether the operand is masked by the same test as the result: the double `where` that keeps gradients finite."""
    operand = site.operand
    if operand is None or replacement.test is None:
        return False
    inner = stripped(operand)
    for _ in range(_DEPTH):
        if inner.op not in _SUMMARIES or inner.first is None:
            break
        inner = stripped(inner.first)  # a function of what was replaced, the length of a vector, say
    own = inner.operands.get("condition") or inner.operands.get("mask")
    return inner.op in ("where", "masked_fill") and own is not None and _same_test(own, replacement.test)


def wiped_away(site: Obligation, later: Sequence[Replacement]) -> Replacement | None:
    """The later operation that replaces the NaN of a site, if no gradient flows through it."""
    if differentiable(site.value, site.gradient):
        return None
    wiping = (one for one in later if site.value.key in one.made_from)
    return next((one for one in wiping if one.value.op == "nan_to_num" or _finds_nan(one, site.value)), None)


def _finds_nan(replacement: Replacement, result: Value) -> bool:
    return replacement.test is not None and "nan" in found_by(replacement.test, result)


def is_masked_again(
    site: Obligation, later: Sequence[Replacement], observed: Iterable[tuple[Value, object]]
) -> bool:
    """Whether what a softmax yields for masked elements is replaced before anything is computed from it.

    The mask under the softmax keeps every gradient from its scores, so that a row of NaN reaches nothing.
    """
    scores = stripped(site.value.first) if site.value.first is not None else site.value
    own = scores.operands.get("mask") or scores.operands.get("condition")
    if site.value.op not in _ROWS or own is None:
        return False
    result = site.value
    hiding = [h for h in later if h.test is None or _same_test(h.test, own) or _finds_nan(h, result)]
    hidden = {h.value.key for h in hiding if site.value.key in h.made_from}
    return bool(hidden) and not _is_read(site, hidden, _CARRIERS, observed)


def _is_read(
    site: Obligation, hiding: Set[int], carriers: Set[str], observed: Iterable[tuple[Value, object]]
) -> bool:
    """Whether a site's result is returned, or mixed with others, elsewhere than in what replaces its bad elements.

    It is followed through `carriers`, which leave each element where it stands; tests of it make nothing of it.
    """
    carried = {site.value.key}
    for value, _ in observed:
        if (
            value.key in hiding
            or value.op in _TESTS
            or carried.isdisjoint(keys_within(value.operands.values()))
        ):
            continue
        if value.op not in carriers:
            return True
        carried.add(value.key)
    return not carried.isdisjoint(keys_within(site.frame.returns))


def feels_gradient(site: Obligation, replacement: Replacement) -> bool:
    """Whether a gradient flows back through the replacement to the site's operand."""
    operand = site.operand
    if operand is None or site.value.kind is Kind.NUMBER or replacement.value.kind is Kind.ARRAY:
        return False
    felt = any(differentiable(value, site.gradient) for value in felt_operands(site.value, operand))
    return felt and site.value.key in replacement.feels


def felt_operands(result: Value, operand: Value) -> tuple[Value, ...]:
    """The operands whose gradient a bad one spoils: of a quotient, the numerator's is divided by it, too."""
    return (operand, result.operands["input"]) if result.op == "div" else (operand,)


def is_empty_group(site: Obligation) -> bool:
    """Whether the operand is bad only for a group without an element, whose gradient reaches none."""
    operand = site.operand
    return operand is not None and _groups(operand, 4) is not None


def _groups(value: Value, depth: int) -> list[Value] | None:
    """The grouped sums that a value is, on any path, if only a group without an element makes it 0."""
    value = stripped(value, _ELEMENTWISE)
    if value.op == "phi" and depth:
        parts = [v for v in value.operands.values() if v.zero >= Attained.SATURATION]
        found = [_groups(part, depth - 1) for part in parts]
        return None if not found or None in found else [g for groups in found for g in groups or ()]
    if value.op == "bincount":
        return [value]
    source = value.operands.get("src") or value.operands.get("source")
    if value.op not in GROUPED or source is None or source.zero >= Attained.SATURATION:
        return None
    return [value]


def is_gathered(site: Obligation, observed: Iterable[tuple[Value, object]]) -> bool:
    """Whether a grouped sum's empty groups are never read: what is made of it is only indexed by the groups."""
    operand = site.operand
    groups = _groups(operand, 4) if operand is not None else None
    if groups is None:
        return False
    grouped_by = [g.operands.get("input" if g.op == "bincount" else "index") for g in groups]
    indices = {stripped(index).key for index in grouped_by if index is not None}
    made = {site.value.key}
    read = False
    for value, _ in observed:
        uses = [v for v in value.operands.values() if v.key in made]
        if not uses or value.key in made:
            continue
        if value.op in ("index", "gather", "index_select"):
            if stripped(value.operands["index"]).key not in indices:
                return False
            read = True
        elif value.op in VIEWS or value.op in _ELEMENTWISE or value.op in _SCALING:
            made.add(value.key)
        else:
            return False
    return read


def takes_where_true(site: Obligation, replacement: Replacement) -> bool:
    """Whether the site's result is what `where` yields where its condition holds."""
    if replacement.value.op != "where":
        return False
    return site.value.key in _reach([replacement.value.operands["input"]], lambda v: True)


def taken_far_from_0(
    site: Obligation, later: Sequence[Replacement], observed: Iterable[tuple[Value, object]]
) -> bool:
    """Whether a `where` takes this site's result for operands that are not small alone, before anything else reads it."""
    operand = site.operand
    choices = (one for one in later if one.value.op == "where" and site.value.key in one.made_from)
    for one in choices if operand is not None else ():
        test = selector(one.test) if one.test is not None else None
        if test is None or operand is None or _is_read(site, {one.value.key}, _ONE_BY_ONE, observed):
            continue
        state = replace(site.frame.state.copy(), following=IN_PLACE)
        assume(test, takes_where_true(site, one), state)
        sizes = (part for part in behind(test) if _measured(part).key == _measured(operand).key)
        if any(_nearest_0(state.effective(size)) >= _SMALL for size in sizes):
            return True
    return False


def _measured(value: Value) -> Value:
    """What a value is the size, the negative or a view of."""
    inner = stripped(value)
    return _measured(inner.first) if inner.op in ("abs", "neg") and inner.first is not None else inner


def _nearest_0(lies: Interval) -> float:
    """How near to 0 an interval comes."""
    return max(0.0, lies.lo, -lies.hi)


def _same_test(one: Value, other: Value) -> bool:
    if stripped(one).key == stripped(other).key:
        return True
    for negated, plain in ((stripped(one), stripped(other)), (stripped(other), stripped(one))):
        if negated.op == "logical_not" and negated.first is not None:
            if stripped(negated.first).key == plain.key:
                return True
    return False


def _hides(replacement: Replacement, site: Obligation) -> bool:
    if site.value.key not in replacement.made_from or site.value.kind is Kind.NUMBER:
        return False  # a number of Python's raises where it is divided by 0
    if replacement.value.op == "nan_to_num":
        return True
    if replacement.value.op in _BOUNDING:
        produced, bounded = _produced(site), replacement.value
        if stripped(bounded.operands["input"]).key != site.value.key and "nan" not in produced:
            produced = frozenset({-math.inf, math.inf})  # what it is scaled by may be negative
        ended = {end for name, end in (("min", -math.inf), ("max", math.inf)) if _ends(bounded, name, end)}
        return not feels_gradient(site, replacement) and produced <= ended
    operand = site.operand
    if replacement.test is None or operand is None:
        return False
    if _is_of_result(replacement, site):
        return True
    if _replaces_the_good(replacement, site):
        return False
    operand = stripped(operand)
    sources = {operand.key}
    if operand.op not in SELECTIONS and operand.op not in ("part", "index", "attribute", "item"):
        sources |= {stripped(v).key for v in operand.operands.values() if not v.is_constant}
    # Any other test of the operation's own result says nothing of the operand.
    spoken = _reach([replacement.test], lambda v: v.key != site.value.key and _tells(v))
    return bool(spoken & sources)


def _ends(bounded: Value, bound: str, infinity: float) -> bool:
    """Whether a clamp puts an end to an infinity: by a bound that is finite, or that somebody gives."""
    given = bounded.operands.get(bound)
    finite = infinity not in (bounded.interval.lo, bounded.interval.hi)
    return finite or (given is not None and given.kind is not Kind.TENSOR and given.constant() != infinity)


def _tells(value: Value) -> bool:
    """Whether what a value is made of is known once it is: a test, or a function of one operand and numbers.

    Of a product that is not 0 no factor is. Of what one of several paths makes, each path is looked at. A size tells of
    no element.
    """
    if value.op in _SIZES:
        return False
    made_of = [v for v in value.operands.values() if v.kind is not Kind.NUMBER and not v.is_constant]
    return len(made_of) < 2 or value.op in ("phi", "mul") or value.op in CONDITIONS or value.op in _REPLACING


def _is_of_result(replacement: Replacement, site: Obligation) -> bool:
    """Whether the test finds what is bad in the result itself, or has replaced the operand before."""
    return replacement.test is not None and (
        _catches(replacement.test, site) or is_doubled(site, replacement)
    )


def _keeps_the_bad(replacement: Replacement, site: Obligation) -> bool:
    """Whether the test tells where the operand lies that is not replaced, and that is not within its domain.

    `where(x < 1, 1 / x, 0)` keeps the quotient by 0, and `where(x > -1, x.log(), 0)` the logarithm of 0.
    """
    if replacement.test is None or _is_of_result(replacement, site):
        return False
    left = _tested(replacement, site, takes_where_true(site, replacement))
    return left is None or not _is_met(site, left)


def _replaces_the_good(replacement: Replacement, site: Obligation) -> bool:
    """Whether the operand is within its domain, and not 0, wherever the result is replaced: there is nothing to hide."""
    replaced = _tested(replacement, site, not takes_where_true(site, replacement))
    return replaced is not None and not replaced.contains(0.0) and _is_met(site, replaced)


def _tested(replacement: Replacement, site: Obligation, truth: bool) -> Interval | None:
    """Where the operand lies if the test is `truth`; None where the test does not tell."""
    operand, known = site.operand, site.frame.state
    if replacement.test is None or operand is None or _is_of_result(replacement, site):
        return None
    test, operand = laid_alike(selector(replacement.test), operand)
    state = replace(known.copy(), following=IN_PLACE)
    assume(test, truth, state)
    keys = (v.key for v in behind(operand, lambda v: v.op not in _COMPUTED))
    if all(state.facts.get(key) == known.facts.get(key) for key in keys):
        return None
    return _range_of(operand, state, _DEPTH).without_nan()


def _is_met(site: Obligation, lies: Interval) -> bool:
    """Whether an operand that lies there is within its domain."""
    return site.operand is not None and all(c.proved_by(lies, format_of(site.operand)) for c in site.needs)


def _range_of(value: Value, state: State, depth: int) -> Interval:
    """Where a value lies by what was tested of what it is computed from, element by element."""
    known = state.effective(value)
    if known != value.interval or not depth or value.op not in _COMPUTED:
        return known
    ranges = {name: _range_of(v, state, depth - 1) for name, v in value.operands.items()}
    return result_interval(value.op, value.operands, ranges, format_of(value))


def _catches(test: Value, site: Obligation) -> bool:
    """Whether the test finds all that is not finite in the result itself: `~isfinite(y)`, `y == inf`."""
    found = found_by(test, site.value)
    return bool(found) and _produced(site) <= found


def _produced(site: Obligation) -> frozenset[object]:
    """What the operation yields for the operands that break its contract."""
    result = site.value
    if result.op == "div" and vanishes_with(result.operands.get("input"), site.operand):
        return frozenset({"nan"})
    ranges = [site.frame.state.effective(v) for v in result.operands.values()]
    lies = range_of(result.op, ranges, {}, format_of(result)) or TOP.with_nan()
    ends = [end for end, is_open in ((lies.lo, lies.lo_open), (lies.hi, lies.hi_open)) if not is_open]
    return frozenset(filter(math.isinf, ends)) | ({"nan"} if lies.nan else frozenset())


def _scales(value: Value) -> bool:
    """Whether a value is another in another shape, or scaled and shifted by numbers: an infinity survives all but a 0."""
    others = list(value.operands.values())[1:]
    scaled = value.op in _SCALING and all(
        v.kind is not Kind.TENSOR and v.zero < Attained.SATURATION for v in others
    )
    return scaled or value.op in VIEWS


def factors_before(site: Obligation, replacement: Replacement) -> Iterator[Value]:
    """The numbers that multiply a site's result before an end is put to it, and may be 0: an infinity becomes NaN then."""
    value = replacement.value.first if replacement.value.op in _BOUNDING else None
    while value is not None and value.key != site.value.key:
        factor = value.operands.get("other") if value.op == "mul" else None
        if factor is not None and factor.interval.contains(0.0):
            yield factor
        value = value.first


def _reach(starts: Sequence[Value], enters: Callable[[Value], bool]) -> frozenset[int]:
    """Keys of the values within reach, breadth first; values that `enters` refuses are named but not passed."""
    keys: set[int] = set()
    level = list(starts)
    for _ in range(_DEPTH + 1):
        below: list[Value] = []
        for value in level:
            if value.key not in keys:
                keys.add(value.key)
                if enters(value):
                    below.extend(value.operands.values())
        level = below
    return frozenset(keys)
