"""Which modules are being called while a step is replayed, and what they are called."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch.nn.modules import module as torch_module
from torch.nn.parallel import DistributedDataParallel


@dataclass(slots=True)
class ModuleStack:
    """The module calls that are active in a replay, and what is told of the outermost ones."""

    active: list[str] = field(default_factory=list)
    finished: int = 0  # outermost calls that returned
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)  # of the modules called, by name
    outermost: dict[str, bool] = field(default_factory=dict)  # module name -> looks like a loss
    _names: dict[int, str] = field(default_factory=dict)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Follows every module call, and keeps ranks from waiting for each other."""
        held: list[tuple[DistributedDataParallel, bool, bool]] = []

        def enter(module: torch.nn.Module, _: object) -> None:
            if isinstance(module, DistributedDataParallel):
                held.append((module, module.require_backward_grad_sync, module.require_forward_param_sync))
                # Ranks replay on their own: one may stop where another goes on.
                module.require_backward_grad_sync = module.require_forward_param_sync = False
            self._enter(module)

        def leave(module: torch.nn.Module, _: object, result: object) -> None:
            self._leave(module)

        entered = torch_module.register_module_forward_pre_hook(enter)
        left = torch_module.register_module_forward_hook(leave, always_call=True)
        try:
            yield
        finally:
            entered.remove()
            left.remove()
            for module, backward, forward in reversed(held):
                module.require_backward_grad_sync, module.require_forward_param_sync = backward, forward

    def _enter(self, module: torch.nn.Module) -> None:
        name = self._name(module)
        if not self.active:
            self.outermost[name] = next(module.parameters(), None) is None
            for kind in (module.named_parameters, module.named_buffers):
                for path, tensor in kind():
                    self.tensors.setdefault(path, tensor)
        self.active.append(name)

    def _leave(self, module: torch.nn.Module) -> None:
        if self.active:
            self.active.pop()
        if not self.active and next(module.parameters(), None) is not None:
            self.finished += 1

    def _name(self, module: torch.nn.Module) -> str:
        """The path of a module in the outermost one that was called with it inside."""
        if id(module) not in self._names:
            root = type(module).__name__
            for path, child in module.named_modules():
                self._names.setdefault(id(child), f"{root}.{path}" if path else root)
        return self._names[id(module)]
