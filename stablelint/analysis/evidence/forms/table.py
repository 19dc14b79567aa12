"""Sites whose form alone shows how the operand goes bad: the principles that make what is possible likely."""

from __future__ import annotations

from collections.abc import Callable

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
    is_magnified,
    is_variance_by_difference,
)
from stablelint.analysis.evidence.forms.pooling import SPREADS, pooled_spreads
from stablelint.analysis.evidence.forms.shares import shares
from stablelint.analysis.evidence.places import is_measured
from stablelint.analysis.evidence.subject import Subject
from stablelint.analysis.values.families import WAVES
from stablelint.analysis.values.masks import DRAWN
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.numerics.interval import TOP
from stablelint.records import dataclass
from stablelint.syntax.operations import having

COMPUTED = having("product", "arithmetic") | {"sum"}  # sums, products and quotients
_LENGTH = 8  # operations looked through
_Shows = Callable[[Subject], bool]


@dataclass(frozen=True, slots=True)
class Form:
    """A form that shows how an operand goes bad, and what is said of it.

    `in_metric` tells that it holds where something is only measured as well; `despite_where` that it does where a later
    selection replaces the result: one by something else, as by the angle, where NaN stays in the gradient, by the place
    between steps, or by the size, where what is kept is short of digits.
    """

    message: str
    shows: _Shows
    in_metric: bool
    despite_where: bool


def _form(message: str, *, in_metric: bool = False, despite_where: bool = False) -> Callable[[_Shows], Form]:
    """Makes a form of the function that tells where it stands."""
    return lambda shows: Form(message, shows, in_metric, despite_where)


def form_of(subject: Subject) -> Form | None:
    """The first form that shows how the operand goes bad, though nothing is known of its range.

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


@_form("rounding carries a computed cosine past 1, where there is no angle")
def _computed_cosine(subject: Subject) -> bool:
    """The domain of acos and asin is so narrow that nothing but a bound keeps a computed value inside."""
    site, operand = subject.site, subject.site.operand
    if site.value.op not in ("acos", "asin") or operand is None:
        return False
    if any(v.op in DRAWN for v in behind(operand)):
        return False  # an angle is drawn at random, out of a range that was written for it
    cosine = stripped(operand)
    if cosine.op == "abs" and cosine.first is not None:
        cosine = stripped(cosine.first)  # of two directions that have no sign, such as unit quaternions
    if is_scaled_down(cosine) or is_laid_out(cosine):
        return False
    return cosine.op in COMPUTED and cosine.interval == TOP and site.ranges[site.judgement.operand].hi > 1


@_form(
    "a sine or cosine is negative at times, by rounding if not by its angle: its fractional power is NaN",
    despite_where=True,
)
def _root_of_wave(subject: Subject) -> bool:
    """What a sine or cosine is multiplied or divided by does not keep it from changing its sign."""
    operand = _obliged(subject, "pow")
    exponent = subject.site.value.operands.get("exponent")
    number = exponent.constant() if exponent is not None else None
    if isinstance(number, int | float) and float(number).is_integer():
        return False
    factors = [] if operand is None else [stripped(operand)]
    for _ in range(_LENGTH):
        products = [v for v in factors if v.op in ("mul", "div")]
        if not products:
            break
        factors = [v for v in factors if v.op not in ("mul", "div")]
        factors += [
            stripped(v) for p in products for n, v in p.operands.items() if p.op == "mul" or n == "input"
        ]
    return any(v.op in WAVES for v in factors)


@_form("the constant guards one factor of the denominator, the other factor can be zero", in_metric=True)
def _half_guarded(subject: Subject) -> bool:
    """A divisor that is a product: the constant added to one factor does nothing for the other."""
    return _divides(subject) and is_half_lifted(subject.site.value.operands["other"])


@_form("rounding carries a squared distance that was multiplied out below zero", in_metric=True)
def _root_of_distance(subject: Subject) -> bool:
    """The root of a squared distance that was multiplied out: rounding makes it negative where two points agree."""
    radicand = _radicand(subject)
    return radicand is not None and is_squared_distance(radicand)


@_form("rounding carries a variance that is a difference of two moments below zero", in_metric=True)
def _root_of_moments(subject: Subject) -> bool:
    """The root of a mean of squares less the square of the mean: rounding makes it negative for constant data."""
    radicand = _radicand(subject)
    return radicand is not None and is_variance_by_difference(radicand)


@_form(
    "near 0 rounding leaves this difference few digits, and what is made of it has no more", in_metric=True
)
def _magnified(subject: Subject) -> bool:
    """A root, a logarithm or a quotient of a difference keeps its relative error; a sum does not."""
    site, function = subject.site, subject.function
    if site.rule.expect != "inaccurate" or site.value.op != "sub" or site.rule.has_contract:
        return False
    return is_magnified(site.node, function.node if function is not None else subject.module.source.tree)


@_form("what is compared may be 0 on both sides, and its sum is 0 then", in_metric=True)
def _of_compared(subject: Subject) -> bool:
    """The difference of two values by their sum, or by the larger of them: both may be 0."""
    return _divides(subject) and is_sum_of_compared(subject.site.value)


@_form("a value times its own logarithm is 0 * -inf where it is 0")
def _entropy(subject: Subject) -> bool:
    """A value times its own logarithm: it is a share of a whole, and where there is none of it 0 meets -inf."""
    return is_own_logarithm(subject.site.value)


@_form("this pools a sequence of any length, and with one position the unbiased estimate divides by zero")
def _pooled(subject: Subject) -> bool:
    """A spread that is pooled together with its mean."""
    value = subject.site.value
    return value.op in SPREADS and value.key in subject.around.keys(pooled_spreads)


@_form(
    "the exponentials overflow, or all underflow, before they are divided by their sum", despite_where=True
)
def _share(subject: Subject) -> bool:
    """An exponential that is divided by the sum of such."""
    value = subject.site.value
    return value.op == "exp" and value.key in subject.around.keys(shares)


@_form(
    "the same value stands beside its exponential, as the logarithm of a scale does, and nothing bounds it"
)
def _log_scale(subject: Subject) -> bool:
    """What is exponentiated stands bare in the same sum, and a gradient is taken through it."""
    value = subject.site.value
    return subject.site.gradient and value.op == "exp" and value.key in subject.around.keys(log_scales)


FORMS = tuple(form for form in vars().values() if isinstance(form, Form))
"""The forms, in the order in which they stand."""


def _divides(subject: Subject) -> bool:
    return subject.site.value.op == "div" and subject.site.rule.has_contract


def _obliged(subject: Subject, *operations: str) -> Value | None:
    """The operand of an obligation, of one of the operations where some are named."""
    site = subject.site
    asked = site.rule.has_contract and (not operations or site.value.op in operations)
    return site.operand if asked else None


def _radicand(subject: Subject) -> Value | None:
    """What the square root of an obligation is taken of."""
    exponent = subject.site.value.operands.get("exponent")
    half = exponent is not None and exponent.default() == 0.5
    return _obliged(subject, "sqrt", "rsqrt", *(["pow"] if half else []))
