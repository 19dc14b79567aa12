"""Where the running operation is written: user frames, module path, and the forward operation of a gradient."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FrameType

import torch

from stablelint.runtime.guard.replay.modules import ModuleStack
from stablelint.runtime.program.frames import Site, is_library, site_of
from stablelint.runtime.tracing.nodes import Nodes

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
