"""Decides an obligation: proved, violated by known operations, or unguarded."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from stablelint.analysis.values.attainability.arithmetic import vanishes_beside_nan
from stablelint.analysis.values.families import HANDED_OVER
from stablelint.analysis.values.rectified import is_cut_at_zero
from stablelint.analysis.values.sorts import is_imaginary
from stablelint.analysis.values.transfer import format_of
from stablelint.analysis.values.value import Attained, Kind, Value, believed, unassumed
from stablelint.analysis.values.views import SELECTORS, stripped
from stablelint.catalog.contract import Comparison, parse
from stablelint.catalog.rule import Rule
from stablelint.diagnostic import Status
from stablelint.numerics.formats import INTEGERS, FloatFormat
from stablelint.numerics.interval import Interval
from stablelint.records import dataclass, replace
from stablelint.syntax.operations import VIEWS, having

NOT_DIFFERENTIABLE = INTEGERS.keys() | {"bool"}
GRADIENT_FREE = having("draw", "blank", "filled", "grid", "whole", "cut") | {"const"}
TRAINED = having("trained")
CUT = having("cut")
_FOLLOWED = 100  # values behind one, until something among them is taken to require a gradient
_REARRANGING = frozenset("view float to unsqueeze squeeze expand".split())


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer to an obligation, and the operand that decides it."""

    status: Status
    by: str = ""  # what discharged it
    operand: str = ""  # the metavariable that may go bad
    backward_only: bool = False
    attained: Attained = Attained.NONE
    failing: str = ""  # the comparison that does not hold
    assumes: tuple[str, ...] = ()  # settings without which the answer would be another
    overflows: str = ""  # the format that does not hold the result, where that alone is wrong


Asked = tuple[tuple[Comparison, bool], ...]
"""What a rule asks of operands; with each comparison, whether it is for the gradient alone."""


def asked_by(rule: Rule) -> Asked:
    """What must hold for the value to be finite, and for its gradient."""
    sides = ((rule.forward, False), (rule.backward, True))
    return tuple((one, is_backward) for text, is_backward in sides if text for one in parse(text).comparisons)


def judge(
    asked: Asked,
    bindings: Mapping[str, Value],
    ranges: Mapping[str, Interval],
    gradient: bool,
    beliefs: Mapping[int, Interval] = MappingProxyType({}),
) -> Judgement:
    """Whether what is asked holds for operands in `ranges`, or, if not, in `beliefs` (by key of the value)."""
    if not beliefs:
        decided = _decide(asked, bindings, ranges, gradient)
        return _turning(decided, bindings) if decided.status.is_open else decided
    known = _decide(asked, {name: unassumed(v) for name, v in bindings.items()}, ranges, gradient)
    if known.status is Status.DISCHARGED:
        return known
    taken = {name: believed(v) for name, v in bindings.items()}
    lie = {name: beliefs.get(v.key, ranges[name]) for name, v in bindings.items()}
    qualified = _decide(asked, taken, lie, gradient)
    spoken = {comparison.variable for comparison, _ in asked}
    held = (v.belief for name, v in bindings.items() if name in spoken and v.belief is not None)
    on = tuple(dict.fromkeys(s.text for belief in held for s in belief.on if s.filename is None))
    if qualified.status is Status.DISCHARGED and on:
        return replace(known, status=Status.ASSUMED, by=qualified.by, assumes=on)
    shown = qualified.attained > max(known.attained, Attained.COINCIDENCE)
    return replace(qualified, assumes=on) if shown else known


def _turning(decided: Judgement, bindings: Mapping[str, Value]) -> Judgement:
    """What is left of an answer where a multiple of `1j` is exponentiated, by a factor that is real unless told."""
    operand = bindings.get(decided.operand)
    if "<" not in decided.failing or operand is None or not is_imaginary(operand, known=False):
        return decided
    return replace(
        decided, status=Status.ASSUMED, by="imaginary", assumes=("what is multiplied by 1j is real",)
    )


def _decide(
    asked: Asked, bindings: Mapping[str, Value], ranges: Mapping[str, Interval], gradient: bool
) -> Judgement:
    """Whether what is asked holds for operands in `ranges`."""
    worst: Judgement | None = None
    proof = ""
    for comparison, is_backward in asked:
        value = bindings.get(comparison.variable)
        if value is None:
            continue
        interval, fmt = ranges[comparison.variable], format_of(value)
        by = _proof(comparison, value, interval, fmt)
        if is_backward and not by:
            by = _proof_of_gradient(comparison, value, interval, fmt, gradient)
        if by:
            proof = proof or by
            continue
        found = _failure(comparison, value, interval, fmt, is_backward)
        if worst is None or found.attained > worst.attained:
            worst = found
    return worst or Judgement(Status.DISCHARGED, by=proof or "range")


def _proof(comparison: Comparison, value: Value, interval: Interval, fmt: FloatFormat) -> str:
    """What shows that the comparison holds, or ""; a NaN among the operands is for its own cause to answer for."""
    if comparison.op in ("<", "<=") and not comparison.absolute and is_imaginary(value):
        return "imaginary"
    return _guard(value, interval) if comparison.proved_by(interval.without_nan(), fmt) else ""


def _proof_of_gradient(
    comparison: Comparison, value: Value, interval: Interval, fmt: FloatFormat, gradient: bool
) -> str:
    """What shows that no gradient is spoiled where the comparison does not hold, or ""."""
    if _within_margin(comparison, value, interval.without_nan(), fmt):
        return _guard(value, interval)
    if not comparison.absolute and is_cut_at_zero(value):
        return "relu"
    if not differentiable(value, gradient):
        return "not differentiable" if gradient else "no gradient"
    return ""


