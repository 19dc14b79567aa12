"""Values that are written in place although a gradient needs them, or asks for them."""

from __future__ import annotations

import ast
import copy
import re

from stablelint.runtime.audit.record import place
from stablelint.runtime.crash.explain.second_backward import without_parts
from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.expression import operands
from stablelint.runtime.crash.graphs import asked_of, losses, lost_a_value
from stablelint.runtime.crash.provenance.history import Written, history
from stablelint.runtime.crash.provenance.statements import assignment
from stablelint.runtime.crash.repairs.constructors import line_of
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.onward import Onward, as_of, by_edit, likely, passed
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import expression_at, function_at, statement_at
from stablelint.runtime.program.frames import resolve
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
    past, node = history(scene), _readable(saver.name())
    written = past.written if past is not None else None
    operation = _as_written(node, written.kept if written is not None else kept_at)
    shape = tuple(int(one) for one in match[1].split(",") if one.strip())
    summary = f"{operation} kept a tensor {shape} for its gradient, and it was written before backward"
    other = [("it is kept here", kept_at)] if kept_at is not None else []
    because, advice = list[str](), ["write a new tensor instead: torch.where, clone()"]
    if written is not None:
        steps = {at.row for one in scene.trail.steps if (at := place(one.site)) is not None}
        statement = statement_at(written.at)
        at = Location.of(statement, written.at.filename) if isinstance(statement, _WRITES) else written.at
        other = [("it is kept here", written.kept), ("and it is written here", at)]
        seen = _seen(scene, written)
        if function_at(at) is not function_at(seen):
            other += [("it is called here", each) for each in written.callers[:1]]
        because = _shared(written, statement)
        summary = f"`{at.expression}` writes a tensor {shape} that {operation} kept for its gradient"
        advice = _otherwise(scene, written) or advice
        if at.row in steps:
            line = line_of(scene, Edit(seen.filename, (seen.row, 0, None, None), ""))
            made = f"`{seen.expression}`{line}"
            summary = f"`{at.expression}` came between {made} and this backward call, which needs the old parameters"
            anew = f"compute what {made} gives, and the loss of it, anew after that step"
            advice = _detached(scene) or _anew(scene, seen, written.at) or [anew]
    else:
        advice.insert(0, "look for +=, x[…] = … and methods that end in _ after that line")
    return Explanation("in-place", summary, tuple(because), tuple(advice), other=tuple(other))


def _seen(scene: Scene, written: Written) -> Location:
    """The call through which a tensor was kept, in the innermost function that failed; elsewhere what kept it."""
    for frame in (one for one in reversed(scene.frames) if one.mine):
        around = resolve(frame.site)
        for at in (written.kept, *written.keepers):
            if at.filename == around.filename and function_at(at) is function_at(around):
                return at
    return written.kept


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
    onward, is_kept = Onward(scene, lambda _: []), function is function_at(written.kept)
    inner = ast.walk(function or ast.Pass())
    gives = any(isinstance(one, ast.Return) and one.value is not None for one in inner)
    if is_kept or gives:  # else another name has what was written
        anew, at = _out_of_place(statement), written.at
        tried = onward.likely(_rewritten(scene, statement, at, *one) for one in anew if one[1])
        if told := [one.told for one in tried] or [text for text, code in anew if not code]:
            return told
    parts = [] if kept is None else [kept] if written.is_result else [*operands_of(kept)]
    copies = (as_of(scene, "{}.clone()", one, written.kept.filename) for one in parts)
    return [one.told for one in onward.through(copies)][:1]


def _detached(scene: Scene) -> list[str]:
    """What the loss that failed is to have without its graph, so that all that is stepped is still trained."""
    parts = without_parts(scene, scene.user.site)
    return [one.told for one in Onward(scene, lambda _: []).through(parts) if not one.idle][:1]


def _anew(scene: Scene, seen: Location, step: Location) -> list[str]:
    """The loss that failed once more behind the step, of what a call gives then."""
    user, statement, source = scene.user, statement_at(step), statement_at(seen)
    name = asked_of(user.site) or ""
    made = assignment(user.site.code, name, resolve(user.site).row) if name.isidentifier() else None
    if not isinstance(made, ast.Assign) or not isinstance(source, ast.Assign) or statement is None:
        return []
    if made.lineno > step.row:  # of what is there already
        moved = (
            Edit.of(source, seen.filename, "pass"),
            Edit.behind(statement, step.filename, ast.unparse(source)),
        )
        told = f"`{ast.unparse(source)}` moved from line {source.lineno} to below line {step.row}"
        return passed(scene, [Repair(told, None, revisions=moved)])
    text, given = f"{name} = {ast.unparse(made.value)}", source.value
    targets = [one for to in source.targets for one in (to.elts if isinstance(to, ast.Tuple) else [to])]
    values = given.elts if isinstance(given, ast.Tuple) else [given]
    if len(targets) != len(values):
        text = f"{ast.unparse(source)}; {text}"
    elif made is not source:
        for old, new in zip(map(ast.unparse, targets), map(ast.unparse, values), strict=True):
            text = re.sub(rf"\b{re.escape(old)}\b", new.replace("\\", r"\\"), text)
    return passed(scene, [by_edit(scene, Edit.behind(statement, step.filename, text))])


