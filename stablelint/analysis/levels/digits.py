"""Forms whose digits, or whose gradient, nobody is left to miss."""

from __future__ import annotations

import ast
import math
import re
import sys

from stablelint.analysis.levels.fates import WITHOUT_GRADIENT, Fate, fates_of
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.families import LOGARITHMS
from stablelint.analysis.values.relations import unit_length
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.syntax.operations import SELECTIONS
from stablelint.syntax.walk import descendants

_MADE_OF_NUMBERS = frozenset({"tensor", "torch.Tensor", "torch.FloatTensor"})
_WHOLES = frozenset({Kind.SEQUENCE, Kind.INSTANCE})
_GIVEN = frozenset({"attribute", "argument", "free"})
_DEPTH = 4  # operations looked through
_SCALED = frozenset("mul div sub".split())
_EXPONENTIALS = frozenset("exp expm1 cosh sinh".split())
_LARGEST_OF_DOUBLE = math.log(sys.float_info.max)
_OUTGROWING = frozenset({"cosh", "ndtr"})
_SMALL = 1e-2
_DOUBLE = re.compile(r"\bfloat64\b|\btorch\.double\b")


def is_compared(site: Site, operand: Value) -> bool:
    """A comparison loses no digits worth telling, and rounding to whole numbers leaves none to lose."""
    if site.rule.expect != "inaccurate":
        return False
    fates = fates_of(site.node, site.frame.function)
    return bool(fates) and fates <= {Fate.COMPARED, Fate.ROUNDED}


def is_norm_without_gradient(site: Site, operand: Value) -> bool:
    """No gradient is taken through a norm that is only compared, ranked, rounded, detached or logged."""
    if not any(condition.startswith("differentiable(") for condition in site.rule.where):
        return False
    fates = fates_of(site.node, site.frame.function, gradient=True)
    return bool(fates) and fates <= WITHOUT_GRADIENT


def is_amplitude(site: Site, operand: Value) -> bool:
    """An exponential that has a name, and is increased by 1 as well as reduced, is no small difference in disguise."""
    node, function = site.node, site.frame.function
    if site.rule.expect != "inaccurate" or function is None or not isinstance(node, ast.BinOp):
        return False
    if not isinstance(node.left, ast.Name) or not isinstance(node.op, ast.Sub):
        return False
    sums = (n for n in descendants(function.node) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Add))
    return any(
        {ast.dump(n.left), ast.dump(n.right)} == {ast.dump(node.left), ast.dump(node.right)} for n in sums
    )


def is_a_setting(site: Site, operand: Value) -> bool:
    """What is made of plain numbers once is a setting, chosen by one who knows how large it is."""
    made = stripped(site.match.bindings.get("x", operand))
    if site.rule.expect != "inaccurate" or made.op not in _MADE_OF_NUMBERS:
        return False
    leaves = [
        v for v in behind(made, lambda v: v.kind is Kind.NUMBER) if v.kind not in _WHOLES and v is not made
    ]
    return bool(leaves) and all(v.kind is Kind.NUMBER for v in leaves)


def is_logarithm_undone(site: Site, operand: Value) -> bool:
    """What is exponentiated after its logarithm was taken comes back as it was."""
    exponentials = (v for v in site.match.covered if v.op == "exp" and v.first is not None)
    return any(stripped(v.operands["input"]).op == "log" for v in exponentials)


def is_lifted(site: Site, operand: Value) -> bool:
    """A small number that was added to all that a form is made of keeps it off 0."""
    made = [stripped(v) for v in site.match.bindings.values() if v.kind in (Kind.TENSOR, Kind.UNKNOWN)]
    if not made or site.rule.expect == "inaccurate" or _fails_far_from_zero(site.value):
        return False
    return all(
        v.op == "add" and any(0 < p.interval.lo == p.interval.hi < _SMALL for p in v.operands.values())
        for v in made
    )


def _fails_far_from_zero(value: Value) -> bool:
    """Whether a logarithm is taken of what leaves the format at its ends: `log(cosh(x + 1e-12))`."""
    return value.first is not None and stripped(value.first).op in _OUTGROWING


def is_within_double(site: Site, operand: Value) -> bool:
    """A bound that keeps an exponential within double precision, in a file that speaks of it, was set for it."""
    reach = max(abs(operand.interval.lo), abs(operand.interval.hi))
    if site.value.op not in _EXPONENTIALS or not reach <= _LARGEST_OF_DOUBLE:
        return False
    return _DOUBLE.search("\n".join(site.frame.module.source.lines)) is not None


def is_of_cosines(site: Site, operand: Value) -> bool:
    """Products of normalised vectors are cosines: divided by a temperature, they do not run away, to either side."""
    exponential = site.match.bindings.get("e", site.value)
    exponentials, is_logarithm = [exponential], site.value.op in LOGARITHMS
    if is_logarithm:
        exponentials = [v for v in behind(operand, lambda v: v.op in _EXPONENTIALS) if v.op in _EXPONENTIALS]
    return bool(exponentials) and all(
        v.op in _EXPONENTIALS and v.first is not None and _are_cosines(v.first, _DEPTH, is_logarithm)
        for v in exponentials
    )


def _are_cosines(value: Value, depth: int, by_numbers: bool = False) -> bool:
    """Whether a value is of cosines, scaled and shifted, `by_numbers` alone, and put together with others of them."""
    value = stripped(value)
    while value.op in _SCALED or value.op in SELECTIONS:
        scaled = next((v for v in value.operands.values() if not v.is_constant), None)
        if scaled is None or (by_numbers and not _is_by_numbers(value, scaled)):
            return False
        value = stripped(scaled)
    if value.op in ("phi", "cat") and depth:
        tensors = value.operands.get("tensors")
        parts = list(value.operands.values()) if value.op == "phi" or tensors is None else tensors.data or []
        parts = [part for part in parts if not part.is_constant]
        return bool(parts) and all(_are_cosines(part, depth - 1, by_numbers) for part in parts)
    return value.op in ("matmul", "bmm") and all(map(_is_direction, value.operands.values()))


def _is_by_numbers(value: Value, scaled: Value) -> bool:
    """Whether nothing but a literal scales or shifts a value."""
    return value.op not in _SCALED or all(v is scaled or v.is_constant for v in value.operands.values())


def _is_direction(factor: Value) -> bool:
    """Whether a vector is normalised, on any path but one on which it is put together of what other devices have."""
    inner = stripped(factor)
    paths = list(map(stripped, inner.operands.values())) if inner.op == "phi" else [inner]
    return any(map(unit_length, paths)) and all(path.op == "cat" or unit_length(path) for path in paths)


def is_below_its_largest(site: Site, operand: Value) -> bool:
    """What is at most 0, as what its maximum was taken from, is multiplied with a setting, which is positive."""
    exponential = site.match.bindings.get("e", site.value)
    product = stripped(exponential.first) if exponential.first is not None else exponential
    if exponential.op not in _EXPONENTIALS or product.op != "mul":
        return False
    factors = [stripped(factor) for factor in product.operands.values()]
    shifted = [v for v in factors if v.op == "sub" and v.interval.hi <= 0]
    settings = [v for v in factors if v.op in _GIVEN]
    return len(shifted) == len(settings) == 1
