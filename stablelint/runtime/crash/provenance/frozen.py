"""Models of which nothing is left to train, and what a model keeps where it does not find it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from stablelint.runtime.crash.expression import member
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.provenance.statements import made_in_class
from stablelint.runtime.crash.scene import Scene, models_of
from stablelint.runtime.crash.source import function_at, loops_around, statement_at
from stablelint.runtime.program.frames import resolve
from stablelint.runtime.program.location import Location

_CONTAINERS: dict[type, str] = {list: "nn.ModuleList", tuple: "nn.ModuleList", dict: "nn.ModuleDict"}


@dataclass(frozen=True, slots=True)
class Unregistered:
    """An attribute of a module, and what it is to be so that the module knows of it."""

    owner: nn.Module
    attribute: str
    value: object

    @property
    def told(self) -> str:
        """What it is."""
        kind, plain = type(self.value).__name__, _plain_kinds(self.value)
        told = f"self.{self.attribute} of {type(self.owner).__name__} is "
        if plain:
            several = f"a plain {kind} of " if type(self.value) in _CONTAINERS else ""
            return f"{told}{several}{', '.join(plain)}, which is no nn.Module and holds modules"
        return f"{told}a plain {'tensor' if isinstance(self.value, torch.Tensor) else f'{kind} of modules'}"

    @property
    def advice(self) -> str:
        """How the module knows of it."""
        if isinstance(self.value, torch.Tensor):
            return f"self.register_buffer({self.attribute!r}, …)"
        classes = "".join(f"class {one}(nn.Module), and " for one in _plain_kinds(self.value))
        if type(self.value) not in _CONTAINERS:
            return classes.removesuffix(", and ")
        return f"{classes}self.{self.attribute} = {_CONTAINERS[type(self.value)]}(…)"

    @property
    def made_at(self) -> Location | None:
        """Where the attribute is made."""
        return made_in_class(self.owner, self.attribute)

    def tensors(self) -> Iterator[torch.Tensor]:
        """The tensors that it holds."""
        if isinstance(self.value, torch.Tensor):
            yield self.value
        for module in (one for part in _parts(self.value) for one in _modules(part)):
            yield from module.parameters()


def unregistered(model: nn.Module) -> Iterator[Unregistered]:
    """The tensors and the lists of modules that the modules of a model keep as plain attributes."""
    for owner in model.modules():
        for name, value in vars(owner).items():
            modules = any(True for part in _parts(value) for _ in _modules(part))
            if name[:1] != "_" and (modules or isinstance(value, torch.Tensor)):
                yield Unregistered(owner, name, value)


def left_behind(frames: list[Frame], is_stray: Callable[[torch.Tensor], bool]) -> list[Unregistered]:
    """What the models of the failing frames keep so, and that holds a tensor of the kind asked for."""
    owners = (one.frame.f_locals.get("self") for one in frames)
    models = {id(one): one for one in owners if isinstance(one, nn.Module)}
    found = (one for model in models.values() for one in unregistered(model))
    kept = {(id(one.owner), one.attribute): one for one in found if any(map(is_stray, one.tensors()))}
    return list(kept.values())


def _parts(value: object) -> list[object]:
    """What a container holds, or the object itself."""
    held = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
    )
    return list(held)


def _modules(part: object) -> list[nn.Module]:
    """A module, or those that an object of the program has as attributes."""
    if isinstance(part, nn.Module):
        return [part]
    held = vars(part).values() if _is_plain(part) else ()
    return [one for one in held if isinstance(one, nn.Module)]


def _is_plain(part: object) -> bool:
    own = not isinstance(part, nn.Module | torch.Tensor | type) and hasattr(part, "__dict__")
    return own and any(isinstance(one, nn.Module) for one in vars(part).values())


def _plain_kinds(value: object) -> list[str]:
    """The classes of the program, not modules themselves, that hold modules."""
    return list(dict.fromkeys(type(one).__name__ for one in _parts(value) if _is_plain(one)))


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
