"""The numbers at which a site's contract is decided, sorted by what they show."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from stablelint.catalog import contract as contracts
from stablelint.numerics.formats import FloatFormat
from stablelint.runtime.verify.site import Site


@dataclass(frozen=True, slots=True)
class Bound:
    """Boundary values of one operand for one format."""

    near: tuple[float, ...]  # break the contract at its very edge
    beyond: tuple[float, ...]  # break it further out
    inside: tuple[float, ...]  # the last ones that keep it


def bound_of(site: Site, metavariable: str, fmt: FloatFormat) -> Bound | None:
    """The boundary values of an operand of `site`; None where the contract does not speak of it."""
    return _bound_of((site.forward, site.backward), metavariable, fmt)


@lru_cache(maxsize=256)  # the sites of a rule share its contract
def _bound_of(texts: tuple[str | None, ...], metavariable: str, fmt: FloatFormat) -> Bound | None:
    parsed = [contracts.parse(text) for text in texts if text]
    about = [part for part in parsed if metavariable in part.variables]
    if not about:
        return None
    # the sign of a zero decides between two infinities, and not whether there is one
    values = sorted({value + 0.0 for part in about for value in part.boundaries(metavariable, fmt)})
    edges = [comparison.value(fmt) for comparison in about[0].about(metavariable)]
    near: list[tuple[float, list[bool]]] = []
    beyond, inside = [], []
    for value in values:
        if all(part.holds({metavariable: value}, fmt) for part in about):
            inside.append(value)
        elif _at_edge(value, about[0], metavariable, edges, fmt):
            broken = [part.holds({metavariable: value}, fmt) for part in about]
            # neighbours that break the same half of the contract show the same
            if not any(kept == broken and _close(value, one, fmt) for one, kept in near):
                near.append((value, broken))
        else:
            beyond.append(value)
    return Bound(tuple(value for value, _ in near), tuple(beyond), tuple(inside))


def _at_edge(
    value: float, part: contracts.Contract, metavariable: str, edges: Iterable[float], fmt: FloatFormat
) -> bool:
    """Whether a violating value is one that rounding alone can produce from allowed ones."""
    if part.holds({metavariable: value}, fmt) or value in edges:
        return True
    return any(edge != 0 and abs(value) != fmt.max and _close(abs(value), abs(edge), fmt) for edge in edges)


def _close(one: float, other: float, fmt: FloatFormat) -> bool:
    """Whether rounding could have made one of the other."""
    return math.isclose(one, other, rel_tol=4 * fmt.eps)
