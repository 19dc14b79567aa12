"""Replay one set of operands with the original, the fixed and the float64 expression, and compare."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import torch

from stablelint.catalog import contract as contracts
from stablelint.runtime.tensors.measure import floating
from stablelint.runtime.verify.replay.accuracy import bits_of, change, mantissa_bits, reconciled, same
from stablelint.runtime.verify.replay.evaluate import Outcome, evaluate, widened
from stablelint.runtime.verify.replay.expression import (
    Expression,
    NotReplayableError,
    compile_expression,
    key_of,
    needed,
    parse_expression,
    spares,
)
from stablelint.runtime.verify.replay.namespace import namespace_of
from stablelint.runtime.verify.replay.values import Call, Opaque
from stablelint.runtime.verify.site import Kind, Site

_SPEAKING = 0.75  # of the healthy elements of a failing call: those beside a bad one may move with it
_SUMMED = 64.0  # as many elements of an operand share one divisor, whose gradient adds them up


class Role(StrEnum):
    """What a set of operands is evidence of."""

    CAPTURED = "captured"  # seen in the running command
    MADE = "made"  # seen in a call of the enclosing function that was made for it
    VARIED = "varied"  # in such a call with what is special in real data
    PART = "part"  # in the statements that make the value, called without what is around them
    SEARCH = "search"  # reached from inputs that a search found
    BOUNDARY = "boundary"  # breaks the contract: the fix must cure it
    STRESS = "stress"  # extreme, yet the fix need not cure what the original cannot do either
    STRUCTURE = "structure"  # empty, tied or masked; a fix of another fault need not care
    HEALTHY = "healthy"  # ordinary operands: nothing may change


SEEN = (Role.CAPTURED, Role.MADE, Role.VARIED, Role.PART, Role.SEARCH)
INVENTED = (Role.MADE, Role.VARIED, Role.PART)  # nobody has seen these in a program


@dataclass(frozen=True, slots=True)
class Case:
    """Operands to replay, and what they are called in a report."""

    call: Call
    role: Role
    label: str
    decisive: bool = True  # False: an element type that the site was never seen with

    @property
    def gradient_asked(self) -> bool:
        """Whether a gradient is wanted: of operands that were seen, where the command took one."""
        return self.call.context.grad or self.role not in SEEN


@dataclass(frozen=True, slots=True)
class Result:
    """What a case showed."""

    case: Case
    original: Outcome
    fixed: Outcome | None
    original_bits: float | None = None
    fixed_bits: float | None = None
    original_failed: str | None = None  # "forward", "backward", "accuracy", "wrong", "refused"
    fixed_failed: str | None = None
    changed: float | None = None  # largest healthy change, in units of the tolerance
    shown: bool = False  # what is not finite is taken by the test that the fix is about: nothing hides it

    @property
    def infinite(self) -> bool:
        """Whether an operand was infinite already."""
        return _has_infinite(self.case.call)

    @property
    def vanishing(self) -> bool:
        """Whether the gradient alone overflows, with the fix as without, where an operand is beneath or next to the least
        normal number.

        A sum of reciprocals of such numbers has no place in their format. In float16 they are numbers as good as others.
        """
        return self.original_failed == self.fixed_failed == "backward" and any(
            floating(v) and v.dtype != torch.float16 and bool(_is_least(v).any())
            for v in self.case.call.operands.values()
            if isinstance(v, torch.Tensor)
        )

    @property
    def role(self) -> Role:
        """The role of the operands."""
        return self.case.role


@dataclass(frozen=True, slots=True)
class Replayer:
    """A site made ready for replay."""

    site: Site
    original: Expression
    fixed: Expression | None
    operands: Mapping[str, str]  # variable -> source text
    metavariables: Mapping[str, str]  # metavariable -> source text, literals included
    names: Mapping[str, object] = field(repr=False)
    model: Expression | None = None  # used where operands were not captured together
    spare: tuple[str, ...] = ()  # texts worth capturing besides
    hidden: Expression | None = None  # 1.0 where the program drops the result

    def result(self, case: Case) -> Result | None:
        """Replay a case; None when the original cannot be evaluated on it.

        An error that torch raises about the numbers of an operand is a result of its own.
        """
        expression, original = self._evaluated(case)
        real = case.role in (*SEEN, Role.BOUNDARY)
        if original.error is not None and not (original.refused and real):
            return None
        fixed = evaluate(self.fixed, case.call, self.names) if self.fixed else None
        fixed = None if fixed is not None and fixed.missing else fixed
        result = _judge(self, case, expression, original, fixed)
        about = original.forward.bad and self.site.guards_hidden
        return replace(result, shown=self.shows(case.call, original) is True) if about else result

    def shows(self, call: Call, original: Outcome) -> bool | None:
        """Whether the program takes a value that is not finite; None where that is not known, or it takes all."""
        taken = self.taken(call, original)
        return None if taken is None else bool((~torch.isfinite(original.values[0]) & taken).any())

    def taken(self, call: Call, original: Outcome) -> torch.Tensor | None:
        """Which elements of the result the program takes; None where that is not known, or it takes all."""
        if self.hidden is None or len(original.values) != 1:
            return None
        dropped = evaluate(self.hidden, call, self.names, backward=False)
        if dropped.error or len(dropped.values) != 1:
            return None
        try:
            return (dropped.values[0] == 0).expand(original.values[0].shape)
        except RuntimeError:  # shapes that do not fit: the test is of something else
            return None

    def _evaluated(self, case: Case) -> tuple[Expression, Outcome]:
        """The original on a case.

        On captured operands it is spelled out as far as the fix goes back, where that gives the same
        value: only then do gradients flow to the same operands in both.
        """
        spelled = evaluate(self.spelled_out, case.call, self.names)
        if self.model is None or case.role not in SEEN:
            return self.spelled_out, spelled
        original = evaluate(self.original, case.call, self.names)
        if spelled.error is None and (original.error is not None or _alike(spelled, original)):
            return self.model, spelled
        return self.original, original

    @property
    def invented(self) -> tuple[str, ...]:
        """Source texts of the operands that invented cases consist of."""
        fixed = self.fixed.operands if self.fixed else {}
        return tuple(dict.fromkeys([*self.spelled_out.operands.values(), *fixed.values()]))

    @property
    def spelled_out(self) -> Expression:
        """The original to evaluate on invented operands: of those only what the fix is made of counts."""
        return self.model or self.original

    def reference(
        self, call: Call, expression: Expression, original: Outcome, digits: bool = False
    ) -> Outcome:
        """The float64 reference; a safe fix helps where the original is inexact, or overflows, in float64 as well."""
        wide = widened(call)
        exact = evaluate(expression, wide, self.names)
        if self.fixed is None or not (self.site.safe or digits):
            return exact
        stable = evaluate(self.fixed, wide, self.names)
        return stable if original.distribution and not stable.error else reconciled(exact, stable)


def prepare(site: Site, source: bytes, opaque: frozenset[str] = frozenset()) -> Replayer:
    """Compile the site's expressions; `source` is the text of its file. Raises `NotReplayableError`.

    `opaque` names operands that could not be stored: what they return is an operand in their stead.
    """
    names = namespace_of(source)
    texts = [text for text in (site.original, site.fixed, site.model, site.hidden) if text]
    speaking = (contracts.parse(text).variables for text in (site.forward, site.backward) if text)
    kept = frozenset[str]().union(*speaking)
    operands = needed(texts, site.operands, frozenset(names), opaque, kept)
    original = compile_expression(site.original, operands)
    fixed = compile_expression(site.fixed, operands) if site.fixed else None
    model = compile_expression(site.model, operands) if site.model else None
    metavariables: dict[str, str] = {}
    for name, text in site.operands.items():
        try:
            metavariables[name] = key_of(parse_expression(text))
        except NotReplayableError:
            continue
    spare = tuple(text for text in spares(texts, frozenset(names)) if text not in operands.values())
    hidden = compile_expression(site.hidden, operands) if site.hidden else None
    return Replayer(site, original, fixed, operands, metavariables, names, model, spare, hidden)


def _alike(one: Outcome, other: Outcome) -> bool:
    """Whether two evaluations gave the same values, NaN and Inf included."""
    return len(one.values) == len(other.values) and all(
        first.shape == second.shape and torch.allclose(first, second, rtol=1e-3, equal_nan=True)
        for first, second in zip(one.values, other.values, strict=True)
    )


def _has_infinite(call: Call) -> bool:
    return any(isinstance(v, torch.Tensor) and bool(torch.isinf(v).any()) for v in call.operands.values())


def _is_least(values: torch.Tensor) -> torch.Tensor:
    return (values != 0) & (values.abs() <= _SUMMED * torch.finfo(values.dtype).tiny)


def poisoned(call: Call) -> bool:
    """Whether an operand was NaN already, so that nothing here is the site's doing."""
    values = call.operands.values()
    return any(v != v if isinstance(v, float) else floating(v) and bool(v.isnan().any()) for v in values)


