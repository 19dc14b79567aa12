"""Zeros that a value comes to only by underflow, far out where its operand seldom is."""

from __future__ import annotations

from stablelint.analysis.matching.meaning import is_unlikely_product
from stablelint.analysis.matching.provenance import is_yielded
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.families import EXPONENTIALS, LOGARITHMS
from stablelint.analysis.values.value import Ground, Value
from stablelint.analysis.values.views import stripped

_POLES = frozenset({"div", "sqrt", "rsqrt", "pow"})
_SIGMOIDS = frozenset("sigmoid softmax softplus hardsigmoid exp exp2 erfc ndtr".split())
_GATHERING = frozenset("mul add sum mean prod cumsum cumprod clamp index part sqrt".split())
_LENGTH = 8  # operations looked through


def is_far_saturation(site: Site, operand: Value) -> bool:
    """A sigmoid or an exponential is 0 only for inputs below -88, and but for its logarithm no form is better there.

    The logarithm of a softplus has no better form either.
    """
    if site.judgement.ground is not Ground.SATURATION:
        return False
    if site.value.op in LOGARITHMS:
        return _is_softplus(stripped(operand), _LENGTH)
    of_distribution = site.value.op.startswith("torch.distributions.")
    return (site.value.op in _POLES or of_distribution) and _is_far(
        stripped(operand), of_distribution, _LENGTH
    )


def _reaching(value: Value) -> list[Value]:
    """The operands, constants aside, through which a value comes to 0."""
    reaching = (v for v in value.operands.values() if v.zero >= Ground.SATURATION and not v.is_constant)
    return [stripped(v) for v in reaching]


def _is_softplus(value: Value, depth: int) -> bool:
    if value.op in ("phi", "index", "part") and depth:
        paths = _reaching(value)
        return bool(paths) and all(_is_softplus(path, depth - 1) for path in paths)
    return value.op == "softplus"


def _is_far(value: Value, of_distribution: bool, depth: int) -> bool:
    """Whether a value is 0 only where a sigmoid or an exponential that it is made of is, on all of its paths."""
    if is_unlikely_product(value):
        return True
    if value.op == "phi" and depth:
        paths = _reaching(value)
        return bool(paths) and all(_is_far(path, of_distribution, depth - 1) for path in paths)
    if value.op in _GATHERING:
        reaching = _reaching(value)
        return bool(reaching and depth) and _is_far(reaching[0], of_distribution, depth - 1)
    if of_distribution and value.first is not None and _may_be_output(value):
        return False  # a network may yield so small a scale, a weight hardly comes to it
    return value.op in _SIGMOIDS


def _may_be_output(value: Value) -> bool:
    """Whether what is made a scale may be a network's output: a logarithm that a caller keeps is none."""
    source = value.first
    if source is None or stripped(source).op == "parameter":
        return False
    return value.op not in EXPONENTIALS or is_yielded(source)
