"""Values that are written in place although a gradient needs them, or asks for them."""

from __future__ import annotations

import ast
import re

from stablelint.runtime.audit.record import place
from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.expression import node_at
from stablelint.runtime.crash.graphs import losses, lost_a_value
from stablelint.runtime.crash.provenance.history import Written, history
from stablelint.runtime.crash.repairs.onward import Onward, as_of
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import expression_at, function_at, statement_at
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import operands_of
from stablelint.runtime.tracing.graph import nodes_of, row_of
from stablelint.syntax.names import base_name

_WRITES = ast.Assign | ast.AugAssign | ast.Expr


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
    if (past := history(scene)) is not None and (written := past.written) is not None:
        steps = {at.row for one in scene.trail.steps if (at := place(one.site)) is not None}
        statement = statement_at(written.at)
        at = Location.of(statement, written.at.filename) if isinstance(statement, _WRITES) else written.at
        other = [(f"{operation} keeps it here", written.kept), ("and it is written here", at)]
        if function_at(at) is not function_at(written.kept):
            other += [("it is called here", each) for each in written.callers[:1]]
        because = _shared(written, statement)
        summary = f"`{at.expression}` writes a tensor {shape} that {operation} kept for its gradient"
        advice = _otherwise(scene, written) or advice
        if at.row in steps:
            made = written.kept.expression
            summary = f"an optimizer stepped between `{made}` and this backward call, which needs the old parameters"
            advice = [f"compute `{made}` and the loss of it anew after that step"]
    else:
        advice.insert(0, "look for +=, x[…] = … and methods that end in _ behind that line")
    return Explanation("in-place", summary, tuple(because), tuple(advice), other=tuple(other))


def _shared(written: Written, statement: ast.stmt | None) -> list[str]:
    """That what was written is a view of what was kept, or the other way round, where both have names."""
    taken = [one.id for one in operands_of(expression_at(written.kept)) if isinstance(one, ast.Name)]
    match statement:
        case ast.Assign([ast.Subscript() as target]) | ast.AugAssign(target):
            owner = base_name(target)
            if len(taken) == 1 and owner not in taken and not written.is_result:
                return [f"{taken[0]} and {owner} share their memory"]
    return []


def _otherwise(scene: Scene, written: Written) -> list[str]:
    """A new tensor where one was written, or else a copy where it was kept, with which the program goes on."""
    statement, kept, function = statement_at(written.at), expression_at(written.kept), function_at(written.at)
    anew = _out_of_place(ast.unparse(statement)) if statement is not None else []
    gives = any(
        isinstance(one, ast.Return) and one.value is not None for one in ast.walk(function or ast.Pass())
    )
    if anew and (function is function_at(written.kept) or gives):  # else another name has what was written
        return anew
    parts = [] if kept is None else [kept] if written.is_result else [*operands_of(kept)]
    copies = (as_of(scene, "{}.clone()", one, written.kept.filename) for one in parts)
    return [one.told for one in Onward(scene, lambda _: []).through(copies)][:1]


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