def _within_margin(comparison: Comparison, value: Value, interval: Interval, fmt: FloatFormat) -> bool:
    """Whether 0 is excluded and only operands below any practical magnitude break a gradient's contract.

    The gradient of 1/x overflows for |x| < 5e-20 in float32; an operand that is known to be positive is not
    suspected of that, while in float16, where the bound is 4e-3, it is.
    """
    bound = comparison.value(fmt)
    if 0 < interval.lo < bound and not interval.lo_open and stripped(value).op != "clamp":
        return False  # a guard that is itself too small: what is added to 0 is attained; a clamp passes no gradient
    positive = interval.lo > 0 or (interval.lo == 0 and interval.lo_open)
    nonzero = not interval.contains(0.0) and comparison.absolute
    return 0 <= bound < 1e-15 and comparison.op in (">", ">=") and (positive or nonzero) and not interval.nan


def _guard(value: Value, interval: Interval) -> str:
    if value.is_constant and not value.assumed:
        return "constant"
    if interval != value.interval:
        return "branch"
    if value.guard:
        return value.guard
    if value.kind is Kind.NUMBER and value.interval.integral:
        return "count"
    return "range"


def differentiable(value: Value, gradient: bool) -> bool:
    """Whether a gradient flows back through the value."""
    if not gradient or value.kind in (Kind.NUMBER, Kind.ARRAY) or value.dtype in NOT_DIFFERENTIABLE:
        return False
    seen = stripped(value, _REARRANGING)
    if seen.op in CUT:
        return False
    return seen.dtype not in NOT_DIFFERENTIABLE and _may_carry_gradient(value)


def _may_carry_gradient(value: Value) -> bool:
    """Whether something that can require a gradient lies behind a value: not so for constants and random numbers.

    Layers and other objects, and what is called without being followed, may hold parameters of their own.
    """
    pending, seen = [value], set[int]()
    while pending:
        part = pending.pop()
        free = part.op in GRADIENT_FREE or part.kind in (Kind.NUMBER, Kind.ARRAY, Kind.FOREIGN)
        if free or part.dtype in NOT_DIFFERENTIABLE or part.key in seen:
            continue
        seen.add(part.key)
        holds = part.op in TRAINED or part.kind in (Kind.LAYER, Kind.INSTANCE) or part.op.startswith("call.")
        if not part.operands or holds or len(seen) > _FOLLOWED:
            return True
        given = list(part.operands.items())[:1] if part.op in VIEWS else part.operands.items()
        pending += [v for name, v in given if name not in SELECTORS]
    return False


def _failure(
    comparison: Comparison, value: Value, interval: Interval, fmt: FloatFormat, is_backward: bool
) -> Judgement:
    attained = _attained(comparison, value, interval, fmt)
    if value.is_constant and value.assumed:
        attained = min(attained, Attained.COINCIDENCE)  # a default that stands for "not given"
    known = attained >= (Attained.EXACT if value.kind is Kind.NUMBER else Attained.SATURATION)
    status = Status.VIOLATED if known and value.op not in HANDED_OVER else Status.UNGUARDED
    subject = f"abs({comparison.variable})" if comparison.absolute else comparison.variable
    failing = f"{subject} {comparison.op} {comparison.value(fmt):.6g}"
    return Judgement(status, "", comparison.variable, is_backward, attained, failing)


def overflowing(asked: Asked, bindings: Mapping[str, Value], result: Value) -> Judgement:
    """The answer where all that is asked holds, and the result is larger than what its format holds."""
    operand = next(comparison.variable for comparison, _ in asked if comparison.variable in bindings)
    fmt = format_of(result)
    failing = f"abs(result) <= {fmt.max:.6g}"
    return Judgement(Status.UNGUARDED, "", operand, False, Attained.COINCIDENCE, failing, overflows=fmt.name)


def is_polluted(interval: Interval) -> bool:
    """Whether NaN or an infinity is already among the values: something before it has gone wrong."""
    return interval.nan or interval.reaches_infinity


def _beside_nan(attained: Attained, value: Value, interval: Interval) -> Attained:
    """What holds NaN is lost behind another singularity, which is the one to report, unless it is 0 elsewhere, too."""
    is_lost = interval.nan and attained is Attained.EXACT and not vanishes_beside_nan(value)
    return Attained.COINCIDENCE if is_lost else attained


def _attained(comparison: Comparison, value: Value, interval: Interval, fmt: FloatFormat) -> Attained:
    """How well founded it is that the operand breaks the comparison."""
    bound = comparison.value(fmt)
    if comparison.op == "!=" or (comparison.absolute and comparison.op in (">", ">=")):
        if not interval.contains(0.0):
            return Attained.NONE
        return _beside_nan(value.zero, value, interval)
    if comparison.op in (">", ">="):
        attained = Attained.NONE
        breaks = bound > 0.0 or comparison.op == ">"
        if breaks and 0.0 <= bound < 1e-2 and interval.contains(0.0):
            attained = value.zero
        if is_polluted(interval):
            return _beside_nan(attained, value, interval)
        if interval.lo < min(bound, 0.0) or (interval.lo <= bound and not interval.lo_open and bound != 0.0):
            attained = max(attained, value.ends)
        return attained
    if is_polluted(interval) and value.op not in ("exp", "pow"):
        return Attained.NONE
    reaches = interval.hi > bound or (interval.hi == bound and not interval.hi_open)
    if comparison.absolute:
        reaches = reaches or -interval.lo > bound or (interval.lo == -bound and not interval.lo_open)
    return value.ends if reaches else Attained.NONE
