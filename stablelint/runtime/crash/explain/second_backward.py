"""A graph that is walked twice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch
from torch import nn

from stablelint.runtime.audit.record import place
from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.graphs import asked_of, losses, lost_a_value
from stablelint.runtime.crash.provenance.statements import assignment
from stablelint.runtime.crash.repairs.constructors import line_of
from stablelint.runtime.crash.repairs.edits import Edit, span_of
from stablelint.runtime.crash.repairs.onward import Onward, as_of, by_edit, passed
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import (
    added_to,
    carried_attribute,
    carried_name,
    function_at,
    loop_around,
    statement_at,
    syntax_of,
)
from stablelint.runtime.program.carried import carried_names
from stablelint.runtime.program.frames import Site, resolve
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.measure import tensors_in
from stablelint.runtime.tracing.graph import nodes_of, row_of

_EMPTIES = re.compile(r"self\.\w+( = \[\]|\.clear\(\))")


@explains(r"Trying to backward through the graph a second time")
def second_backward(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A graph, or a part of one, that an earlier backward call has freed."""
    given = losses(scene)
    if not given or given[0].grad_fn is None:
        return None
    root, before = given[0].grad_fn, scene.trail.backwards[-1] if scene.trail.backwards else None
    if before is None:
        return None
    freed, here = place(before.site), scene.location
    again = freed is not None and freed.span == here.span
    turn = ", in an earlier turn" if again else ""
    other = [(f"the backward call that freed it{turn}", freed)] if freed is not None else []
    if root._sequence_nr() in before.roots:
        return Explanation(
            "second-backward",
            "this loss went backward before, and its graph was freed then",
            advice=(
                "call backward() once for each loss; add losses up first",
                "retain_graph=True, if twice is meant",
            ),
            other=tuple(other),
        )
    nodes = (one for one in nodes_of(root) if not hasattr(one, "variable"))
    kept = earlier = [one for one in nodes if one._sequence_nr() < before.sequence]
    first_loss = _value_of(asked_of(before.site), scene)
    reached = {id(one) for one in nodes_of(first_loss.grad_fn)} if first_loss is not None else None
    kept = [one for one in kept if reached is None or id(one) in reached] or kept
    old = [one for one in kept if lost_a_value(one, "after they have already been freed")] or kept
    names = _names_of(scene, {id(one) for one in old}) or _names_of(scene, {id(one) for one in kept})
    newest = max(old, key=lambda one: one._sequence_nr(), default=None)
    made = place(row_of(newest)) if newest is not None else None
    if made is not None:
        other.append(("a part of the graph that was freed with it was made here", made))
    for frame in [one for one in scene.frames[::-1] if one.mine and {*names[:1]} & {*one.frame.f_locals}][:1]:
        places = scene.origins.of(frame, ast.Name(names[0]))[:1]
        other += [(f"{names[0]} comes from here", at) for at in places if made is None or at.row != made.row]
    user, at = scene.user, scene.location
    same = made is not None and made.filename == at.filename and function_at(made) is function_at(at)
    loop = loop_around(at.filename, at.row) if same else None
    before_loop = loop is not None and made is not None and made.row < loop.lineno
    owners = {key: one for frame in scene.frames if frame.mine for key, one in frame.frame.f_locals.items()}
    field = carried_attribute(made, owners) if made is not None and not names else None
    carried = carried_name(at.filename, at.row, user.names)
    summary = "a part of this graph was made before the last backward call, which freed it"
    total, advice = _total(user), list[str]()
    if names:
        summary = (
            f"{names[0]} was made before the last backward call, which freed its graph, and is used again"
        )
        advice = [
            f"{_without_graph(one, user.names.get(one))} where only its value is wanted"
            for one in dict.fromkeys(names)
        ]
    elif total is not None:
        summary += f": `{total.expression}` adds the graphs of all steps"
        added = ast.unparse(getattr(total.parsed().body[0], "value", ast.Constant(...)))
        advice = [f"backward() of the loss of each step, and {added}.item() in `{total.expression}`"]
    elif carried:
        summary += f": {carried} is carried from step to step"
        advice = [f"{carried} = {_without_graph(carried, user.names.get(carried))} after each step"]
    elif field:
        summary += f": {field} is carried from step to step"
        held = _attribute_with_graph(field.rpartition(".")[2], owners)
        anew, statements = f"{field} = {_without_graph(field, held)}", [statement_at(made or at)]
        edits = (Edit.behind(one, (made or at).filename, anew) for one in statements if one is not None)
        advice = passed(scene, (by_edit(scene, one) for one in edits)) or [f"{anew} after each step"]
    if before_loop and not carried:
        advice.append("compute that part anew in each turn of the loop, where its gradient is wanted")
    stepped = any(one.sequence >= before.sequence for one in scene.trail.steps)
    both = [one for one in (asked_of(before.site), asked_of(user.site)) if one]
    emptied, filled = _emptied(scene, {id(one) for one in earlier})
    other += [one for one in filled if made is None or one[1].row != made.row]
    if emptied:
        advice = emptied
    elif total is None and (told := _detached_in_turn(scene, {*names, *filter(None, (carried,))})):
        advice = told
    elif stepped and (told := _detached_once(scene, before.site, {id(one) for one in earlier})):
        advice = told
    elif not stepped and not carried and len(set(both)) == 2:
        once = f"({' + '.join(both)}).backward() once, or backward(retain_graph=True) in the first call"
        advice = [once, *(advice if names else [])]
        if not names:
            summary = (
                f"{both[0]} and {both[1]} share a part of their graphs, which the first backward call freed"
            )
    elif not stepped and not field and total is None:
        held = (value for frame in scene.frames for value in frame.frame.f_locals.values())
        of_a_step = any(isinstance(one, torch.optim.Optimizer) for one in held)
        advice.append("or one backward call for the sum of the losses")
        if (first := asked_of(before.site)) and of_a_step and not carried and not before_loop:
            advice.append(ast.unparse(ast.parse(f"({first}).backward(retain_graph=True)")))
    advice = advice or _without_graphs(scene, {id(one) for one in earlier})
    return Explanation("second-backward", summary, advice=tuple(advice), other=tuple(other))


