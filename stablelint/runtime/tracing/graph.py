"""The autograd graph of a tensor, read in place: its nodes, what they have saved, and where they were made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import torch

from stablelint.runtime.program.frames import is_library

Row = tuple[str, int]
"""File and line."""
_MOST_NODES = 20_000


def nodes_of(root: Any, limit: float = _MOST_NODES) -> Iterator[Any]:
    """The nodes of a graph, each once, from the loss inwards."""
    seen = {root}
    waiting = [root]
    while waiting and len(seen) < limit:
        node = waiting.pop()
        yield node
        for other, _ in node.next_functions:
            if other is not None and other not in seen:
                seen.add(other)
                waiting.append(other)


def variable_of(node: Any) -> torch.Tensor | None:
    """The leaf that a node gives its gradient to, if it is the end of a graph."""
    found: torch.Tensor | None = getattr(node, "variable", None)
    return found


def leaves_behind(losses: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors that a backward pass from the losses would give gradients to."""
    roots = [one.grad_fn for one in losses if one.grad_fn is not None]
    found = (variable_of(node) for root in roots for node in nodes_of(root, math.inf))
    return list({id(one): one for one in found if one is not None}.values())


def saved(node: Any, name: str) -> torch.Tensor | None:
    """A tensor that a node has saved for its gradient; None where it is freed, or was written since."""
    with suppress(RuntimeError):
        value = getattr(node, name, None)
        return value if isinstance(value, torch.Tensor) else None
    return None


def all_saved(node: Any) -> dict[str, torch.Tensor]:
    """Every tensor that a node has saved, by what it is called: `result`, `self`."""
    names = [name for name in dir(node) if name.startswith("_saved_")]
    found = ((name.removeprefix("_saved_"), saved(node, name)) for name in names)
    return {name: value for name, value in found if value is not None}


def row_of(node: Any) -> Row | None:
    """File and line of the expression that made a node, of the graphs for which torch kept them."""
    return next(rows_of(node), None)


def rows_of(node: Any) -> Iterator[Row]:
    """The same, and of the calls of the program that led to it, innermost first."""
    for entry in reversed(node.metadata.get("traceback_", ())):
        head = entry.strip().partition("\n")[0]
        if head.startswith('File "'):
            filename, _, rest = head[6:].partition('", line ')
            if not is_library(filename):
                yield filename, int(rest.partition(",")[0])
