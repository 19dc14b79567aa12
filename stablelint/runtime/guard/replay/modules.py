"""Which modules are being called while a step is replayed, and what they are called."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from stablelint.runtime.tracing.nodes import ModuleNames
from stablelint.runtime.tracing.patches import in_own_thread, replaced


@dataclass(slots=True)
class ModuleStack:
    """The module calls that are active in a replay, and what is told of the outermost ones."""

    active: list[str] = field(default_factory=list)
    finished: int = 0  # outermost calls that returned
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)  # of the modules called, by name
    outermost: dict[str, bool] = field(default_factory=dict)  # module name -> looks like a loss
    used: dict[int, torch.Tensor] = field(default_factory=dict)  # buffers of the modules called, by identity
    on_first_call: Callable[[Collection[int]], None] = lambda _: None  # told of buffers before they are used
    _names: ModuleNames = field(default_factory=ModuleNames)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Follows every module call, and keeps ranks from waiting for each other."""
        held: list[tuple[DistributedDataParallel, bool, bool]] = []

        def call(original: Callable[..., Any], module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if isinstance(module, DistributedDataParallel):
                held.append((module, module.require_backward_grad_sync, module.require_forward_param_sync))
                # Ranks replay on their own: one may stop where another goes on.
                module.require_backward_grad_sync = module.require_forward_param_sync = False
            self._enter(module)
            try:
                return original(module, *args, **kwargs)
            finally:
                self._leave(module)

        with replaced(torch.nn.Module, "__call__", in_own_thread(call)):
            try:
                yield
            finally:
                for module, backward, forward in reversed(held):
                    module.require_backward_grad_sync, module.require_forward_param_sync = backward, forward

    def _enter(self, module: torch.nn.Module) -> None:
        name = self._names.of(module)
        if not self.active:
            self.outermost[name] = self.finished > 0 and next(module.parameters(), None) is None
            new = {id(one): one for one in module.buffers() if id(one) not in self.used}
            if new:
                self.used.update(new)
                self.on_first_call(new)
            for kind in (module.named_parameters, module.named_buffers):
                for path, tensor in kind():
                    self.tensors.setdefault(path, tensor)
        self.active.append(name)

    def _leave(self, module: torch.nn.Module) -> None:
        if self.active:
            self.active.pop()
        if not self.active and next(module.parameters(), None) is not None:
            self.finished += 1