def _without_graphs(scene: Scene, nodes: set[int]) -> list[str]:
    """The attributes of objects that hold earlier graphs, without these after the statement that failed."""
    tensors = [
        (path, one) for _, path, _, one in _held(scene) if "." in path and isinstance(one, torch.Tensor)
    ]
    held = [path for path, one in tensors if one.grad_fn and nodes & {*map(id, nodes_of(one.grad_fn))}]
    text = "; ".join(f"{one} = {one}.detach()" for one in dict.fromkeys(held))
    edits = [Edit.behind(scene.statement, scene.location.filename, text)] if text and scene.statement else []
    return passed(scene, (by_edit(scene, one) for one in edits))


def _emptied(scene: Scene, nodes: set[int]) -> tuple[list[str], list[tuple[str, Location]]]:
    """A list that keeps earlier graphs, emptied where another of its object is, or behind the backward call; its filling."""
    for frame, path, owner, held in _held(scene):
        if not isinstance(held, list) or not any(_was_made(one, nodes) for one in held):
            continue
        name, whole, found = path.rpartition(".")[2], ast.parse(path, mode="eval").body, list[Repair]()
        for method in (
            one for one in vars(type(owner)).values() if getattr(one, "__name__", "") != "__init__"
        ):
            for one in ast.walk(syntax_of(method) or ast.Pass()):
                if isinstance(one, ast.stmt) and _EMPTIES.fullmatch(ast.unparse(one)):
                    edit = Edit.behind(one, method.__code__.co_filename, f"self.{name}.clear()")
                    found.append(by_edit(scene, edit))
        call, text = scene.node, ast.unparse(scene.node or whole)
        if isinstance(call, ast.Call) and value_of(whole, scene.user.names) is held:
            edit = Edit.of(call, scene.location.filename, f"({text}, {path}.clear())")
            where = f" after `{text}`{line_of(scene, edit)}"
            found.append(Repair(f"{path}.clear()", None, revisions=(edit,), where=where))
        if told := passed(scene, found)[:1]:
            filled = scene.origins.of(frame, whole)[:1]
            return told, [(f"{path} keeps it from here", one) for one in filled]
    return [], []


def _held(scene: Scene) -> Iterator[tuple[Frame, str, object, object]]:
    """What has a name in the program's frames, or is an attribute of what has: its path, its owner and its value."""
    for frame in (one for one in reversed(scene.frames) if one.mine):
        named: list[Any] = [(name, None, one) for name, one in frame.frame.f_locals.items()]
        for path, owner, value in named:
            yield frame, path, owner, value
            if path.count(".") < 2 and not isinstance(value, nn.Module | torch.Tensor | type | ModuleType):
                held = getattr(value, "__dict__", {})
                named += [(f"{path}.{key}", value, one) for key, one in held.items()]


def _detached_in_turn(scene: Scene, names: set[str]) -> list[str]:
    """A value that a loop carries on, without its graph behind the statement that gives it its name, or goes backward."""
    for frame in (one for one in scene.frames[::-1] if one.mine):
        at = resolve(frame.site)
        loop = loop_around(at.filename, at.row)
        for name in sorted(carried_names(loop.body) & names) if loop is not None else ():
            inner = ast.walk(loop or ast.Pass())
            stores = (one for one in inner if isinstance(one, ast.Name) and one.id == name)
            row = max(at.row, *(one.lineno for one in stores if isinstance(one.ctx, ast.Store)))
            statement = statement_at(replace(at, row=row))
            anew = f"{name} = {_without_graph(name, frame.names.get(name))}"
            edit = Edit.behind(statement, at.filename, anew) if statement is not None else None
            if edit is not None and (told := passed(scene, [by_edit(scene, edit)])):
                return told
    return []


