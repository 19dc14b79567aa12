"""Autograd functions of the program, whose backward does not fit their forward."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.graphs import losses
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import returned, syntax_of
from stablelint.runtime.program.location import Location
from stablelint.runtime.tracing.graph import nodes_of


@explains(r"values to unpack \(expected (\d+)")
def saved(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """More or fewer names for what forward has saved than there is of it."""
    match scene.statement:
        case ast.Assign([ast.Tuple(names)], ast.Attribute(ast.Name(context), "saved_tensors")):
            held = scene.user.names.get(context)
        case _:
            return None
    kind: Any = getattr(type(held), "_forward_cls", None)
    nodes = [*ast.walk(syntax_of(getattr(kind, "forward", None)) or ast.Pass())]
    calls = [one for one in nodes if isinstance(one, ast.Call)]
    saves = [one for one in calls if ast.unparse(one.func).endswith(".save_for_backward")]
    if len(saves) != 1:
        return None
    given, wanted = (list(map(ast.unparse, each)) for each in (saves[0].args, names))
    targets = [(one.value, to) for one in nodes if isinstance(one, ast.Assign) for to in one.targets]
    kept = [(ast.unparse(one).strip("()"), to.attr) for one, to in targets if isinstance(to, ast.Attribute)]
    missing = {*wanted} - {*given}
    found = [(text, name) for text, name in kept if {*text.split(", ")} <= missing]
    first = f"{', '.join(given)}{',' * (len(given) == 1)} = {context}.saved_tensors"
    advice = "; ".join([first, *(f"{text} = {context}.{name}" for text, name in found)])
    if missing - {one for text, _ in found for one in text.split(", ")}:
        advice = f"save_for_backward({', '.join(wanted)}) in forward, if all of them are tensors"
    summary = f"backward of {kind.__name__} unpacks {len(wanted)} tensors, "
    summary += f"and its forward saves {len(given)}: "
    saving = (("forward saves here", Location.of(saves[0], inspect.getsourcefile(kind.forward) or "")),)
    return Explanation("backward", summary + ", ".join(given), advice=(advice,), other=saving)


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
