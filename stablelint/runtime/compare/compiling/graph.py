"""A graph that a compiler was given, against what the compiler made of it: values, gradients, written inputs."""

from __future__ import annotations

import ast
import copy
import linecache
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node

from stablelint.runtime.compare.recording.judge import distance
from stablelint.runtime.program.frames import is_library, parse_file
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.measure import tensors_in
from stablelint.runtime.tensors.state import current_state
from stablelint.syntax.names import called_name
from stablelint.syntax.source import Source

_OPERATORS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Add: ("add", "iadd"),
    ast.Sub: ("sub", "isub"),
    ast.Mult: ("mul", "imul"),
    ast.Div: ("truediv", "itruediv", "div"),
    ast.MatMult: ("matmul", "imatmul"),
    ast.Pow: ("pow", "ipow"),
    ast.USub: ("neg",),
    ast.Lt: ("lt",),
    ast.LtE: ("le",),
    ast.Gt: ("gt",),
    ast.GtE: ("ge",),
    ast.Eq: ("eq",),
    ast.NotEq: ("ne",),
}

Backend = Callable[[GraphModule, list[Any]], Callable[..., Any]]
_ALLOWED_ULPS = 32.0
_TIMES = 8.0  # what a compiler may lose beside eager: another order of additions, another approximation
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<row>\d+), in (?P<function>.+)$')


@dataclass(frozen=True, slots=True)
class Judged:
    """How far eager and compiled are from float64, in ulps of the result that is furthest apart."""

    eager: float
    compiled: float
    place: str  # "result 1", "gradient of x", "x afterwards"
    values: tuple[torch.Tensor, torch.Tensor]  # of eager and compiled there

    @property
    def allowed(self) -> float:
        """The error of the compiled graph that the error of the eager one explains."""
        return _ALLOWED_ULPS + _TIMES * self.eager

    @property
    def wrong(self) -> bool:
        """Whether the compiled graph is further off than rounding explains."""
        return self.compiled > self.allowed


def judge_graph(graph: GraphModule, compiled: Callable[..., Any], inputs: Sequence[Any]) -> Judged | None:
    """Run both on copies of `inputs`, forward and backward, and in float64; the worst result. None without results.

    Generators are as before afterwards, and so are the inputs.
    """
    state = current_state()
    names = [str(node.name) for node in graph.graph.nodes if node.op == "placeholder"]
    sides = []
    for run, wide in ((graph, False), (compiled, False), (graph, True)):
        state.restore()
        try:
            sides.append(_run(run, [copied(one, wide) for one in inputs], names))
        except (RuntimeError, TypeError, NotImplementedError):
            if not wide:
                raise
            sides.append(sides[0])  # no kernel in double precision: eager is the reference
        finally:
            state.restore()
    eager, other, exact = sides
    places = [place for place in eager if place in other and place in exact]
    found = [_judged(place, eager[place], other[place], exact[place]) for place in places]
    return max(found, key=lambda one: one.compiled / one.allowed, default=None)


def without_attributes_shared(graph: GraphModule) -> GraphModule:
    """A graph of its own over the same parameters: a backend may write into the one that it is given."""
    return GraphModule(graph, copy.deepcopy(graph.graph))


def place_of(node: Node) -> Location:
    """The user's expression that a node of a captured graph stands for."""
    lines = str(node.meta.get("stack_trace") or "").splitlines()
    for index in range(len(lines) - 1, -1, -1):
        match = _FRAME.match(lines[index])
        if match is not None and not is_library(match["file"]):
            marks = lines[index + 2] if index + 2 < len(lines) else ""
            indent, name = _indent(lines[index + 1], marks), name_of(node)
            return expression_at(match["file"], int(match["row"]), indent, name, match["function"])
    return Location("", 0, None, str(node.name), "")


def module_of(node: Node) -> str:
    """The module path of a node."""
    stack = node.meta.get("nn_module_stack") or {}
    found = [str(path) for path, _ in stack.values()]
    return re.sub(r"L\['(\w+)'\]\.?(_modules)?", "", found[-1]).strip(".") if found else ""


def _indent(line: str, marks: str) -> int | None:
    """How far behind the start of a traceback's line of code its marks begin; None where there are none."""
    if not marks.strip() or set(marks.strip()) - set("^~"):
        return None
    return len(marks) - len(marks.lstrip()) - (len(line) - len(line.lstrip()))


