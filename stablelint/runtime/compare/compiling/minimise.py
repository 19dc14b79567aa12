"""The smallest part of a graph in which a compiler still goes wrong.

First the shortest beginning of the graph that is compiled wrongly: its last node is the operation at fault.
Then as few nodes before it as show the fault, on the operands that they had, and smaller shapes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Interpreter, Node

from stablelint.runtime.compare.compiling.graph import Backend, Judged, judge_graph, without_attributes_shared
from stablelint.runtime.guard.tensors.measure import tensors_in

_WIDTHS = (0, 1, 2, 3, 5, 8, 12)  # how many operations before the one at fault are tried with it


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
        nodes = [node for node in self.graph.graph.nodes if node.op.startswith("call_")]
        found = self._beginning(nodes)
        if found is None:
            return None
        beginning, judged = found
        fault = nodes[beginning - 1]
        best = Reduced(self._part(nodes[:beginning]), tuple(self.inputs), fault, judged)
        values = _Values(self.graph)
        values.run(*_detached(self.inputs))
        for width in _WIDTHS:
            kept = _before(fault, width)
            part, inputs = _cut(self.graph, kept, values.values)
            judged_part = self._wrong(part, inputs)
            if judged_part is not None:
                best = Reduced(part, inputs, fault, judged_part)
                break
        return self._smaller(best)

    def _beginning(self, nodes: Sequence[Node]) -> tuple[int, Judged] | None:
        """The number of nodes in the shortest beginning that goes wrong, by bisection."""
        low, high = 0, len(nodes)
        judged = self._wrong(self._part(nodes), self.inputs)
        if judged is None:
            return None
        while high - low > 1 and self._in_time():
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
        """The verdict on a graph that is compiled wrongly; None for one that is right, or cannot run."""
        if not self._in_time():
            return None
        try:
            compiled = self.backend(without_attributes_shared(graph), _example(inputs))
            judged = judge_graph(graph, compiled, inputs)
        except Exception:  # a part that cannot run or be compiled alone shows nothing
            return None
        return judged if judged is not None and judged.wrong else None

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

    def _in_time(self) -> bool:
        return time.monotonic() < self._until


class _Values(Interpreter):
    """Runs a graph as it is written and keeps the value of every node."""

    def __init__(self, graph: GraphModule) -> None:
        super().__init__(graph, garbage_collect_values=False)
        self.values: dict[Node, Any] = {}

    def run_node(self, n: Node) -> Any:
        """Run one node; what it made is kept as it was made."""
        value = super().run_node(n)
        self.values[n] = value.detach().clone() if isinstance(value, torch.Tensor) else value
        return value


def _before(node: Node, count: int) -> list[Node]:
    """A node and up to `count` operations that it depends on, the nearest first, in the order of the graph."""
    kept, waiting = [node], list(node.all_input_nodes)
    while waiting and len(kept) <= count:
        nearest = waiting.pop(0)
        if nearest.op.startswith("call_") and nearest not in kept:
            kept.append(nearest)
            waiting.extend(nearest.all_input_nodes)
    order = {one: index for index, one in enumerate(node.graph.nodes)}
    return sorted(kept, key=order.__getitem__)


def _cut(
    source: GraphModule, kept: Sequence[Node], values: dict[Node, Any]
) -> tuple[GraphModule, tuple[Any, ...]]:
    """The nodes `kept` as a graph whose inputs are the values that they had, and these values."""
    graph = Graph()
    copies: dict[Node, Any] = {}
    inputs: list[Any] = []
    outside = dict.fromkeys(one for node in kept for one in node.all_input_nodes if one not in kept)
    for node in outside:
        value = values[node]
        if not isinstance(value, torch.Tensor):
            copies[node] = value
            continue
        copies[node] = graph.placeholder(f"x{len(inputs)}")
        wanted = value.is_floating_point() and _requires_gradient(node)
        inputs.append(value.requires_grad_(wanted))
    for node in kept:
        copies[node] = graph.create_node(
            node.op,
            node.target,
            _mapped(node.args, copies),
            _mapped(node.kwargs, copies),
        )
    ends = [copies[node] for node in kept if not any(user in kept for user in node.users)]
    graph.output(tuple(ends))
    return GraphModule(source, graph), tuple(inputs)


def _mapped(value: Any, copies: dict[Node, Any]) -> Any:
    return torch.fx.node.map_aggregate(value, lambda one: copies[one] if isinstance(one, Node) else one)


def _requires_gradient(node: Node) -> bool:
    example = node.meta.get("example_value")
    return bool(getattr(example, "requires_grad", True))


def drawn(inputs: Sequence[Any]) -> Iterator[Any]:
    """Floating-point inputs as a seeded generator draws them, one after the other; others as they are."""
    generator = torch.Generator().manual_seed(0)
    for one in inputs:
        if isinstance(one, torch.Tensor) and one.is_floating_point():
            values = torch.randn(one.shape, generator=generator).to(one.dtype).to(one.device)
            yield values.requires_grad_(one.requires_grad)
        else:
            yield one


def _detached(inputs: Sequence[Any]) -> list[Any]:
    return [one.detach().clone() if isinstance(one, torch.Tensor) else one for one in inputs]


def _example(inputs: Sequence[Any]) -> list[Any]:
    return [
        one.detach().clone().requires_grad_(one.requires_grad) if isinstance(one, torch.Tensor) else one
        for one in inputs
    ]


def _halved(value: Any, size: int, half: int) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    index = tuple(slice(half) if length == size else slice(None) for length in value.shape)
    return value.detach()[index].clone().requires_grad_(value.requires_grad)
