"""Autograd functions of the program, whose backward does not fit their forward."""

from __future__ import annotations

import ast
import inspect
import re

from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.graphs import losses
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import returned
from stablelint.runtime.program.location import Location
from stablelint.runtime.tracing.graph import nodes_of


@explains(r"function (\w+)Backward returned an incorrect number of gradients \(expected (\d+), got (\d+)\)")
def gradients(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """More or fewer gradients than forward has arguments."""
    nodes = (node for loss in losses(scene) if loss.grad_fn is not None for node in nodes_of(loss.grad_fn))
    node = next((one for one in nodes if one.name() == f"{match[1]}Backward"), None)
    if node is None:
        return None
    kind, expected = type(node)._forward_cls, int(match[2])
    taken = [*inspect.signature(kind.forward).parameters][-expected:]
    summary = f"{match[1]}.backward returns {match[3]} for the {expected} arguments of its forward: {', '.join(taken)}"
    found = returned(kind.backward)
    filename = inspect.getsourcefile(kind.backward) or ""
    at = tuple(("it returns them here", Location.of(one, filename)) for one in found)
    advice = ["None stands for an argument without a gradient"]
    match found:
        case [value] if int(match[3]) < expected and not any(node.needs_input_grad[int(match[3]) :]):
            given = value.elts if isinstance(value, ast.Tuple) else [value]
            missing = [ast.Constant(None)] * (expected - int(match[3]))
            if len(given) == int(match[3]):
                advice = [f"return {', '.join(map(ast.unparse, [*given, *missing]))}"]
    return Explanation("backward", summary, advice=tuple(advice), other=at)
