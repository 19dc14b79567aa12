"""What is likely by its form alone, though nothing is known of the operand's range."""

from __future__ import annotations

from dataclasses import replace

from stablelint.analysis.provenance import is_measured
from stablelint.analysis.shadows import has_contract
from stablelint.analysis.sites import Site
from stablelint.analysis.value import Kind, Value
from stablelint.analysis.views import stripped
from stablelint.diagnostic import Level
from stablelint.numerics.interval import TOP

_COMPUTED = frozenset("matmul bmm einsum dot sum mul div sub add".split())
_WAVES = frozenset({"sin", "cos"})
_LENGTH = 8  # operations looked through


def promoted(site: Site, hidden: bool) -> Site:
    """A site whose form alone shows how the operand goes bad, though nothing is known of its range.

    Where the result is replaced later its author has dealt with it, save that NaN is not kept from the gradient.
    """
    if is_measured(site.frame.function, site.frame.module) or (hidden and not _is_root_of_wave(site)):
        return site
    if _is_projection(site):
        message = "vectors are divided by a component of their own, which is 0 on a plane"
    elif _is_computed_cosine(site):
        message = "rounding carries a computed cosine past 1, where there is no angle"
    elif _is_root_of_wave(site):
        message = "a sine or cosine is negative at times, by rounding if not by its angle: its fractional power is NaN"
    else:
        return site
    return replace(site, judgement=replace(site.judgement, level=Level.LIKELY), message=message)


def _is_computed_cosine(site: Site) -> bool:
    """The domain of acos and asin is so narrow that nothing but a bound keeps a computed value inside."""
    operand = site.match.bindings.get(site.judgement.operand)
    if site.value.op not in ("acos", "asin") or operand is None:
        return False
    return stripped(operand).op in _COMPUTED and site.ranges[site.judgement.operand] == TOP


def _is_root_of_wave(site: Site) -> bool:
    """What a sine or cosine is multiplied or divided by does not keep it from changing its sign."""
    operand = site.match.bindings.get(site.judgement.operand)
    if site.value.op != "pow" or operand is None or not has_contract(site):
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
    return any(v.op in _WAVES for v in factors)


def _is_projection(site: Site) -> bool:
    """Vectors divided by one of their own components: it is 0 on a plane, which ordinary points cross."""
    if site.value.op != "div" or not has_contract(site):
        return False
    whole, part = stripped(site.value.operands["input"]), stripped(site.value.operands["other"])
    if not _is_component(part):
        return False
    base = stripped(part.operands["input"]).key
    return whole.key == base or (_is_component(whole) and stripped(whole.operands["input"]).key == base)


def _is_component(value: Value) -> bool:
    """Whether a value is `x[..., i]` or `x[..., i:j]`: not an entry of a matrix, nor the channel of a signal."""
    index = value.operands.get("index") if value.op == "index" else None
    if index is None or index.kind is not Kind.SEQUENCE or len(index.data) != 2:
        return False
    rest, place = index.data
    return rest.constant() is Ellipsis and (isinstance(place.constant(), int) or place.op == "slice")
