"""The forward pass that failed, once more on a copy, layer by layer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.utils.parametrize import ParametrizationList

from stablelint.runtime.audit.replayed import copy_of, detached, undisturbed
from stablelint.runtime.crash.deduced import silenced, without_hooks
from stablelint.runtime.crash.scene import Scene, is_compiled
from stablelint.runtime.tensors.measure import tensors_in

_MOST_ROWS = 24
_MOST_ELEMENTS = 1 << 26  # of parameters: a larger model is not copied after a crash
Shape = tuple[int, ...]


@dataclass
class Pass:
    """A forward pass of a copy: the layers that were called, with the shapes they were given and gave."""

    names: dict[int, str]  # the paths of the layers by identity
    called: list[tuple[str, nn.Module, Any]] = field(default_factory=list)
    entered: list[int] = field(default_factory=list)  # the rows of layers that have not given anything yet
    rows: list[tuple[str, str, str]] = field(default_factory=list)
    error: Exception | None = None
    result: Any = None
    samples: int | None = None  # that the model was given

    def enter(self, layer: nn.Module, given: Any) -> None:
        """Before a layer without others in it, or one of torch that holds weights itself, is called."""
        path = self.names.get(id(layer), "?")
        self.called.append((path, layer, given))
        self.entered.append(len(self.rows))
        self.rows.append((path or type(layer).__name__, _shapes(given), "fails"))

    def leave(self, layer: nn.Module, given: Any, result: Any) -> None:
        """After it was called."""
        place = self.entered.pop()
        self.rows[place] = (*self.rows[place][:2], _shapes(result))


def shapes_through_layers(scene: Scene) -> tuple[tuple[str, str, str], ...]:
    """Name, input and output shapes of the layers up to the failing one; nothing where it cannot be repeated."""
    made = again(scene)
    rows = tuple(made.rows[-_MOST_ROWS:]) if made is not None and made.error is not None else ()
    return () if [row[-1] for row in rows] == ["fails"] else rows  # which tells no more than its operands


def again(scene: Scene) -> Pass | None:
    """The call of the outermost model once more; None where it cannot be copied."""
    if "pass" not in scene.known:
        found = outermost(scene)
        scene.known["pass"] = repeated(*found) if found is not None else None
    made: Pass | None = scene.known["pass"]
    return made


def ends_well(made: Pass | None) -> bool:
    """Whether a pass could be repeated, came to its end, and gave something for each sample."""
    if made is None or made.error is not None:
        return False
    result = next(tensors_in(made.result), None)
    return result is None or not result.dim() or made.samples is None or made.samples in result.shape


def repeated(
    model: nn.Module, args: Any, kwargs: dict[str, Any], others: Mapping[str, nn.Module] | None = None
) -> Pass | None:
    """A call of a model once more, on copies; None where it cannot be copied."""
    if sum(math.prod(one.shape) for one in model.parameters()) > _MOST_ELEMENTS:
        return None
    copied = without_hooks(copy_of(model))
    if copied is None:
        return None
    for path, layer in (others or {}).items():
        holder, _, name = path.rpartition(".")
        if path:
            copied.get_submodule(holder)._modules[name] = layer
        else:
            copied = layer
    made = Pass({id(layer): path for path, layer in copied.named_modules()})
    first = next(tensors_in(args), None)
    made.samples = first.shape[0] if first is not None and first.dim() else None
    of_weights = {
        inner for one in copied.modules() if isinstance(one, ParametrizationList) for inner in one.modules()
    }
    for layer in copied.modules():
        holds = layer._parameters and type(layer).__module__.startswith("torch.nn.")
        if layer not in of_weights and (not layer._modules or holds):
            layer.register_forward_pre_hook(made.enter)
            layer.register_forward_hook(made.leave)
    with undisturbed(), torch.no_grad(), silenced():
        try:
            made.result = copied(*detached(args), **detached(kwargs))
        except Exception as error:  # whatever it says of what it is given
            made.error = error
    return made


def channels_come_first(scene: Scene) -> bool:
    """Whether the layer before the failing one counts channels in dimension 1, as convolutions do."""
    made = again(scene)
    before = made.called[:-1] if made is not None else []
    homes = (class_of(layer).__module__.rpartition(".")[2] for _, layer, _ in reversed(before))
    return next((home in _CHANNELS_FIRST for home in homes if home in _LAYOUTS), False)


def is_one_sample(scene: Scene) -> bool:
    """Whether a layer that tells a sample from a batch was given a sample alone."""
    made = again(scene)
    for _, layer, given in made.called if made is not None else ():
        places = 1 if isinstance(layer, nn.RNNBase) else len(getattr(layer, "kernel_size", ()))
        if places and [one.dim() for one in tensors_in(given)][:1] == [places + 1]:
            return True
    return False


def class_of(layer: nn.Module) -> type[nn.Module]:
    """The class of torch that a layer is of, also where its weights are computed."""
    kinds = (one for one in type(layer).__mro__ if one.__module__.startswith("torch.nn.modules."))
    return next(kinds, type(layer))


_CHANNELS_FIRST = ("conv", "pooling", "batchnorm", "instancenorm")
_LAYOUTS = (*_CHANNELS_FIRST, "linear", "rnn", "sparse", "normalization", "transformer")


def outermost(scene: Scene) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]] | None:
    """The outermost module that was being called, and what it was given."""
    for one in scene.frames:
        owner = one.frame.f_locals.get("self")
        called = one.site.code.co_name == "_call_impl"
        if called and isinstance(owner, nn.Module) and not is_compiled(owner):
            return owner, one.frame.f_locals.get("args", ()), one.frame.f_locals.get("kwargs", {})
    return None


def _shapes(value: Any) -> str:
    return ", ".join(str(tuple(one.shape)) for one in tensors_in(value)) or "–"