def unusable(call: Call, replayer: Replayer) -> Opaque | None:
    """An operand of the original that could not be stored, if there is one."""
    values = (call.operands.get(source) for source in replayer.original.operands.values())
    return next((value for value in values if isinstance(value, Opaque)), None)


def _bad(outcome: Outcome, infinite_operands: bool) -> str | None:
    if outcome.error is not None:
        return "refused" if outcome.refused else "error"
    # a mask of -inf makes infinite results legitimate; NaN never is
    if outcome.forward.nan or (outcome.forward.inf and not infinite_operands):
        return "forward"
    if outcome.backward.nan or (outcome.backward.inf and not infinite_operands):
        return "backward"
    return None


def _failures(
    replayer: Replayer, case: Case, original: Outcome, fixed: Outcome | None
) -> tuple[str | None, str | None, bool]:
    """What failed in the original and in the fixed expression, and whether a gradient did that nobody asked for.

    Without a gradient asked for, its failure is no fault; yet the operand is no healthy one either.
    """
    infinite = _has_infinite(case.call)
    failed = _bad(original, infinite)
    still = _bad(fixed, infinite) if fixed is not None else None
    if failed == "forward" and replayer.site.guards_hidden and replayer.shows(case.call, original) is False:
        # The program drops the value, and feels the rest.
        failed = "backward" if original.backward.bad else None
    if case.gradient_asked:
        return failed, still, False
    unasked = failed == "backward"
    return None if unasked else failed, None if still == "backward" else still, unasked


