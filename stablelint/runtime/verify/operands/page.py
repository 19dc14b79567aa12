"""Operands that a rule page names: where its operation goes wrong, where its contract is decided, where all is well."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import torch

from stablelint.catalog import contract as contracts
from stablelint.catalog.errors import RuleError
from stablelint.numerics.formats import FloatFormat
from stablelint.runtime.rules import operands as pages
from stablelint.runtime.tensors.measure import floating
from stablelint.runtime.verify.replay.compare import Case, Replayer, Role
from stablelint.runtime.verify.replay.values import Call, Context, Value
from stablelint.runtime.verify.site import Site


def page_cases(replayer: Replayer) -> list[Case]:
    """The page's own bad operands, in float32, for sites whose operands are exactly the page's metavariables."""
    meant = {source: name for name, source in replayer.metavariables.items()}
    wanted = {source: meant.get(source) for source in replayer.invented}
    return [
        Case(
            Call({source: _constant(row[str(name)]) for source, name in wanted.items()}, Context(), "page"),
            Role.BOUNDARY,
            f"float32 operands {index} of the rule page",
        )
        for index, row in enumerate(replayer.site.bad_operands, 1)
        if all(name in row for name in wanted.values())
    ]


def without_gradient(replayer: Replayer) -> frozenset[str]:
    """Source texts of the operands that never require a gradient, such as targets."""
    return frozenset(
        source
        for name, source in replayer.metavariables.items()
        if isinstance(spec := replayer.site.sample.get(name), dict) and spec.get("gradient") is False
    )


def range_of(site: Site, metavariable: str) -> tuple[float, float] | None:
    """Between which numbers the page draws ordinary operands of a metavariable."""
    spec = site.sample.get(metavariable)
    if isinstance(spec, list) and len(spec) == 2:
        return float(spec[0]), float(spec[1])
    if isinstance(spec, dict) and "low" in spec and not spec.get("integral"):
        return float(spec["low"]), float(spec["high"])
    return None


def drawn(site: Site, metavariable: str, dtype: torch.dtype) -> Value | None:
    """Ordinary operands as the page describes them; None where it does not."""
    return _cast(pages.draw(site.sample.get(metavariable), torch.Generator().manual_seed(5)), dtype)


def _cast(value: Value, dtype: torch.dtype) -> Value:
    return value.to(dtype) if floating(value) else value


def _constant(value: object) -> Value:
    """An operand of the page; a string that is no constant is an option of the operation."""
    try:
        return _cast(pages.constant(value, "float32"), torch.float32)
    except RuleError:
        return value


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
