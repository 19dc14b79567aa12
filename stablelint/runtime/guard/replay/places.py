"""Where the running operation is written: user frames, module path, and the forward operation of a gradient.

An operation of the backward pass belongs to the autograd node that runs it, and a node to the forward
operation that bears its sequence number.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

import torch

from stablelint.runtime.guard.replay.modules import ModuleStack
from stablelint.runtime.program.frames import Site, is_library, site_of

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

    def __init__(
        self, modules: ModuleStack, backward_code: frozenset[CodeType], depth: int = _STACK_DEPTH
    ) -> None:
        self.modules = modules
        self._backward_code = backward_code
        self._depth = depth
        self._forward: dict[int, ForwardSite] = {}

    def label(self, running: Any) -> None:
        """Remember the present place for the newest node; operations that make no node find it labelled."""
        sequence = torch._C._autograd._get_sequence_nr() - 1
        if sequence in self._forward:
            return
        sites, in_backward, custom = self.look_around()
        stack = tuple(self.modules.active)
        label = ForwardSite(sites, stack, self.modules.finished > 0 and not stack, custom)
        if running is not None and not in_backward:
            # A second derivative: the node belongs to the forward operation whose gradient made it.
            label = self._forward.get(running._sequence_nr(), label)
        self._forward[sequence] = label

    def made(self, node: Any) -> ForwardSite | None:
        """Where a node was made, if an operation that ran under this watch made it."""
        return self._forward.get(node._sequence_nr())

    def forget(self) -> None:
        """Drop what is remembered of nodes: their graph is gone."""
        self._forward.clear()

    def look_around(self) -> tuple[tuple[Site, ...], bool, bool]:
        """User frames, whether they run inside the backward pass, and whether in a custom function."""
        sites: list[Site] = []
        in_backward = custom = False
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and len(sites) < self._depth:
            code = frame.f_code
            if not is_library(code.co_filename):
                sites.append(site_of(frame))
                custom = custom or (code.co_name in _CUSTOM_METHODS and _is_custom(code))
            else:
                in_backward = in_backward or (bool(sites) and code in self._backward_code)
            frame = frame.f_back
        return tuple(sites), in_backward, custom


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
