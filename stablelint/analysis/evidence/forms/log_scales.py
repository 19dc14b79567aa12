"""Logarithms of a scale that a form shows: the same value under an exponential and bare in one sum.

`exp(-s) * loss + s` weighs a loss by a predicted uncertainty, `1 + s - mu ** 2 - exp(s)` is the divergence of a normal
distribution from the standard one: s is a logarithm, whatever it is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import TAKEN, stripped
from stablelint.syntax.operations import having

_SUMS = frozenset({"add", "sub"})
_REDUCTIONS = having("total") | {"neg"}
_FACTORS = having("scale")
_YIELDED = having("layer") | {"argument", "item", "unknown", "part"}
_DEPTH = 8


def log_scales(observed: Iterable[Value]) -> frozenset[int]:
    """Keys of the exponentials of what also stands bare, as a term of its own, in the sum that they are a factor in."""
    found: set[int] = set()
    for value in observed:
        if value.op not in _SUMS:
            continue
        terms = [list(_factors(term, _DEPTH)) for term in _terms(value, _DEPTH)]
        exponentials = {
            f.key: _unscaled(f.operands["input"]) for term in terms for f in term if f.op == "exp"
        }
        if exponentials:
            bare = {
                factor.key for term in terms if all(factor.op != "exp" for factor in term) for factor in term
            }
            found.update(key for key, s in exponentials.items() if s.key in bare and is_yielded(s))
    return frozenset(found)


def is_yielded(value: Value) -> bool:
    """Whether a value is handed over or a network yields it: no object keeps it, and no arithmetic has made it but that of
    a linear layer, written out."""
    inner = stripped(value, TAKEN)
    return _is_linear(inner) or inner.op in _YIELDED or inner.op.startswith(("call.", "method."))


def _is_linear(value: Value) -> bool:
    """Whether a value is what a linear layer yields that is written out: `x @ w + b`."""
    return value.op == "add" and any(stripped(part).op == "matmul" for part in value.operands.values())


def _terms(value: Value, depth: int) -> Iterator[Value]:
    """What a value is the sum of, behind means and totals."""
    inner = stripped(value)
    if depth and inner.op in _REDUCTIONS and inner.first is not None:
        yield from _terms(inner.first, depth - 1)
    elif depth and inner.op in _SUMS and not _is_linear(inner):
        for part in inner.operands.values():
            yield from _terms(part, depth - 1)
    else:
        yield inner


def _factors(term: Value, depth: int) -> Iterator[Value]:
    """What a term is a multiple of: its factors, and the weights that a loss, of which nothing is known, is handed."""
    inner = stripped(term)
    if depth and inner.op in _FACTORS:
        for name, part in inner.operands.items():
            if name != "other" or inner.op != "div":
                yield from _factors(part, depth - 1)
    elif inner.op.startswith(("call.", "method.")):
        yield inner
        yield from (stripped(v) for v in inner.operands.values() if stripped(v).op == "exp")
    else:
        yield inner


def _unscaled(value: Value) -> Value:
    """What a number is multiplied with, or divides, whatever its sign."""
    inner = stripped(value)
    for _ in range(_DEPTH):
        parts = [part for part in inner.operands.values() if part.kind is not Kind.NUMBER]
        if inner.op not in _FACTORS or len(parts) != 1:
            break
        inner = stripped(parts[0])
    return inner
