"""Which broken obligations are worth a reader's time unasked: the principles behind the level `likely`.

The judge says how well founded it is that an operand goes bad. A finding is also only as good as its consequence and
as the data that lead to it; each principle here can be said in one sentence, its function's first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from stablelint.analysis.levels.bearing import is_borne
from stablelint.analysis.levels.callers import (
    is_kept_by_callers,
    is_refused_default,
    is_refused_where_taken,
    is_scheduled,
    is_upper_bound,
    is_usual_power,
)
from stablelint.analysis.levels.counts import DOUBTS_BY_COUNT, is_masked_by_lengths, is_mean_of_the_nonzero
from stablelint.analysis.levels.digits import (
    is_a_setting,
    is_amplitude,
    is_below_its_largest,
    is_compared,
    is_lifted,
    is_logarithm_undone,
    is_norm_without_gradient,
    is_of_cosines,
    is_within_double,
)
from stablelint.analysis.levels.fates import Fate, fates_of
from stablelint.analysis.levels.harmless import (
    is_caught,
    is_compared_mean,
    is_entry_of_figures,
    is_infinite_cost_met,
    is_met_afterwards,
    is_no_share,
    is_only_drawn_from,
    is_outside_of_support,
)
from stablelint.analysis.levels.laid_out import is_of_a_grid_without_zero
from stablelint.analysis.levels.parts import DOUBTS_BY_PART
from stablelint.analysis.levels.promotion import promoted
from stablelint.analysis.levels.ratios import DOUBTS_BY_RATIO
from stablelint.analysis.levels.saturation import is_far_saturation
from stablelint.analysis.levels.untaken import DOUBTS_BY_GRADIENT
from stablelint.analysis.levels.wholes import DOUBTS_BY_WHOLE
from stablelint.analysis.levels.wording import (
    DOUBTS_BY_WORDING,
    is_announced,
    is_taken_as_angle,
)
from stablelint.analysis.matching.places import is_measured, is_shown, is_test
from stablelint.analysis.matching.provenance import needs_agreement
from stablelint.analysis.matching.roles import fills_at_random, is_deprecated, scales_invertibly
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.families import CONDITIONS, EXPONENTIALS, LOGARITHMS, WAVES
from stablelint.analysis.values.value import Ground, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.diagnostic import Level, Status

_SPREADS = frozenset("std var norm vector_norm".split())
_UNIFORM = frozenset("rand rand_like uniform_".split())
_INITIALISES = re.compile(r"^_*(re)?(init|set_parameters)|^_*reset")
_AVERAGES = frozenset(
    "div mean mse_loss l1_loss smooth_l1_loss huber_loss cross_entropy nll_loss binary_cross_entropy "
    "binary_cross_entropy_with_logits".split()
)
_EVALUATES = re.compile(r"^_?(validat\w+|val|test|eval\w*)(_|$)")
_PRODUCTS = frozenset("dot matmul bmm einsum sum".split())
_TRIANGLES = frozenset({"tril", "triu"})
_LENGTH = 8  # operations looked through


def settled(
    site: Site,
    hidden: bool = False,
    rounded: bool = False,
    pooled: bool = False,
    shared: bool = False,
    logarithm: bool = False,
) -> Site:
    """The site at the level that the evidence around it supports.

    `hidden` tells that a `where` picks from its result, `rounded` that the result becomes a whole number: neither
    digits nor a gradient are left to lose then; `pooled` that it is a spread joined with its mean, `shared` an
    exponential divided by the sum of such, `logarithm` one of what stands bare in the same sum.
    """
    judgement = site.judgement
    if not judgement.status.is_open:
        return site
    if judgement.level is not Level.LIKELY:
        raised = promoted(site, hidden, pooled, shared, logarithm)
        return site if any(doubt(site, site.value) for doubt in _DOUBTS_OF_PROMOTED) else raised
    operand = site.match.bindings.get(judgement.operand)
    if operand is None:
        is_doubted = rounded or any(doubt(site, site.value) for doubt in _DOUBTS_OF_FORMS)
    else:
        is_doubted = (
            (rounded and judgement.backward_only)
            or _is_chance(site, operand, hidden)
            or any(doubt(site, operand) for doubt in _DOUBTS)
        )
    return doubted(site) if is_doubted else site


def doubted(site: Site) -> Site:
    """The site as only possible."""
    judgement = site.judgement
    status = Status.UNGUARDED if judgement.status is Status.VIOLATED else judgement.status
    return replace(site, judgement=replace(judgement, status=status, level=Level.POSSIBLE))


def _is_chance(site: Site, operand: Value, hidden: bool) -> bool:
    """A norm, spread or maximum vanishes only if all its elements do, as raw data does and a network's output not.

    A vector that is handed over to be normalised is a direction, not raw data, unless its author has met a zero one.
    """
    return not is_upper_bound(site) and needs_agreement(operand, hidden or not _is_direction(site, operand))


def _is_direction(site: Site, operand: Value) -> bool:
    """Whether a vector, or a product with it, is divided by its own norm."""
    length = stripped(operand)
    if site.value.op != "div" or length.op not in ("norm", "vector_norm") or length.first is None:
        return False
    vector, divided = stripped(length.first).key, stripped(site.value.operands["input"])
    while divided.op == "div":
        divided = stripped(divided.operands["input"])
    if divided.key == vector:
        return True
    return divided.op in _PRODUCTS and any(v.key == vector for v in behind(divided, lambda _: False))


def _is_a_figure(site: Site, operand: Value) -> bool:
    """What a metric divides by is 0 where there is nothing to measure, and its NaN says so."""
    return operand.zero is Ground.EXACT and is_measured(site.frame.function, site.frame.module)


def _is_indicator(site: Site, operand: Value) -> bool:
    """The logarithm of a condition, or of a pattern of ones, is 0 or -inf on purpose: it forbids what is not in it."""
    return site.value.op in LOGARITHMS and _indicates(stripped(operand), _LENGTH)


def _indicates(value: Value, depth: int) -> bool:
    """Whether a value is a condition, or a triangle of ones, on all of its paths."""
    if value.op == "phi" and depth:
        return all(_indicates(stripped(path), depth - 1) for path in value.operands.values())
    if value.op in _TRIANGLES and value.first is not None and depth:
        inner = stripped(value.first)
        return inner.interval.lo == 1 == inner.interval.hi or _indicates(inner, depth - 1)
    return value.dtype == "bool" or value.op in CONDITIONS


def _is_log_of_wave(site: Site, operand: Value) -> bool:
    """Who takes the logarithm of a cosine or a sine has an angle within a right one: a schedule, a direction."""
    return site.value.op in LOGARITHMS and stripped(operand).op in WAVES


def _is_sign(site: Site, operand: Value) -> bool:
    """A negative number that is written down is raised to whole powers: `(-1) ** l` is a sign."""
    return site.value.op == "pow" and stripped(operand).is_constant and stripped(operand).interval.hi < 0


def _is_written_down(site: Site, operand: Value) -> bool:
    """A figure that only goes to a log is NaN where there was nothing to measure, and does no harm."""
    return site.value.op in _AVERAGES and fates_of(site.node, site.frame.function) == {Fate.LOGGED}


def _is_of_an_evaluation(site: Site, operand: Value) -> bool:
    """A mean over nothing is a figure without data where a step of an evaluation computes it."""
    function = site.frame.function
    return (
        site.value.op in _AVERAGES and function is not None and _EVALUATES.search(function.name) is not None
    )


def _is_counted(site: Site, operand: Value) -> bool:
    """An exponential that becomes a whole number counts something, and no count comes near the end of a format."""
    return site.value.op in EXPONENTIALS and fates_of(site.node, site.frame.function) == {Fate.ROUNDED}


def _is_ranked(site: Site, operand: Value) -> bool:
    """The logarithm of 0 comes last where only an order is taken."""
    return site.value.op in LOGARITHMS and fates_of(site.node, site.frame.function) == {Fate.RANKED}


def _is_initial_draw(site: Site, operand: Value) -> bool:
    """A uniform draw that meets the end of its range, once in 16 million, where a parameter is given its first value."""
    function, drawn = site.frame.function, stripped(operand)
    if drawn.op == "mul":
        drawn = next((stripped(v) for v in drawn.operands.values() if stripped(v).op in _UNIFORM), drawn)
    if function is None or drawn.op not in _UNIFORM:
        return False
    return _INITIALISES.search(function.name) is not None


def _is_just_filled(site: Site, operand: Value) -> bool:
    """What an initialiser has just filled at random is not constant."""
    inner = stripped(operand)
    if inner.op == "mul":
        inner = stripped(next((v for v in inner.operands.values() if v.zero is Ground.EXACT), inner))
    filled = stripped(inner.first) if inner.op in _SPREADS and inner.first is not None else None
    return filled is not None and fills_at_random(site.frame.function, filled.name)


def _is_a_flow(site: Site, operand: Value) -> bool:
    """An invertible transform scales by an exponential by its definition, and its log-determinant holds it back."""
    return site.value.op in EXPONENTIALS and scales_invertibly(site.frame.function, site.frame)


def _is_deprecated(site: Site, operand: Value) -> bool:
    """What warns of its own deprecation is kept as it was for old callers."""
    return is_deprecated(site.frame.function)


def _is_of_a_test(site: Site, operand: Value) -> bool:
    """What a test computes is checked by its assertions, and its settings are for the test alone."""
    return is_test(site.frame.module)


def _is_to_look_at(site: Site, operand: Value) -> bool:
    """A picture or a figure that people look at is not trained through, and a blank one says so itself."""
    return is_shown(site.frame.function, site.frame.module)


_DOUBTS: tuple[Callable[[Site, Value], bool], ...] = (
    *DOUBTS_BY_GRADIENT,
    is_of_a_grid_without_zero,
    is_scheduled,
    is_within_double,
    is_of_cosines,
    _is_a_figure,
    is_far_saturation,
    _is_indicator,
    _is_log_of_wave,
    is_kept_by_callers,
    is_refused_default,
    is_refused_where_taken,
    is_usual_power,
    _is_sign,
    _is_initial_draw,
    _is_just_filled,
    _is_a_flow,
    _is_deprecated,
    _is_of_a_test,
    _is_to_look_at,
    _is_written_down,
    _is_counted,
    _is_ranked,
    is_met_afterwards,
    is_borne,
    is_caught,
    is_only_drawn_from,
    is_no_share,
    is_outside_of_support,
    *DOUBTS_BY_COUNT,
    *DOUBTS_BY_PART,
    *DOUBTS_BY_RATIO,
    *DOUBTS_BY_WHOLE,
    *DOUBTS_BY_WORDING,
)
_DOUBTS_OF_PROMOTED = (is_announced, is_taken_as_angle, is_of_cosines, is_below_its_largest)
_DOUBTS_OF_FORMS: tuple[Callable[[Site, Value], bool], ...] = (
    is_announced,
    is_masked_by_lengths,
    is_mean_of_the_nonzero,
    _is_deprecated,
    _is_of_a_test,
    _is_to_look_at,
    _is_written_down,
    _is_of_an_evaluation,
    is_entry_of_figures,
    _is_ranked,
    is_only_drawn_from,
    is_compared,
    is_amplitude,
    is_a_setting,
    is_logarithm_undone,
    is_lifted,
    is_of_cosines,
    is_norm_without_gradient,
    is_met_afterwards,
    is_infinite_cost_met,
    is_compared_mean,
)
