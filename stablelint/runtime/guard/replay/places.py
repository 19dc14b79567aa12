"""Where the running operation is written: user frames, module path, and the forward operation of a gradient."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from stablelint.runtime.program.frames import Site, is_library, site_of
from stablelint.runtime.tracing.nodes import ModuleNames, Nodes
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


_STACK_DEPTH = 16
_CUSTOM_METHODS = frozenset("forward backward setup_context vjp jvp vmap".split())


@dataclass(slots=True)
class ForwardSite:
    """Where in the forward pass an autograd node was made."""

    sites: tuple[Site, ...]  # user frames, innermost first
    modules: tuple[str, ...]
    after_model: bool  # the outermost module call had returned
    in_custom: bool  # inside a custom autograd.Function


class Places:
    """Tells operations their place, and remembers where every autograd node was made.

    `backward_code` are the code objects that enter the autograd engine: user frames inside them run as part
    of the backward pass.
    """

    def __init__(self, modules: ModuleStack, backward_code: frozenset[CodeType]) -> None:
        self.modules = modules
        self._backward_code = backward_code
        self._nodes = Nodes(self.here)
        self.label, self.made = self._nodes.label, self._nodes.made

    def here(self) -> tuple[ForwardSite, bool]:
        """The present place, and whether no code of the user's runs there inside the backward pass."""
        sites: list[Site] = []
        in_backward = custom = False
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and len(sites) < _STACK_DEPTH:
            code = frame.f_code
            if not is_library(code.co_filename):
                sites.append(site_of(frame))
                custom = custom or (code.co_name in _CUSTOM_METHODS and _is_custom(code))
            else:
                in_backward = in_backward or (bool(sites) and code in self._backward_code)
            frame = frame.f_back
        stack = tuple(self.modules.active)
        after_model = self.modules.finished > 0 and not stack
        return ForwardSite(tuple(sites), stack, after_model, custom), not in_backward


@lru_cache(maxsize=4096)
def _is_custom(code: CodeType) -> bool:
    """Whether this is the body of a method of a custom autograd function, which `apply` calls from C or from Python."""
    waiting = [torch.autograd.Function]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            method = inspect.unwrap(getattr(kind, code.co_name, kind))
            if getattr(method, "__code__", None) is code:
                return True
    return False
