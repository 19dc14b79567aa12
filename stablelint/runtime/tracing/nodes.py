"""What an operation belongs to: the module that is called, and the forward operation whose gradient it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import torch

Made = TypeVar("Made")
_LEVELS = 8  # of transforms such as `grad` and `vmap`, each of which makes a node for an operation


class Nodes(Generic[Made]):
    """Where every autograd node was made: a node belongs to the forward operation that bears its sequence number."""

    def __init__(self, look: Callable[[], tuple[Made, bool]]) -> None:
        """`look` tells the present place, and whether the engine runs it without code of the user's in between."""
        self._look = look
        self._made: dict[int, Made] = {}
        self._newest = -1

    def label(self, running: Any) -> Made | None:
        """Remember the present place for the newest nodes; returns it if it had to be looked up.

        Operations that make no node find the newest labelled.
        """
        sequence = torch._C._autograd._get_sequence_nr() - 1
        if sequence in self._made:
            return None
        here, in_engine = self._look()
        # A second derivative: the node belongs to the forward operation whose gradient made it.
        first = self._made.get(running._sequence_nr()) if running is not None and in_engine else None
        count = sequence - self._newest
        for number in range(count if 0 < count <= _LEVELS else 1):
            self._made[sequence - number] = first or here
        self._newest = sequence
        return here

    def made(self, node: Any) -> Made | None:
        """Where a node was made, if an operation that ran under this watch made it."""
        return self._made.get(node._sequence_nr())

    def forget(self) -> None:
        """Drop what is remembered of nodes: their graph is gone."""
        self._made.clear()


class ModuleNames:
    """What modules are called: by their paths in the outermost one that was called with them inside."""

    def __init__(self) -> None:
        self._names: WeakKeyDictionary[torch.nn.Module, str] = WeakKeyDictionary()

    def of(self, module: torch.nn.Module) -> str:
        """The name of a module; where it has none as yet, it is the outermost."""
        if module not in self._names:
            root = type(module).__name__
            for path, child in module.named_modules():
                self._names.setdefault(child, f"{root}.{path}" if path else root)
        return self._names[module]