def _rewritten(scene: Scene, statement: ast.stmt | None, at: Location, text: str, code: str) -> Repair:
    """Other code in place of a statement."""
    edits = (Edit.of(statement, at.filename, code),) if statement is not None else ()
    elsewhere = at.row != getattr(scene.location, "row", 0)
    return Repair(
        text, None, revisions=edits, where="".join(line_of(scene, one) for one in edits if elsewhere)
    )


def _out_of_place(statement: ast.stmt | None) -> list[tuple[str, str]]:
    """What makes a new tensor where a statement writes into an old one, as it is told, and the statement then.

    `g = g - 1` for `g -= 1`; no statement where none can be written.
    """
    whole = ast.unparse(statement) if statement is not None else ""
    statement = copy.deepcopy(statement)
    match statement:
        case ast.AugAssign(ast.Name() | ast.Attribute() | ast.Subscript() as target, operator, value):
            read = ast.parse(ast.unparse(target), mode="eval").body
            anew = ast.unparse(ast.Assign([target], ast.BinOp(read, operator, value), lineno=0))
            copied = _copied(target.value, whole) if isinstance(target, ast.Subscript) else []
            return [*copied, (anew, anew)]
        case ast.Assign([ast.Subscript(ast.Name(name), ast.Compare() | ast.UnaryOp() as mask)], value):
            anew = f"{name} = torch.where({ast.unparse(mask)}, {ast.unparse(value)}, {name})"
            return [(anew, anew)]
        case ast.Assign([ast.Subscript(owner)]):
            return _copied(owner, whole)
        case ast.Expr(ast.Call() as chain) if (written := _not_in_place(chain)) is not None:
            if isinstance(written, ast.Subscript):  # a view: to give it a value writes again
                return _copied(written.value, whole)
            anew = f"{ast.unparse(written)} = {ast.unparse(chain)}"
            return [(anew, anew)] if isinstance(written, ast.Name | ast.Attribute) else []
        case ast.Assign(value=ast.Call() as chain) if _not_in_place(chain):
            return [(ast.unparse(statement), ast.unparse(statement))]
        case ast.Assign(value=ast.Call()):
            return [("inplace=False in what is called there", "")]
    return []


def _copied(owner: ast.expr, whole: str) -> list[tuple[str, str]]:
    """A copy under the same name, before a statement writes a part of it."""
    name = ast.unparse(owner)
    anew = f"{name} = {name}.clone()"
    return [(f"{anew} before it", f"{anew}\n{whole}")] if isinstance(owner, ast.Name | ast.Attribute) else []


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
    advice = _instead(scene, _out_of_place(at)) or [f"{operand.name} = {operand.owner}.clone() before it"]
    return Explanation("in-place", summary, advice=tuple(advice), operands=(operand,))


def _instead(scene: Scene, ways: list[tuple[str, str]]) -> list[str]:
    """Other code in place of the failing statement, with which the program goes on."""
    at, statement = scene.location, scene.statement
    return likely(scene, (_rewritten(scene, statement, at, *one) for one in ways)) if statement else []


def _as_written(operation: str, at: Location | None) -> str:
    """An operation, or the expression that ran it where that calls it otherwise."""
    text = at.expression if at is not None else operation
    return operation if operation in text.lower() else f"`{text}`"


def _readable(node: str) -> str:
    return re.sub(r"Backward\d*$", "", node).lower()


@explains(
    r"a (view of a )?leaf Variable that requires grad (?:is being|has been) used in an in-place operation"
)
def leaf(scene: Scene, _: re.Match[str]) -> Explanation:
    """A parameter that is written where gradients are recorded."""
    shown, statement, user = scene.operands()[:1], scene.statement, scene.user
    name = shown[0].name if shown else "a parameter"
    text, held = next(operands(scene.node, user.names), (name, None))
    path = scene.parameter_name(held) if held is not None else None
    whole = base_name(ast.parse(text, mode="eval").body) if path not in (None, text) else ""
    places = scene.origins.of(user, ast.Name(whole))[:1] if whole != text else ()
    subject = f"{text} is {path}, which" if whole else name
    sets = "with torch.no_grad(): around the write"
    ways = [(sets, f"with torch.no_grad():\n    {ast.unparse(statement)}")] if statement is not None else []
    ways += _out_of_place(statement) if isinstance(statement, ast.AugAssign) else []
    advice = _instead(scene, ways)[:2] or [sets]
    if len(advice) > 1:
        purposes = ", if it sets the parameter", ", if it computes with it"
        advice = [one + purpose for one, purpose in zip(advice, purposes, strict=True)]
    return Explanation(
        "leaf-in-place",
        f"{subject} asks for gradients, and is written while they are recorded",
        advice=tuple(advice),
        operands=shown,
        other=tuple((f"{whole} comes from here", at) for at in places),
    )
