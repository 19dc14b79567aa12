"""Models of which nothing is left to train."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from torch import nn

from stablelint.runtime.crash.expression import member
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.scene import Scene, models_of
from stablelint.runtime.crash.source import function_at, loops_around, statement_at
from stablelint.runtime.program.frames import parse_file, resolve
from stablelint.runtime.program.location import Location


class Untrained(NamedTuple):
    """Parameters that ask for no gradient, of which a value was made."""

    told: str
    layer: str = ""  # what the program calls the last of their layers
    behind: Location | None = None  # the statement after which they ask for none
    places: tuple[tuple[str, Location], ...] = ()


def untrained(scene: Scene, leaves: list[nn.Parameter], frames: list[Frame]) -> Untrained | None:
    """What is said of the parameters that a value was made of; `frames` took the first of them out of training.

    None where one of them asks for a gradient.
    """
    if not leaves or any(one.requires_grad for one in leaves):
        return None
    name, model = next(_owners(scene.frames, leaves), ("", None))
    told = f"none of the {len(leaves)} parameters that it came through asks for gradients"
    told = whole.told if (whole := frozen(model, name)) is not None else told
    if not frames:
        return Untrained(told)
    at = resolve(frames[0].site)
    statement = statement_at(at)
    at = Location.of(statement, at.filename) if isinstance(statement, ast.Assign | ast.Expr) else at
    owners = [(one, *pair) for one in frames for pair in _owners([one], leaves, local=True)]
    own = [one for one in owners if _is_own(*one[:2])]
    other = ("parameters are taken out of training here", at)
    if not owners:
        return Untrained(told, places=(other,))
    frame, name, model = (own or owners)[0]
    path = next(path for path, one in model.named_parameters() if one is leaves[0])
    called = resolve(frame.site)
    loops = loops_around(called.filename, called.row) if frame is frames[0] else []
    within = getattr(function_at(called), "lineno", 0)
    behind = next((one for one in loops if one.lineno > within), statement_at(called))
    places = (other, ("it is called here", called)) if frame is not frames[0] else (other,)
    place = Location.of(behind, called.filename) if behind is not None else None
    return Untrained(told, member(name, path.rpartition(".")[0]), place, places)


def _owners(
    frames: list[Frame], leaves: list[nn.Parameter], *, local: bool = False
) -> Iterator[tuple[str, nn.Module]]:
    """The modules that hold all of some parameters, and what frames call them."""
    wanted = {*map(id, leaves)}
    for name, model in models_of(frames, local=local):
        if wanted <= {id(one) for one in model.parameters()}:
            yield name, model


def _is_own(frame: Frame, name: str) -> bool:
    """Whether a frame was not given what has a name there."""
    given, base = inspect.getargs(frame.site.code).args, name.partition(".")[0]
    return base == "self" or base not in given


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
