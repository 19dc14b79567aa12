"""What each layer hands out, step by step: the hook that people write by hand, with one on all modules at once."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import torch

from stablelint.runtime.guard.reporting.event import LayerStats
from stablelint.runtime.guard.watching.step_state import follower
from stablelint.runtime.tensors.measure import tensors_in

_Numbers = dict[weakref.ref[torch.nn.Module], torch.Tensor]


class Activations:
    """Mean, standard deviation and largest magnitude of the first tensor that each layer without children hands out.

    The numbers stay on their device until they are asked for. Compiled code is not looked into.
    """

    def __init__(self) -> None:
        self._now: _Numbers = {}
        self._before: _Numbers = {}
        self._handle = torch.nn.modules.module.register_module_forward_hook(self._seen)

    def close(self) -> None:
        """Look no more."""
        self._handle.remove()

    def end_step(self) -> None:
        """What was seen belongs to the step before."""
        self._before, self._now = self._now, {}

    def layers(self, roots: Iterable[torch.nn.Module]) -> tuple[LayerStats, ...]:
        """The layers of the pass under way in the order in which they were called, named as in `roots`."""
        names = {id(part): path for root in roots for path, part in root.named_modules()}
        found = []
        for reference, numbers in self._now.items():
            layer = reference()
            if layer is not None:
                mean, std, largest = numbers.tolist()
                before = self._before.get(reference)
                name = names.get(id(layer)) or type(layer).__name__
                found.append(
                    LayerStats(name, mean, std, largest, None if before is None else before[2].item())
                )
        return tuple(found)

    def _seen(self, layer: torch.nn.Module, _: Any, output: Any) -> None:
        if layer._modules or torch.compiler.is_compiling() or follower() is not None:
            return
        tensor = next((one for one in tensors_in(output) if one.is_floating_point() and one.numel()), None)
        if tensor is not None:
            with torch.no_grad():
                std, mean = torch.std_mean(tensor.float(), correction=0)
                self._now[weakref.ref(layer)] = torch.stack([mean, std, tensor.abs().max().float()])