def _judge(
    replayer: Replayer, case: Case, expression: Expression, original: Outcome, fixed: Outcome | None
) -> Result:
    site = replayer.site
    failed, still, unasked = _failures(replayer, case, original, fixed)
    result = Result(case, original, fixed, original_failed=failed, fixed_failed=still)
    if original.error or (fixed is not None and fixed.error):
        return result
    if site.kind is Kind.INTERFACE:
        seen = failed is None and case.role in (Role.CAPTURED, Role.MADE, Role.HEALTHY)
        wrong = seen and fixed is not None and (change(original, fixed, original) or 0.0) > 1
        return replace(result, original_failed="wrong") if wrong else result
    # torch bounds the probabilities of a distribution: beyond, its log-probabilities are finite and wrong
    digits = site.expect == "inaccurate" or (original.distribution and site.safe)
    if not digits and case.role not in (*SEEN, Role.HEALTHY):
        return result
    exact = replayer.reference(case.call, expression, original, digits)
    result = _with_bits(result, exact, replayer, digits)
    # a gradient that nobody takes may change: that of a clamp at its very bound is not the same in all releases
    return result if fixed is None or unasked else replace(result, changed=_changed(result, fixed, exact))


def _with_bits(result: Result, exact: Outcome, replayer: Replayer, digits: bool) -> Result:
    """The result with the bits that are right in it, and whether too few are, where `digits` matter."""
    original, fixed = result.original, result.fixed
    original_bits, worst = bits_of(original, exact.values, replayer.taken(result.case.call, original))
    fixed_bits = None
    if fixed is not None:
        alike = same(fixed.values, original.values)
        fixed_bits = original_bits if alike else bits_of(fixed, exact.values)[0]
    result = replace(result, original_bits=original_bits, fixed_bits=fixed_bits)
    if result.original_failed is not None or not digits or worst is None:
        return result
    lost = worst < mantissa_bits(original.values[0].dtype) / 3
    better = fixed_bits is None or original_bits is None or fixed_bits > original_bits + 1
    return replace(result, original_failed="accuracy") if lost and better else result


def _changed(result: Result, fixed: Outcome, exact: Outcome) -> float | None:
    """How far the fix takes what was healthy, in units of the tolerance."""
    if fixed.written - result.original.written:
        return math.inf  # an operand is the program's, which may go on with it
    share = _SPEAKING if result.original_failed in ("forward", "backward") else 1.0
    return change(result.original, fixed, exact, gradients=result.case.gradient_asked, share=share)
