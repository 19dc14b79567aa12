"""Values that are written in place although a gradient needs them, or asks for them."""

from __future__ import annotations

import ast
import re
from typing import Any

import torch

from stablelint.runtime.audit.record import place
from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.expression import node_at
from stablelint.runtime.crash.graphs import losses, lost_a_value
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import Writer, writer_behind
from stablelint.runtime.program.location import Location
from stablelint.runtime.tracing.graph import nodes_of, row_of, rows_of

_IN_PLACE = re.compile(r"\w_\(|\S [-+*/]= ")  # in the line of torch or of the program that made a node
_VIEWS = 4  # nodes between an operation and the parameter that it takes a view of


@explains(r"modified by an inplace operation: \[[^\]]*\[([\d, ]*)\]\]")
def in_place(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """A value that a gradient needs, and that was written after it was kept."""
    given = losses(scene)
    if not given or given[0].grad_fn is None:
        return None
    nodes = list(nodes_of(given[0].grad_fn))
    saver = next((node for node in nodes if lost_a_value(node)), None)
    if saver is None:
        return None
    kept_at = place(row_of(saver))
    operation = _readable(saver.name())
    shape = tuple(int(one) for one in match[1].split(",") if one.strip())
    summary = f"{operation} kept a tensor {shape} for its gradient, and it was written before backward"
    other = [(f"{operation} keeps it here", kept_at)] if kept_at is not None else []
    because, advice = list[str](), ["write a new tensor instead: torch.where, clone()"]
    step = next((one for one in reversed(scene.trail.steps) if one.sequence > saver._sequence_nr()), None)
    if step is not None and (weight := _parameter_of(saver, shape)) is not None:
        at, name = place(step.site), scene.parameter_name(weight) or f"weight {tuple(weight.shape)}"
        other += [("an optimizer wrote the parameters here", at)] if at is not None else []
        summary = f"an optimizer stepped between the forward pass and this backward call, which needs the old {name}"
        advice = ["compute the second loss anew after that step"]
    elif (writer := _writer(saver) or _written_by(nodes, saver)) is not None:
        written = writer.at
        because = [f"{' and '.join(writer.shared)} share their memory"] if writer.shared else []
        other.append(("and it is written here", written))
        summary = f"`{written.expression}` writes a tensor {shape} that {operation} kept for its gradient"
        advice = _out_of_place(written.expression) or advice
    else:
        advice.insert(0, "look for +=, x[…] = … and methods that end in _ behind that line")
    return Explanation("in-place", summary, tuple(because), tuple(advice), other=tuple(other))


def _writer(saver: Any) -> Writer | None:
    """The statement that writes what a node kept: behind it, or behind the calls that led to it."""
    found = (writer_behind(Location(*row, None, "", "")) for row in rows_of(saver))
    return next((one for one in found if one is not None), None)


def _written_by(nodes: list[Any], saver: Any) -> Writer | None:
    """Where an operation in place took what `saver` gave or was given, as a module with `inplace=True` does."""
    values = {saver, *(one for one, _ in saver.next_functions)} - {None}
    later = [
        one
        for one in nodes
        if one._sequence_nr() > saver._sequence_nr()
        and _IN_PLACE.search("".join(one.metadata.get("traceback_", ())[-1:]))
        and any(operand in values for operand, _ in one.next_functions)
    ]
    at = place(row_of(min(later, key=lambda one: one._sequence_nr()))) if later else None
    return Writer(at) if at is not None else None


def _out_of_place(statement: str) -> list[str]:
    """What makes a new tensor where a statement writes into an old one: `g = g - 1` for `g -= 1`."""
    try:
        body = ast.parse(statement).body
    except SyntaxError:  # a line of a longer statement
        return []
    match body:
        case [ast.AugAssign(ast.Name() as name, operator, value)]:
            anew = ast.BinOp(ast.Name(name.id, ast.Load()), operator, value)
            return [f"{name.id} = {ast.unparse(anew)}"]
        case [ast.Assign([ast.Subscript(ast.Name(name), ast.Compare() | ast.UnaryOp() as mask)], value)]:
            return [f"{name} = torch.where({ast.unparse(mask)}, {ast.unparse(value)}, {name})"]
        case [ast.Assign([ast.Subscript(ast.Name(name))])]:
            return [f"{name} = {name}.clone() before it"]
        case [ast.Expr(ast.Call() as chain)] if owner := _not_in_place(chain):
            if isinstance(owner, ast.Subscript):  # a view: to give it a value writes again
                return [f"{ast.unparse(owner.value)} = {ast.unparse(owner.value)}.clone() before it"]
            named = isinstance(owner, ast.Name | ast.Attribute)
            return [f"{ast.unparse(owner)} = {ast.unparse(chain)}"] if named else []
        case [ast.Assign(value=ast.Call() as chain)] if _not_in_place(chain):
            return [ast.unparse(body[0])]
        case [ast.Assign(value=ast.Call())]:
            return ["inplace=False in what is called there"]
    return []


def _not_in_place(chain: ast.expr) -> ast.expr | None:
    """Make the methods of a chain of calls those that give a new tensor; what the first that wrote is called of."""
    owner = None
    while isinstance(chain, ast.Call) and isinstance(called := chain.func, ast.Attribute):
        chain = called.value
        if called.attr.endswith("_") and not called.attr.endswith("__"):
            called.attr, owner = called.attr.rstrip("_"), chain
    return owner


@explains(r"Output \d+ of (\w+) is a view and is being modified inplace")
def one_of_views(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """One of several views, written in place."""
    operand, at = next(iter(scene.operands()), None), scene.statement
    if operand is None or at is None:
        return None
    summary = f"{operand.name} is a view that {_readable(match[1]).lower()} gave, and is written in place"
    advice = _out_of_place(ast.unparse(at)) or [f"{operand.name} = {operand.owner}.clone() before it"]
    return Explanation("in-place", summary, advice=tuple(advice), operands=(operand,))


def _readable(node: str) -> str:
    return re.sub(r"Backward\d*$", "", node).lower()


def _parameter_of(node: Any, shape: tuple[int, ...]) -> torch.Tensor | None:
    """The parameter of this shape, or of its transpose, that is an operand of a node."""
    for operand, _ in node.next_functions:
        if operand is not None:
            for other in nodes_of(operand, _VIEWS):
                variable = getattr(other, "variable", None)
                if isinstance(variable, torch.Tensor) and sorted(variable.shape) == sorted(shape):
                    return variable
                if variable is None and other.name() not in (
                    "TBackward0",
                    "TransposeBackward0",
                    "AsStridedBackward0",
                ):
                    break
    return None


@explains(
    r"a (view of a )?leaf Variable that requires grad (?:is being|has been) used in an in-place operation"
)
def leaf(scene: Scene, _: re.Match[str]) -> Explanation:
    """A parameter that is written where gradients are recorded."""
    operands = scene.operands()[:1]
    name = operands[0].name if operands else "a parameter"
    node = node_at(scene.user.site) if scene.user is not None else None
    parts = ast.walk(node) if node is not None else ()
    advice = ["with torch.no_grad(): around the write, if it sets the parameter"]
    sets = scene.user is not None and isinstance(scene.statement, ast.Assign | ast.Expr)
    if not sets and not any(
        isinstance(one, ast.Attribute) and one.attr == "grad" for one in parts
    ):  # else it is a step
        advice.append(f"{name}.clone(), if it computes with it")
    return Explanation(
        "leaf-in-place",
        f"{name} asks for gradients, and is written while they are recorded",
        advice=tuple(advice),
        operands=operands,
    )
