"""Operands that a rule page itself names: where its operation goes wrong, and where all is well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from stablelint.catalog import contract as contracts
from stablelint.catalog.errors import RuleError
from stablelint.numerics.formats import FORMATS
from stablelint.runtime.verify.replay.compare import Case, Replayer, Role
from stablelint.runtime.verify.replay.values import Call, Context, Value, dtype_of
from stablelint.runtime.verify.site import Site


@dataclass(frozen=True, slots=True)
class Hazards:
    """The page's `[[operands]]` and `[sample]`, by metavariable."""

    given: tuple[Mapping[str, object], ...]
    sample: Mapping[str, object]
    dtypes: tuple[str, ...]

    @classmethod
    def of(cls, site: Site) -> Hazards:
        """What the page of the site's rule names."""
        return cls(site.bad_operands, site.sample, site.page_dtypes)

    def cases(self, replayer: Replayer, dtypes: tuple[str, ...] = ("float32",)) -> list[Case]:
        """The page's own bad operands, for sites whose operands are exactly the page's metavariables."""
        meant = {source: name for name, source in replayer.metavariables.items()}
        wanted = {source: meant.get(source) for source in replayer.invented}
        cases = []
        for index, row in enumerate(self.given):
            if not all(name in row for name in wanted.values()):
                continue
            for dtype in dtypes:
                operands = {source: constant(row[str(name)], dtype) for source, name in wanted.items()}
                call = Call(operands, Context(), "page")
                cases.append(Case(call, Role.BOUNDARY, f"{dtype} operands {index + 1} of the rule page"))
        return cases

    def frozen(self, replayer: Replayer) -> frozenset[str]:
        """Source texts of the operands that never require a gradient, such as targets."""
        return frozenset(
            source
            for name, source in replayer.metavariables.items()
            if isinstance(spec := self.sample.get(name), dict) and spec.get("gradient") is False
        )

    def range_of(self, metavariable: str) -> tuple[float, float] | None:
        """Between which numbers the page draws ordinary operands of a metavariable."""
        spec = self.sample.get(metavariable)
        if isinstance(spec, list) and len(spec) == 2:
            return float(spec[0]), float(spec[1])
        if isinstance(spec, dict) and "low" in spec and not spec.get("integral"):
            return float(spec["low"]), float(spec["high"])
        return None

    def draw(self, metavariable: str, dtype: torch.dtype) -> Value | None:
        """Ordinary operands as the page describes them; None where it does not."""
        spec = self.sample.get(metavariable)
        if isinstance(spec, list) and len(spec) == 2:
            spec = {"low": spec[0], "high": spec[1]}
        return _drawn(spec, dtype) if isinstance(spec, dict) else spec


def _drawn(spec: Mapping[str, Any], dtype: torch.dtype) -> torch.Tensor:
    """Operands drawn between `low` and `high`, of the `shape` given."""
    generator = torch.Generator().manual_seed(5)
    shape = spec.get("shape", [4, 5])
    if spec.get("boolean"):
        return torch.rand(shape, generator=generator) < 0.5
    if spec.get("integral"):
        return torch.randint(int(spec["low"]), int(spec["high"]), shape, generator=generator)
    drawn = torch.rand(shape, generator=generator, dtype=torch.float64)
    drawn = float(spec["low"]) + drawn * (float(spec["high"]) - float(spec["low"]))
    return (drawn @ drawn.mT if spec.get("positive_definite") else drawn).to(dtype)


def constant(value: object, dtype: str) -> Value:
    """An operand of `[[operands]]`: a list is a tensor, a table one of that shape, a string a constant."""
    if isinstance(value, dict):
        return _drawn(value, dtype_of(dtype))
    if isinstance(value, list):
        plain = [constant(item, dtype) for item in value]
        tensors = [item for item in plain if isinstance(item, torch.Tensor)]
        if tensors:
            return torch.stack(tensors)
        if plain and all(isinstance(item, bool) for item in plain):
            return torch.tensor(plain)
        if plain and all(isinstance(item, int) for item in plain):
            return torch.tensor(plain)
        return torch.tensor(plain, dtype=torch.float64).to(dtype_of(dtype))
    if isinstance(value, str):
        try:
            return contracts.evaluate(contracts.parse_constant(value), FORMATS[dtype])
        except RuleError:
            return value
    return value
