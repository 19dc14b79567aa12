"""Operands that a rule page itself names: where its operation goes wrong, and where all is well."""

from __future__ import annotations

import torch

from stablelint.catalog.errors import RuleError
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
