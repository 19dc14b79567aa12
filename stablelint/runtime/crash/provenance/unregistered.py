"""What a module keeps as a plain attribute, so that the model does not find it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import nn

from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.provenance.statements import made_in_class
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
    held = [*value.values()] if isinstance(value, dict) else value
    return [*held] if isinstance(held, list | tuple) else [held]


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
