"""Facts about the operand: what a zero of it, or its end, means."""

from __future__ import annotations

from stablelint.analysis.evidence import vocabulary as words
from stablelint.analysis.evidence.fact import lowers, raises
from stablelint.analysis.evidence.subject import Subject
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.syntax.operations import having

_NORMS, _SPREADS, _EXPONENTIALS = having("norm"), having("spread"), having("exponential")


def _name(value: Value | None) -> str:
    return "" if value is None else value.name


def _names(subject: Subject) -> list[str]:
    """What the operand, and what it owes its zeros to, are called."""
    found = [
        _name(subject.operand),
        _name(subject.origin),
        subject.site.texts.get(subject.site.judgement.operand) or "",
    ]
    return [name.rpartition(".")[2] for name in found if name]


@lowers
def rooted(s: Subject) -> bool:
    """is made of a square root"""
    return any(v.op == "sqrt" for v in s.behind_operand)


@raises
def magnitude(s: Subject) -> bool:
    """is made of absolute values"""
    return s.site.value.op not in _EXPONENTIALS and any(v.op == "abs" for v in s.behind_operand)


@lowers
def returned_by_call(s: Subject) -> bool:
    """is returned by a call that was not followed"""
    return s.origin is not None and s.origin.op.startswith(("call.", "method."))


@raises
def made_of_call(s: Subject) -> bool:
    """is computed from what a call that was not followed returns"""
    return any(v.op.startswith(("call.", "method.")) for v in s.behind_operand)


@lowers
def called_setting(s: Subject) -> bool:
    """is called a setting"""
    return any(map(words.names_a_setting, _names(s)))


@lowers
def logged(s: Subject) -> bool:
    """is made of a logarithm"""
    return any(v.op == "log" for v in (*s.behind_operand, *s.behind_dividend))


@raises
def log_scale(s: Subject) -> bool:
    """exponentiates a tensor called a variance, or a logarithm of a scale, and made of none"""
    is_exponentiated = any(v.op in _EXPONENTIALS for v in (s.site.value, *s.chain))
    is_made = any(v.op == "log" for v in s.behind_operand) or s.site.value.kind in (Kind.ARRAY, Kind.NUMBER)
    names = _names(s) if is_exponentiated and not is_made else []
    return any(words.names_a_variance(n) or words.names_a_log_scale(n) for n in names)


@lowers
def number(s: Subject) -> bool:
    """is computed of a Python number"""
    taken = s.site.value.operands.get("input")
    return taken is not None and taken.kind is Kind.NUMBER


@lowers
def array(s: Subject) -> bool:
    """is made of arrays of NumPy, through which no gradient flows"""
    return any(v.kind is Kind.ARRAY for v in (s.site.value, *s.site.match.bindings.values()))


@raises
def spread(s: Subject) -> bool:
    """is made of the spread of values that may all be equal"""
    return any(
        v.op in _SPREADS for v in (*s.behind_operand, *(part for v in _divisor(s) for part in behind(v)))
    )


@lowers
def normed(s: Subject) -> bool:
    """divides by a norm"""
    return any(stripped(v).op in _NORMS for v in _divisor(s))


def _divisor(s: Subject) -> list[Value]:
    divisor = s.site.value.operands.get("other") if s.site.value.op == "div" else None
    return [] if divisor is None else [divisor]