def name_of(node: Node) -> str:
    """What the operation of a node is called."""
    return str(getattr(node.target, "__name__", node.target)).strip("_")


def _run(run: Callable[..., Any], inputs: list[Any], names: Sequence[str]) -> dict[str, torch.Tensor]:
    """Results, gradients under fixed cotangents, and inputs that were written, by name."""
    named = [(names[index] if index < len(names) else str(index), one) for index, one in enumerate(inputs)]
    # Not by their versions: the statistics of a batch normalisation are written unseen.
    before = {name: one.detach().clone() for name, one in named if isinstance(one, torch.Tensor)}
    with torch.enable_grad():
        outputs = list(tensors_in(run(*inputs)))
        losses = [
            (one * _cotangent(one)).sum() for one in outputs if one.requires_grad and one.is_floating_point()
        ]
        if losses:
            torch.autograd.backward(losses, [torch.ones_like(loss) for loss in losses])
    found = {f"result {index + 1}": one.detach() for index, one in enumerate(outputs)}
    for name, one in named:
        if isinstance(one, torch.Tensor):
            if one.grad is not None:
                found[f"gradient of {name}"] = one.grad
            if not torch.equal(one, before[name]):
                found[f"{name} afterwards"] = one.detach()
    return found


def run_once(function: Callable[..., Any], inputs: Sequence[Any]) -> dict[str, torch.Tensor]:
    """Results, gradients and written inputs of a call on copies of `inputs`."""
    names = [f"input {index + 1}" for index in range(len(inputs))]
    return _run(function, [copied(one) for one in inputs], names)


def _cotangent(tensor: torch.Tensor) -> torch.Tensor:
    count = torch.arange(tensor.numel(), dtype=torch.float64, device=tensor.device)
    return (1 + 0.5 * torch.sin(count)).reshape(tensor.shape).to(tensor.dtype)


def copied(value: Any, wide: bool = False) -> Any:
    """A tensor of its own, in double precision where that is asked for; anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    copied = value.detach().clone()
    if wide and copied.is_floating_point():
        copied = copied.double()
    return copied.requires_grad_(value.requires_grad)


def _judged(place: str, eager: torch.Tensor, compiled: torch.Tensor, exact: torch.Tensor) -> Judged:
    if eager.shape != compiled.shape or eager.dtype != compiled.dtype:
        return Judged(0.0, math.inf, place, (eager, compiled))
    if not eager.is_floating_point():
        wrong = not torch.equal(eager, compiled)
        return Judged(0.0, math.inf if wrong else 0.0, place, (eager, compiled))
    reference = exact.double()
    return Judged(distance(eager, reference), distance(compiled, reference), place, (eager, compiled))


def expression_at(filename: str, row: int, indent: int | None, operation: str, function: str) -> Location:
    """The expression that begins in `row`, `indent` columns behind its first letter, and stands for `operation`.

    The whole line where no expression of it is known.
    """
    line = linecache.getline(filename, row)
    start = None if indent is None else len(line) - len(line.lstrip()) + indent
    found = [
        node
        for node in _expressions(filename, row)
        if start is None or node.col_offset == len(line[:start].encode())
    ]
    named = [node for node in found if operation in _names(node)]
    calls = [node for node in found if isinstance(node, ast.Call)]
    chosen = min(
        named or calls or found, key=lambda node: (node.end_lineno, node.end_col_offset), default=None
    )
    if chosen is None or (start is None and not named):
        return Location(filename, row, None, line.strip(), function)
    lines = [text.rstrip("\n") for text in linecache.getlines(filename)]
    source = Source(filename, "", ast.Module([], []), lines)
    return Location(filename, row, source.span(chosen), " ".join(source.segment(chosen).split()), function)


def _expressions(filename: str, row: int) -> Iterator[ast.expr]:
    tree = parse_file(filename)
    for node in ast.walk(tree) if tree is not None else ():
        if (
            isinstance(node, ast.Call | ast.BinOp | ast.UnaryOp | ast.Compare | ast.Subscript)
            and node.lineno == row
        ):
            yield node


def _names(node: ast.expr) -> tuple[str, ...]:
    """What the operation of an expression is called."""
    if isinstance(node, ast.Call):
        return (called_name(node).strip("_"),)
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
        return _OPERATORS.get(type(node.ops[0] if isinstance(node, ast.Compare) else node.op), ())
    return ("getitem",)
