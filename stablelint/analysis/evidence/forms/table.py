"""Sites whose form alone shows how the operand goes bad: the principles that make what is possible likely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stablelint.analysis.evidence.forms.cancelling import (
    is_half_lifted,
    is_own_logarithm,
    is_scaled_down,
    is_squared_distance,
)
from stablelint.analysis.evidence.forms.compared import is_sum_of_compared
from stablelint.analysis.evidence.forms.laid_out import is_laid_out
from stablelint.analysis.evidence.forms.log_scales import log_scales
from stablelint.analysis.evidence.forms.magnified import (
    is_guarded_by_nothing,
    is_magnified,
    is_variance_by_difference,
)
from stablelint.analysis.evidence.forms.pooling import SPREADS, pooled_spreads
from stablelint.analysis.evidence.forms.shares import shares
from stablelint.analysis.evidence.places import is_measured
from stablelint.analysis.evidence.subject import Subject
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.families import WAVES
from stablelint.analysis.values.masks import DRAWN
from stablelint.analysis.values.views import behind, stripped
from stablelint.numerics.interval import TOP
from stablelint.syntax.operations import having

COMPUTED = having("product") | {"sum", "mul", "div", "sub", "add"}  # sums, products and quotients
_LENGTH = 8  # operations looked through


def form_of(subject: Subject) -> Form | None:
    """The first form of the table that shows how the operand goes bad, though nothing is known of its range.

    A result that is replaced later has been dealt with by its author, save that NaN is not kept from the gradient, and
    save for what a selection by something else does not meet. In a metric NaN says that there is nothing to measure,
    but Python's own division raises.
    """
    measured = is_measured(subject.function, subject.module)
    for form in FORMS:
        if (measured and not form.in_metric) or (subject.is_replaced and not form.despite_where):
            continue
        if form.shows(subject):
            return form
    return None


def _is_computed_cosine(site: Site) -> bool:
    """The domain of acos and asin is so narrow that nothing but a bound keeps a computed value inside."""
    operand = site.match.bindings.get(site.judgement.operand)
    if site.value.op not in ("acos", "asin") or operand is None:
        return False
    if any(v.op in DRAWN for v in behind(operand, lambda _: False)):
        return False  # an angle is drawn at random, out of a range that was written for it
    cosine = stripped(operand)
    if cosine.op == "abs" and cosine.first is not None:
        cosine = stripped(cosine.first)  # of two directions that have no sign, such as unit quaternions
    if is_scaled_down(cosine) or is_laid_out(cosine):
        return False
    return cosine.op in COMPUTED and cosine.interval == TOP and site.ranges[site.judgement.operand].hi > 1


def _is_root_of_wave(site: Site) -> bool:
    """What a sine or cosine is multiplied or divided by does not keep it from changing its sign."""
    operand = site.match.bindings.get(site.judgement.operand)
    if site.value.op != "pow" or operand is None or not site.rule.has_contract:
        return False
    factors = [stripped(operand)]
    for _ in range(_LENGTH):
        products = [v for v in factors if v.op in ("mul", "div")]
        if not products:
            break
        factors = [v for v in factors if v.op not in ("mul", "div")]
        factors += [
            stripped(v) for p in products for n, v in p.operands.items() if p.op == "mul" or n == "input"
        ]
    return any(v.op in WAVES for v in factors)


def _is_half_guarded(site: Site) -> bool:
    """A divisor that is a product: the constant added to one factor does nothing for the other."""
    return site.value.op == "div" and site.rule.has_contract and is_half_lifted(site.value.operands["other"])


def _is_root_of_distance(site: Site) -> bool:
    """The root of a squared distance that was multiplied out: rounding makes it negative where two points agree."""
    return _is_root(site) and is_squared_distance(site.match.bindings[site.judgement.operand])


def _is_root_of_moments(site: Site) -> bool:
    """The root of a mean of squares less the square of the mean: rounding makes it negative for constant data."""
    return _is_root(site) and is_variance_by_difference(site.match.bindings[site.judgement.operand])


def _is_guarded_by_nothing(site: Site) -> bool:
    """A constant that is 0 in the format guards nothing, and shows that its author has met the zero."""
    operand = site.match.bindings.get(site.judgement.operand)
    return operand is not None and site.rule.has_contract and is_guarded_by_nothing(operand)


def _is_magnified(site: Site) -> bool:
    """A root, a logarithm or a quotient of a difference keeps its relative error; a sum does not."""
    if site.rule.expect != "inaccurate" or site.value.op != "sub" or site.rule.has_contract:
        return False
    function = site.frame.function
    return is_magnified(site.node, function.node if function is not None else site.frame.module.source.tree)


def _divides(site: Site) -> bool:
    return site.value.op == "div" and site.rule.has_contract


def _is_of_compared(site: Site) -> bool:
    """The difference of two values by their sum, or by the larger of them: both may be 0."""
    return _divides(site) and is_sum_of_compared(site.value)


def _is_entropy(site: Site) -> bool:
    """A value times its own logarithm: it is a share of a whole, and where there is none of it 0 meets -inf."""
    return is_own_logarithm(site.value)


def _is_root(site: Site) -> bool:
    if site.judgement.operand not in site.match.bindings or not site.rule.has_contract:
        return False
    exponent = site.value.operands.get("exponent")
    return site.value.op in ("sqrt", "rsqrt") or (
        site.value.op == "pow" and exponent is not None and exponent.constant() == 0.5
    )


def _is_pooled(subject: Subject) -> bool:
    """A spread that is pooled together with its mean."""
    value = subject.site.value
    return value.op in SPREADS and value.key in pooled_spreads(subject.around.observed)


def _is_share(subject: Subject) -> bool:
    """An exponential that is divided by the sum of such."""
    value = subject.site.value
    return value.op == "exp" and value.key in shares(subject.around.observed)


def _is_log_scale(subject: Subject) -> bool:
    """What is exponentiated stands bare in the same sum, and a gradient is taken through it."""
    value = subject.site.value
    return subject.site.gradient and value.op == "exp" and value.key in log_scales(subject.around.observed)


def _of_site(shows: Callable[[Site], bool]) -> Callable[[Subject], bool]:
    return lambda subject: shows(subject.site)


@dataclass(frozen=True, slots=True)
class Form:
    """A form that shows how an operand goes bad, and what is said of it.

    `in_metric` tells that it holds where something is only measured as well; `despite_where` that it does where a later
    selection replaces the result: one by something else, as by the angle, where NaN stays in the gradient, by the place
    between steps, or by the size, where what is kept is short of digits.
    """

    shows: Callable[[Subject], bool]
    message: str
    in_metric: bool = False
    despite_where: bool = False


FORMS = (
    Form(_of_site(_is_computed_cosine), "rounding carries a computed cosine past 1, where there is no angle"),
    Form(
        _of_site(_is_root_of_wave),
        "a sine or cosine is negative at times, by rounding if not by its angle: its fractional power is NaN",
        despite_where=True,
    ),
    Form(
        _of_site(_is_half_guarded),
        "the constant guards one factor of the denominator, the other factor can be zero",
        in_metric=True,
    ),
    Form(
        _of_site(_is_root_of_distance),
        "rounding carries a squared distance that was multiplied out below zero",
        in_metric=True,
    ),
    Form(
        _of_site(_is_root_of_moments),
        "rounding carries a variance that is a difference of two moments below zero",
        in_metric=True,
    ),
    Form(
        _of_site(_is_guarded_by_nothing),
        "the constant that should keep the operand off 0 is itself 0 in float32",
        in_metric=True,
    ),
    Form(
        _of_site(_is_magnified),
        "what is made of this difference keeps the relative error that it has by rounding",
        in_metric=True,
    ),
    Form(
        _of_site(_is_of_compared),
        "what is compared may be 0 on both sides, and its sum is 0 then",
        in_metric=True,
    ),
    Form(_of_site(_is_entropy), "a value times its own logarithm is 0 * -inf where it is 0"),
    Form(
        _is_pooled,
        "this pools a sequence of any length, and with one position the unbiased estimate divides by zero",
    ),
    Form(
        _is_share,
        "the exponentials overflow, or all underflow, before they are divided by their sum",
        despite_where=True,
    ),
    Form(
        _is_log_scale,
        "the same value stands beside its exponential, as the logarithm of a scale does, and nothing bounds it",
    ),
)
