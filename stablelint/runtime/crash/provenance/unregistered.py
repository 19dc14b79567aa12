"""What a model keeps where `.to(…)`, `parameters()` and `state_dict()` do not find it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import nn

from stablelint.runtime.crash.provenance.statements import made_in_class
from stablelint.runtime.crash.scene import Scene
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
        kind = "tensor" if isinstance(self.value, torch.Tensor) else f"{type(self.value).__name__} of modules"
        return f"self.{self.attribute} of {type(self.owner).__name__} is a plain {kind}"

    @property
    def advice(self) -> str:
        """How the module knows of it."""
        if isinstance(self.value, torch.Tensor):
            return f"self.register_buffer({self.attribute!r}, …)"
        return f"self.{self.attribute} = {_CONTAINERS[type(self.value)]}(…)"

    @property
    def made_at(self) -> Location | None:
        """Where the attribute is made."""
        return made_in_class(self.owner, self.attribute)

    def tensors(self) -> Iterator[torch.Tensor]:
        """The tensors that it holds."""
        if isinstance(self.value, torch.Tensor):
            yield self.value
        for part in _parts(self.value):
            yield from part.parameters() if isinstance(part, nn.Module) else ()


def unregistered(model: nn.Module) -> Iterator[Unregistered]:
    """The tensors and the lists of modules that the modules of a model keep as plain attributes."""
    for owner in model.modules():
        for name, value in vars(owner).items():
            modules = type(value) in _CONTAINERS and any(isinstance(one, nn.Module) for one in _parts(value))
            if name[:1] != "_" and (modules or isinstance(value, torch.Tensor)):
                yield Unregistered(owner, name, value)


def left_behind(scene: Scene, is_stray: Callable[[torch.Tensor], bool]) -> list[Unregistered]:
    """What the models of the failing frames keep so, and that holds a tensor of the kind asked for."""
    owners = (one.frame.f_locals.get("self") for one in scene.frames)
    models = {id(one): one for one in owners if isinstance(one, nn.Module)}
    found = (one for model in models.values() for one in unregistered(model))
    kept = {(id(one.owner), one.attribute): one for one in found if any(map(is_stray, one.tensors()))}
    return list(kept.values())


def _parts(value: object) -> list[object]:
    return (
        list(value.values())
        if isinstance(value, dict)
        else list(value)
        if isinstance(value, list | tuple)
        else []
    )
