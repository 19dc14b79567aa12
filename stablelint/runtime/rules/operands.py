"""Operands as a rule page spells them: `[sample]` describes ordinary ones, `[[operands]]` those that go wrong."""

from __future__ import annotations

import torch

from stablelint.catalog import contract
from stablelint.numerics.formats import FORMATS


def draw(spec: object, generator: torch.Generator) -> object:
    """What an entry of `[sample]` describes: float64 between `low` and `high`, int64 or bool, or the value itself."""
    if isinstance(spec, list):
        spec = {"low": spec[0], "high": spec[1]}
    if not isinstance(spec, dict):
        return spec
    shape = spec.get("shape", [4, 5])
    if spec.get("boolean"):
        return torch.rand(shape, generator=generator) < 0.5
    if spec.get("integral"):
        return torch.randint(int(spec["low"]), int(spec["high"]), shape, generator=generator)
    unit = torch.rand(shape, generator=generator, dtype=torch.float64)
    drawn = spec["low"] + unit * (spec["high"] - spec["low"])
    if spec.get("positive_definite"):
        return drawn @ drawn.mT
    return drawn + drawn.mT if spec.get("symmetric") else drawn


def constant(value: object, dtype: str) -> object:
    """An operand of `[[operands]]`: a list is a tensor, a table one of that shape, a string a constant of the format.

    Raises RuleError for a string that is none.
    """
    if isinstance(value, dict):
        return draw(value, torch.Generator().manual_seed(0))
    if isinstance(value, list):
        resolved = [constant(item, dtype) for item in value]
        if tensors := [item for item in resolved if isinstance(item, torch.Tensor)]:
            return torch.stack(tensors)
        whole = bool(resolved) and all(isinstance(item, int) for item in resolved)
        return torch.tensor(resolved) if whole else torch.tensor(resolved, dtype=torch.float64)
    return (
        contract.evaluate(contract.parse_constant(value), FORMATS[dtype]) if isinstance(value, str) else value
    )
