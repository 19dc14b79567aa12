"""The smallest part of a graph in which a compiler still goes wrong.

First the shortest beginning of the graph that is compiled wrongly, by bisection: its last node is the operation at
fault. Then the compiler's own minifier cuts it down, with accuracy against float64 as its test. Then smaller shapes.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from stablelint.runtime.compare.compiling.graph import (
    Backend,
    Judged,
    copied,
    judge_graph,
    without_attributes_shared,
)
from stablelint.runtime.tensors.measure import floating, tensors_in


@dataclass(frozen=True, slots=True)
class Reduced:
    """A graph that is compiled wrongly, its inputs, the node at fault in the original graph, and the verdict."""

    graph: GraphModule
    inputs: tuple[Any, ...]
    node: Node
    judged: Judged
    seeded: bool = False  # the inputs are those of `drawn`


@dataclass(slots=True)
class Minimiser:
    """Looks for the smallest part of `graph` that `backend` compiles wrongly; stops after `seconds`."""

    graph: GraphModule
    inputs: Sequence[Any]
    backend: Backend
    seconds: float = 120.0
    _until: float = field(init=False)

    def run(self) -> Reduced | None:
        """The smallest part that was found; None where not even the whole graph goes wrong when compiled anew."""
        self._until = time.monotonic() + self.seconds
        nodes = operations_of(self.graph)
        found = self._beginning(nodes)
        if found is None:
            return None
        beginning, judged = found
        best = Reduced(self._part(nodes[:beginning]), tuple(self.inputs), nodes[beginning - 1], judged)
        return self._smaller(self._minified(best))

    def _minified(self, found: Reduced) -> Reduced:
        """What the compiler's minifier leaves of it; all of it where this torch has none, or it gives up."""
        try:
            from torch._functorch.fx_minifier import minifier

            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                graph, inputs = minifier(
                    without_attributes_shared(found.graph),
                    list(found.inputs),
                    lambda part, given: self._wrong(part, given) is not None,
                    dump_state=lambda *_, **__: None,
                )
        except Exception:  # a tool of the compiler that is not made for every graph
            return found
        judged = self._judged(graph, inputs)
        if judged is None or not judged.wrong:
            return found
        return Reduced(graph, tuple(inputs), found.node, judged)

    def _beginning(self, nodes: Sequence[Node]) -> tuple[int, Judged] | None:
        """The number of nodes in the shortest beginning that goes wrong, by bisection."""
        low, high = 0, len(nodes)
        judged = self._wrong(self._part(nodes), self.inputs)
        if judged is None:
            return None
        while high - low > 1 and time.monotonic() < self._until:
            middle = (low + high) // 2
            found = self._wrong(self._part(nodes[:middle]), self.inputs)
            if found is None:
                low = middle
            else:
                high, judged = middle, found
        return high, judged

    def _part(self, kept: Sequence[Node]) -> GraphModule:
        """The graph up to the last of `kept`; what nothing in it reads is its result."""
        graph = Graph()
        copies: dict[Node, Node] = {}
        chosen = set(kept)
        for node in self.graph.graph.nodes:
            if node in chosen or node.op in ("placeholder", "get_attr"):
                copies[node] = graph.node_copy(node, lambda one: copies[one])
        ends = [copies[node] for node in kept if not any(user in chosen for user in node.users)]
        graph.output(tuple(ends))
        return GraphModule(self.graph, graph)

    def _wrong(self, graph: GraphModule, inputs: Sequence[Any]) -> Judged | None:
        """The verdict on a graph that is compiled wrongly; None for one that is right, or when time is up."""
        judged = self._judged(graph, inputs) if time.monotonic() < self._until else None
        return judged if judged is not None and judged.wrong else None

    def _judged(self, graph: GraphModule, inputs: Sequence[Any]) -> Judged | None:
        """The verdict on a graph; None for one that cannot run, or not be compiled, alone."""
        try:
            compiled = self.backend(without_attributes_shared(graph), list(map(copied, inputs)))
            return judge_graph(graph, compiled, inputs)
        except Exception:  # whatever the part of a program raises
            return None

    def _smaller(self, found: Reduced) -> Reduced:
        """With halves of every size that still show the fault."""
        sizes = {size for one in tensors_in(found.inputs) for size in one.shape if size > 2}
        for size in sorted(sizes, reverse=True):
            while size > 2:
                half = max(size // 2, 2)
                inputs = tuple(_halved(one, size, half) for one in found.inputs)
                judged = self._wrong(found.graph, inputs)
                if judged is None:
                    break
                found, size = Reduced(found.graph, inputs, found.node, judged), half
        inputs = tuple(drawn(found.inputs))
        judged = self._wrong(found.graph, inputs)
        return found if judged is None else Reduced(found.graph, inputs, found.node, judged, seeded=True)


def operations_of(graph: GraphModule) -> list[Node]:
    """The nodes that compute, in their order."""
    return [node for node in graph.graph.nodes if node.op.startswith("call_")]


def drawn(inputs: Sequence[Any]) -> Iterator[Any]:
    """Floating-point inputs as a seeded generator draws them, one after the other; others as they are."""
    generator = torch.Generator().manual_seed(0)
    for one in inputs:
        if floating(one):
            values = torch.randn(one.shape, generator=generator).to(one.dtype).to(one.device)
            yield values.requires_grad_(one.requires_grad)
        else:
            yield one


def _halved(value: Any, size: int, half: int) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    index = tuple(slice(half) if length == size else slice(None) for length in value.shape)
    return value.detach()[index].clone().requires_grad_(value.requires_grad)
