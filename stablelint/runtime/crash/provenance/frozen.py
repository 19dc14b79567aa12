"""Models of which nothing is left to train."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass

from torch import nn

from stablelint.runtime.crash.expression import member
from stablelint.runtime.program.frames import parse_file
from stablelint.runtime.program.location import Location


@dataclass(frozen=True, slots=True)
class Frozen:
    """A model without a parameter that asks for gradients, and what the program calls it."""

    model: nn.Module
    name: str

    @property
    def told(self) -> str:
        """What it is."""
        count = len(list(self.model.parameters()))
        return (
            f"none of the {count} parameters of {self.name} ({type(self.model).__name__}) asks for gradients"
        )

    @property
    def advice(self) -> str:
        """How something of it is trained."""
        held = [name for name, one in self.model.named_children() if any(True for _ in one.parameters())]
        if not held:
            return f"{self.name}.requires_grad_(True)"
        return f"{member(self.name, held[-1])}.requires_grad_(True), if the last layer is to be trained"

    def places(self, filename: str) -> tuple[tuple[str, Location], ...]:
        """The first statement of the model's own file, or of another, that takes parameters out of training."""
        own = inspect.getsourcefile(type(self.model)) or filename
        found = next((at for at in map(_frozen_at, (own, filename)) if at is not None), None)
        return (("parameters are taken out of training here", found),) if found is not None else ()


def frozen(model: object, name: str) -> Frozen | None:
    """What is said of a model; None where it holds nothing, or something that is trained."""
    held = list(model.parameters()) if isinstance(model, nn.Module) else []
    if not isinstance(model, nn.Module) or not held or any(one.requires_grad for one in held):
        return None
    return Frozen(model, name)


def _frozen_at(filename: str) -> Location | None:
    tree = parse_file(filename)
    for node in ast.walk(tree) if tree is not None else ():
        match node:
            case ast.Assign([ast.Attribute(_, "requires_grad")], ast.Constant(False)):
                return Location.of(node, filename)
            case ast.Expr(ast.Call(ast.Attribute(_, "requires_grad_"), [ast.Constant(False)])):
                return Location.of(node, filename)
    return None