def without_parts(scene: Scene, site: Site | None) -> list[Repair]:
    """What a backward call is asked of, made of a part without its graph: each name with one in that statement."""
    loss, names = asked_of(site) or "", scene.user.names
    if site is None or not loss.isidentifier():
        return []
    made = assignment(site.code, loss, resolve(site).row) or ast.Pass()
    parts = [one for one in ast.walk(made) if isinstance(one, ast.Name) and one.id != loss]
    graphs = [one for one in parts if getattr(names.get(one.id), "grad_fn", None) is not None]
    return [as_of(scene, "{}.detach()", one, site.code.co_filename) for one in graphs]


def _detached_once(scene: Scene, site: Site | None, earlier: set[int]) -> list[str]:
    """What is detached so that the program goes on, and trains most: a name of the first loss, or all that are earlier."""
    around = function_at(resolve(site)) if site is not None else None
    taken = (
        [one.arg for one in around.args.args if one.arg != "self"]
        if isinstance(around, ast.FunctionDef)
        else []
    )
    given = [one for one in ast.walk(around or ast.Pass()) if isinstance(one, ast.Name) and one.id in taken]
    filename = site.code.co_filename if site is not None else ""
    found = [*_all_detached(scene, earlier), *(as_of(scene, "{}.detach()", one, filename) for one in given)]
    trained = Onward(scene, lambda _: []).through([*found, *without_parts(scene, site)])
    return [one.told for one in sorted(trained, key=lambda one: one.idle)[:1]]


def _all_detached(scene: Scene, nodes: set[int]) -> Iterator[Repair]:
    """Every name of the failing frame whose graph was freed, detached where the loop reads it."""
    at, user = scene.location, scene.user
    loop = loop_around(at.filename, at.row)
    held = user.frame.f_locals.items()
    old = {name for name, value in held if _was_made(value, nodes)}
    reads = [one for one in ast.walk(loop) if isinstance(one, ast.Name) and one.id in old] if loop else []
    written = {one.id for one in reads if isinstance(one.ctx, ast.Store)}
    read = sorted((one for one in reads if one.id not in written), key=span_of)
    if read:
        edits = tuple(Edit.of(one, at.filename, f"{one.id}.detach()") for one in read)
        text = " and ".join(dict.fromkeys(one.text for one in edits))
        rows = [*dict.fromkeys(str(one.span[0]) for one in edits)]
        where = f" in line{'s' * (len(rows) > 1)} {' and '.join(rows)}"
        yield Repair(text, None, revisions=edits, where=where)


def _without_graph(name: str, value: object) -> str:
    """What has the value of a name, without its graph."""
    kind = type(value).__name__
    return f"{kind}(one.detach() for one in {name})" if kind in ("list", "tuple") else f"{name}.detach()"


def _attribute_with_graph(name: str, scope: dict[str, Any]) -> object:
    """What an object in a scope, or a module in one of its models, has under a name, if that has a graph."""
    models = [one for one in scope.values() if isinstance(one, nn.Module)]
    owners = [*scope.values(), *(each for one in models for each in one.modules())]
    held = (vars(one)[name] for one in owners if name in getattr(one, "__dict__", ()))
    return next((one for one in held if any(part.grad_fn is not None for part in tensors_in(one))), None)


def _total(user: Frame) -> Location | None:
    """The statement that adds to what the failing backward call is asked of."""
    asked = asked_of(user.site)
    name = asked.rpartition(".")[2] if asked is not None else ""
    return added_to(user.site.code.co_filename, name) if name.isidentifier() else None


def _value_of(text: str | None, scene: Scene) -> torch.Tensor | None:
    """The result of an operation that the failing frame has under a name."""
    node = ast.parse(text, mode="eval").body if text is not None else None
    value = value_of(node, scene.user.names) if node is not None else None
    return value if isinstance(value, torch.Tensor) and value.grad_fn is not None else None


def _names_of(scene: Scene, nodes: set[int]) -> list[str]:
    """Names of the program whose tensors were made by these nodes, and of lists of further ones."""
    held = [one for frame in reversed(scene.frames) if frame.mine for one in frame.frame.f_locals.items()]
    named = {id(value) for _, value in held if isinstance(value, torch.Tensor)}
    found = [name for name, value in held if _was_made(value, nodes)]
    lists = ((name, value) for name, value in held if isinstance(value, list | tuple))
    return found + [
        name for name, value in lists if any(_was_made(one, nodes) and id(one) not in named for one in value)
    ]


def _was_made(value: object, nodes: set[int]) -> bool:
    return isinstance(value, torch.Tensor) and value.grad_fn is not None and id(value.grad_fn) in nodes
