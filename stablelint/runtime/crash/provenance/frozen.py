"""Models of which nothing is left to train."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import NamedTuple

from torch import nn

from stablelint.runtime.crash.expression import member
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.scene import Scene, models_of
from stablelint.runtime.crash.source import function_at, loops_around, statement_at
from stablelint.runtime.program.frames import resolve
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


def frozen(model: object, name: str) -> Untrained | None:
    """What is said of a model; None where it holds nothing, or something that is trained."""
    held = [*model.named_parameters()] if isinstance(model, nn.Module) else []
    if not held or any(one.requires_grad for _, one in held):
        return None
    told = f"none of the {len(held)} parameters of {name} ({type(model).__name__}) asks for gradients"
    return Untrained(told, member(name, held[-1][0].rpartition(".")[0]))
