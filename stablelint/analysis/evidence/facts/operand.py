"""Facts about the operand: what a zero of it, or its end, means."""

from __future__ import annotations

from stablelint.analysis.evidence import vocabulary as words
from stablelint.analysis.evidence.fact import lowers, raises
from stablelint.analysis.evidence.subject import Subject
from stablelint.analysis.evidence.zeros import counts_a_test, is_chance
from stablelint.analysis.values.families import HANDED_OVER, NORMS
from stablelint.analysis.values.masks import DRAWN
from stablelint.analysis.values.value import Ground, Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.numerics.interval import TOP

_LAYERS = frozenset("linear_module norm_module layer_output linear conv1d conv2d conv3d embedding".split())
_EXTREMES = frozenset("amax amin max min median quantile kthvalue".split())
_SQUASHED = frozenset("softmax sigmoid softplus exp exp2 tanh erf erfc ndtr".split())
_SIZES = frozenset("size numel len shape dim".split())
_POWERS = frozenset("pow square abs".split())


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


@raises
def ordinary_data(s: Subject) -> bool:
    """ordinary data bring the operand there"""
    return s.site.judgement.ground is Ground.EXACT


@raises
def saturation(s: Subject) -> bool:
    """rounding or underflow brings the operand there"""
    return s.site.judgement.ground is Ground.SATURATION


@lowers
def coincidence(s: Subject) -> bool:
    """only a coincidence of its parts brings the operand there"""
    return s.site.judgement.ground is Ground.COINCIDENCE


@raises
def counts_test(s: Subject) -> bool:
    """counts, or sums up, what a test finds"""
    return s.total is not None and s.total.first is not None and counts_a_test(s.total.first)


@raises
def sums_mask(s: Subject) -> bool:
    """sums up what is called a mask"""
    return (
        s.total is not None and s.total.first is not None and words.names_a_mask(stripped(s.total.first).name)
    )


@lowers
def sums_values(s: Subject) -> bool:
    """sums up values that would all have to be 0"""
    return s.total is not None and s.total.first is not None and not (counts_test(s) or sums_mask(s))


@lowers
def agreement(s: Subject) -> bool:
    """is bad only if all elements of what a network yields agree"""
    return s.operand is not None and is_chance(s.operand)


@raises
def length_of_vector(s: Subject) -> bool:
    """is the length of a vector"""
    return s.origin is not None and any(v.op in NORMS for v in s.chain)


@raises
def spread_of_values(s: Subject) -> bool:
    """is a standard deviation or variance"""
    return any(v.op in ("std", "var") for v in s.chain)


@raises
def squares(s: Subject) -> bool:
    """is made of squares or absolute values"""
    return any(v.op in _POWERS for v in s.chain)


@lowers
def extreme(s: Subject) -> bool:
    """is a maximum or another order statistic"""
    return any(v.op in _EXTREMES for v in s.chain)


@raises
def difference(s: Subject) -> bool:
    """is a difference"""
    return any(v.op in ("sub", "rsub") for v in s.chain)


@raises
def squashed(s: Subject) -> bool:
    """is made by a sigmoid, softmax or exponential"""
    return any(v.op in _SQUASHED for v in s.chain)


@lowers
def size(s: Subject) -> bool:
    """is the size or length of something"""
    return any(v.op in _SIZES for v in s.chain) or any(map(words.names_a_size, _names(s)))


@lowers
def number(s: Subject) -> bool:
    """is a Python number"""
    return s.operand is not None and s.operand.kind is Kind.NUMBER


@raises
def argument(s: Subject) -> bool:
    """is an argument of the function"""
    return s.origin is not None and s.origin.op == "argument"


@raises
def attribute(s: Subject) -> bool:
    """is kept by an object"""
    return s.origin is not None and s.origin.op in ("attribute", "buffer")


@lowers
def returned_by_call(s: Subject) -> bool:
    """is returned by a call that was not followed"""
    return s.origin is not None and s.origin.op.startswith(("call.", "method."))


@raises
def network_output(s: Subject) -> bool:
    """is made of a layer's output"""
    return s.operand is not None and any(
        v.op in _LAYERS for v in behind(s.operand, lambda v: v.op == "detach")
    )


@lowers
def drawn(s: Subject) -> bool:
    """is made of random draws"""
    return s.operand is not None and any(v.op in DRAWN for v in s.behind_operand)


@lowers
def unknown(s: Subject) -> bool:
    """nothing is known of the operand"""
    return s.operand is not None and s.operand.interval == TOP and s.operand.op in HANDED_OVER


@raises
def touches_zero(s: Subject) -> bool:
    """lies in a range that begins at 0"""
    known = s.site.ranges.get(s.site.judgement.operand)
    return known is not None and known.lo == 0


@lowers
def bounded(s: Subject) -> bool:
    """lies in a bounded range"""
    known = s.site.ranges.get(s.site.judgement.operand)
    return known is not None and known.is_bounded


@lowers
def called_small(s: Subject) -> bool:
    """holds what is called a small constant"""
    return s.operand is not None and any(
        words.names_a_small_constant(v.name.rpartition(".")[2]) for v in s.behind_operand if v.name
    )


@raises
def called_count(s: Subject) -> bool:
    """is called a count or a total"""
    return any(map(words.names_a_count, _names(s)))


@lowers
def called_setting(s: Subject) -> bool:
    """is called a setting"""
    return any(map(words.names_a_setting, _names(s)))


@raises
def called_time(s: Subject) -> bool:
    """is called a time"""
    return any(map(words.names_a_time, _names(s)))


@raises
def called_probability(s: Subject) -> bool:
    """is called a probability"""
    return any(map(words.names_a_probability, _names(s)))


@raises
def called_spread(s: Subject) -> bool:
    """is called a norm, spread or scale"""
    return any(map(words.names_a_spread, _names(s)))


@raises
def called_logarithm(s: Subject) -> bool:
    """is called the logarithm of a scale"""
    return s.operand is not None and any(words.names_a_logarithm(v.name) for v in s.behind_operand if v.name)


@lowers
def called_weight(s: Subject) -> bool:
    """is, or sums up, what is called weights"""
    summed = [] if s.total is None or s.total.first is None else [stripped(s.total.first).name]
    return any(map(words.names_a_weight, [*_names(s), *summed]))


@raises
def called_outcome(s: Subject) -> bool:
    """is made of rewards, returns or scores"""
    return s.operand is not None and any(words.names_an_outcome(v.name) for v in s.behind_operand if v.name)
