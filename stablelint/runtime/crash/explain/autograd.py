"""Errors of the backward pass: graphs walked twice, values overwritten, losses without a graph."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Any

import torch

from stablelint.runtime.audit.record import place
from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.expression import node_at, value_of
from stablelint.runtime.crash.scene import Frame, Scene, assigned
from stablelint.runtime.crash.source import (
    FLAT,
    carried_name,
    cuts_in,
    is_without_gradients,
    loop_around,
    returned,
    writer_behind,
)
from stablelint.runtime.program.frames import Site, resolve
from stablelint.runtime.program.location import Location
from stablelint.runtime.tracing.graph import nodes_of, row_of

_IN_PLACE = re.compile(r"\w_\(|\S [-+*/]= ")  # in the line of torch or of the program that made a node
_VIEWS = 4  # nodes between an operation and the parameter that it takes a view of


def _losses(scene: Scene) -> tuple[torch.Tensor, ...]:
    """What the failing backward call was given."""
    frame = scene.called("backward")
    given = (
        frame.frame.f_locals.get("tensors", frame.frame.f_locals.get("self")) if frame is not None else None
    )
    return tuple(
        one for one in (given if isinstance(given, tuple) else (given,)) if isinstance(one, torch.Tensor)
    )


@explains(r"Trying to backward through the graph a second time")
def second_backward(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A graph, or a part of one, that an earlier backward call has freed."""
    losses = _losses(scene)
    if not losses or losses[0].grad_fn is None:
        return None
    root, before = losses[0].grad_fn, scene.trail.backwards[-1] if scene.trail.backwards else None
    if before is None:
        return None
    other = [("the backward call that freed it", at)] if (at := place(before.site)) is not None else []
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
    kept = [one for one in nodes_of(root) if _is_old(one, before.sequence)]
    old = [one for one in kept if _lost_a_value(one, "after they have already been freed")] or kept
    names = _names_of(scene, {id(one) for one in old}) or _names_of(scene, {id(one) for one in kept})
    newest = max(old, key=lambda one: one._sequence_nr(), default=None)
    made = place(row_of(newest)) if newest is not None else None
    if made is not None:
        other.append(("a part of the graph that was freed with it was made here", made))
    user, at = scene.user, scene.location
    loop = loop_around(at.filename, at.row) if at and made and at.filename == made.filename else None
    before_loop = loop is not None and made is not None and made.row < loop.lineno
    carried = carried_name(user.site.code.co_filename, at.row, user.names) if user and at else None
    summary = "a part of this graph was made before the last backward call, which freed it"
    advice = [] if before_loop else ["detach() what is carried from step to step"]
    if names:
        summary = (
            f"{names[0]} was made before the last backward call, which freed its graph, and is used again"
        )
        advice = [f"{names[0]}.detach() where only its value is wanted"]
    elif carried and user:
        several = isinstance(user.names[carried], list | tuple)
        cut = f"tuple(one.detach() for one in {carried})" if several else f"{carried}.detach()"
        summary += f": {carried} is carried from step to step"
        advice = [f"{carried} = {cut} after each step"]
    if before_loop and not carried:
        advice.append("compute that part anew in each turn of the loop, where its gradient is wanted")
    stepped = any(one.sequence > before.sequence for one in scene.trail.steps)
    both = [one for one in (_asked(before.site), _asked(user.site if user else None)) if one]
    if not stepped and not carried and len(set(both)) == 2:
        advice.insert(
            0, f"({' + '.join(both)}).backward() once, or backward(retain_graph=True) in the first call"
        )
    else:
        advice.append("or one backward call for the sum of the losses")
    return Explanation("second-backward", summary, advice=tuple(advice), other=tuple(other))


def _asked(site: Site | None) -> str | None:
    """What a backward call is asked of, as it is written."""
    match node_at(site) if site is not None else None:
        case ast.Call(ast.Attribute(owner, "backward")):
            return ast.unparse(owner)
    return None


def _is_old(node: Any, sequence: int) -> bool:
    return not hasattr(node, "variable") and node._sequence_nr() < sequence


def _names_of(scene: Scene, nodes: set[int]) -> list[str]:
    """Names of the program whose tensors were made by these nodes."""
    return [
        name
        for frame in reversed(scene.frames)
        for name, value in (frame.frame.f_locals.items() if frame.mine else ())
        if isinstance(value, torch.Tensor) and value.grad_fn is not None and id(value.grad_fn) in nodes
    ]


@explains(r"modified by an inplace operation: \[[^\]]*\[([\d, ]*)\]\]")
def in_place(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """A value that a gradient needs, and that was written after it was kept."""
    losses = _losses(scene)
    if not losses or losses[0].grad_fn is None:
        return None
    nodes = list(nodes_of(losses[0].grad_fn))
    saver = next((node for node in nodes if _lost_a_value(node)), None)
    if saver is None:
        return None
    kept_at = place(row_of(saver))
    operation = _readable(saver.name())
    shape = tuple(int(one) for one in match[1].split(",") if one.strip())
    summary = f"{operation} kept a tensor {shape} for its gradient, and it was written before backward"
    other = [(f"{operation} keeps it here", kept_at)] if kept_at is not None else []
    advice = ["write a new tensor instead: torch.where, clone()"]
    step = next((one for one in reversed(scene.trail.steps) if one.sequence > saver._sequence_nr()), None)
    if step is not None and (weight := _parameter_of(saver, shape)) is not None:
        at, name = place(step.site), scene.operand(weight, "a weight").name
        other += [("an optimizer wrote the parameters here", at)] if at is not None else []
        summary = f"an optimizer stepped between the forward pass and this backward call, which needs the old {name}"
        advice = ["backward() for all losses before any step, or compute the second loss anew after it"]
    elif (written := (kept_at and writer_behind(kept_at)) or _written_by(nodes, saver)) is not None:
        other.append(("and it is written here", written))
        summary = f"`{written.expression}` writes a tensor {shape} that {operation} kept for its gradient"
        advice[:0] = _out_of_place(written.expression)
    else:
        advice.insert(0, "look for +=, x[…] = … and methods that end in _ behind that line")
    return Explanation("in-place", summary, advice=tuple(advice), other=tuple(other))


def _written_by(nodes: list[Any], saver: Any) -> Location | None:
    """Where an operation in place took what `saver` gave or was given, as a module with `inplace=True` does."""
    values = {saver, *(one for one, _ in saver.next_functions)} - {None}
    later = [
        one
        for one in nodes
        if one._sequence_nr() > saver._sequence_nr()
        and _IN_PLACE.search("".join(one.metadata.get("traceback_", ())[-1:]))
        and any(operand in values for operand, _ in one.next_functions)
    ]
    return place(row_of(min(later, key=lambda one: one._sequence_nr()))) if later else None


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
        case [ast.Assign(value=ast.Call(called))] if not ast.unparse(called).endswith("_"):
            return ["inplace=False in what is called there"]
    return []


def _lost_a_value(node: Any, why: str = "inplace operation") -> bool:
    """Whether a node cannot give what it saved any more, for a reason that torch tells."""
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                getattr(node, name)
            except RuntimeError as error:
                if why in str(error):
                    return True
    return False


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


@explains(r"does not require grad and does not have a grad_fn")
def no_graph(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A loss that was cut off."""
    user = scene.user
    if user is None:
        return None
    losses = _losses(scene)
    name = next((key for key, value in user.frame.f_locals.items() if losses and value is losses[0]), None)
    made = None
    if name is not None and scene.location is not None:
        made = assigned(user.site.code, name, scene.location.row)
    other = [("the loss was made here", made)] if made is not None else []
    because, advice = [], ["compute the loss from the model's output with operations of torch alone"]
    if scene.location is not None and is_without_gradients(
        user.site.code.co_filename, (made or scene.location).row
    ):
        because.append(
            "gradients are disabled where it is made: it stands under no_grad, or something like it"
        )
        advice = ["leave that block before the loss is computed"]
    else:
        for one in _behind(made, user):
            if is_without_gradients(one.filename, one.row):
                because.append(f"gradients are disabled where `{one.expression}` stands")
                advice = ["move that line out of no_grad"]
                break
            if silent := next(_without_gradients_in(one, user), None):
                because.append(f"gradients are disabled in {silent}, which `{one.expression}` calls")
                advice = [f"{silent} without no_grad, where its result is trained on"]
                break
            if result := next(_cutting_returns(one, user), None):
                because.append(
                    f"`return {result}`, which `{one.expression}` calls, cuts it off: {', '.join(cuts_in(result))}"
                )
                advice = ["return the scores, compute the loss of them, and take what cuts only for figures"]
                break
            if cuts := cuts_in(one.expression):
                because.append(f"`{one.expression}` cuts it off: {', '.join(cuts)}")
                if cuts[0] in FLAT:
                    advice = [f"compute the loss of what stands before {cuts[0]}"]
                break
    models = [one for one in user.names.values() if isinstance(one, torch.nn.Module)]
    frozen = [
        one for one in models if (held := list(one.parameters())) and not any(p.requires_grad for p in held)
    ]
    if frozen and len(frozen) == len([one for one in models if list(one.parameters())]):
        because.append(f"no parameter of {type(frozen[0]).__name__} asks for gradients")
        advice = ["requires_grad_(True) for what is to be trained"]
    return Explanation(
        "no-graph",
        f"{name or 'what went backward'} has no graph: nothing it was computed from asks for gradients",
        tuple(because),
        tuple(advice),
        other=tuple(other),
    )


def _without_gradients_in(made: Location, user: Frame) -> Iterator[str]:
    """The functions of the program that a statement calls and that are decorated by `no_grad`."""
    for one in ast.walk(made.parsed()):
        called: Any = value_of(one.func, user.names) if isinstance(one, ast.Call) else None
        code = getattr(inspect.unwrap(called), "__code__", None) if callable(called) else None
        if code is not None and is_without_gradients(code.co_filename, code.co_firstlineno + 1):
            yield called.__name__


def _cutting_returns(made: Location, user: Frame) -> Iterator[str]:
    """What functions and modules of the program that a statement calls return, where that cuts a graph off."""
    for one in ast.walk(made.parsed()):
        called: Any = value_of(one.func, user.names) if isinstance(one, ast.Call) else None
        if isinstance(called, torch.nn.Module):
            called = type(called).forward
        for value in returned(inspect.unwrap(called)) if callable(called) else ():
            if cuts_in(ast.unparse(value)):
                yield ast.unparse(value)


def _behind(made: Location | None, user: Frame) -> Iterator[Location]:
    """The assignment of a loss, and those of the tensors without a graph that it names."""
    if made is None:
        at = resolve(user.site)
        if at.expression:
            yield at
        return
    yield made
    for one in ast.walk(made.parsed()):
        value = user.names.get(one.id) if isinstance(one, ast.Name) else None
        if isinstance(value, torch.Tensor) and isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
            found = assigned(user.site.code, one.id, made.row)
            if not value.requires_grad and found is not None:
                yield found


@explains(
    r"differentiated Tensor at index (\d+) appears to not have been used|"
    r"One of the differentiated Tensors (?:appears to not have been used|does not require grad)"
)
def not_reached(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """A gradient with respect to what the output was not computed from."""
    frame = scene.called("grad")
    if frame is None:
        return None
    asked = frame.frame.f_locals["inputs"]
    asked = (asked,) if isinstance(asked, torch.Tensor) else tuple(asked)
    outputs = frame.frame.f_locals["outputs"]
    roots = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
    reached = {
        id(getattr(node, "variable", None)) for one in roots if one.grad_fn for node in nodes_of(one.grad_fn)
    }
    leaves = [one for one in asked if one.is_leaf and id(one) not in reached]
    odd = [asked[int(match[1])]] if match[1] else leaves[:1]
    operands = tuple(scene.operand(one, "inputs") for one in (*odd, *roots[:1]))
    if not odd:
        return None
    more = f" and {len(leaves) - 1} more" if len(leaves) > 1 else ""
    told = f"{operands[0].name} {operands[0].shape}{more}"
    if not odd[0].requires_grad:
        summary = f"a gradient is asked for {told}, which asks for none itself"
        return Explanation(
            "no-graph",
            summary,
            advice=("requires_grad_() on it before the output is computed",),
            operands=operands,
        )
    summary = f"{operands[-1].name} was not computed from {told}, for which a gradient is asked"
    advice = (
        "leave it out of what gradients are asked for; allow_unused=True gives None for it",
        "or see where its graph is cut: .detach(), .item(), a new torch.tensor(…)",
    )
    return Explanation("no-graph", summary, advice=advice, operands=operands)


@explains(r"grad can be implicitly created only for scalar outputs")
def no_scalar(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A loss of several numbers."""
    losses = _losses(scene)
    if not losses:
        return None
    operand = scene.operand(losses[0], "the loss")
    advice = f"{operand.owner}.mean().backward(), or a loss whose reduction is not 'none'"
    summary = f"{operand.name} {operand.shape} is not one number"
    return Explanation("no-scalar", summary, advice=(advice,), operands=(operand,))


@explains(
    r"a (view of a )?leaf Variable that requires grad (?:is being|has been) used in an in-place operation"
)
def leaf(scene: Scene, _: re.Match[str]) -> Explanation:
    """A parameter that is written where gradients are recorded."""
    operands = scene.operands()[:1]
    name = operands[0].name if operands else "a parameter"
    return Explanation(
        "leaf-in-place",
        f"{name} asks for gradients, and is written while they are recorded",
        advice=(
            "with torch.no_grad(): around the write, if it sets the parameter",
            f"{name}.clone(), if it computes with it",
        ),
        operands=operands,
    )


@explains(
    r"'NoneType' object has no attribute|unsupported operand type\(s\) for .*'NoneType'|must be Tensor, not NoneType"
)
def no_gradient(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A gradient that is read and that no backward call has made."""
    user = scene.user
    node = node_at(user.site) if user is not None else None
    if user is None or node is None:
        return None
    read = (one for one in ast.walk(node) if isinstance(one, ast.Attribute) and one.attr == "grad")
    gradient = next((one for one in read if value_of(one, user.names) is None), None)
    if gradient is None:
        return None
    leaf, text = value_of(gradient.value, user.names), ast.unparse(gradient.value)
    made = scene.made(gradient.value)[1]
    kept = isinstance(leaf, torch.Tensor) and leaf.is_leaf and leaf.requires_grad
    if made is not None and not kept:
        what = ", which is none that gradients are kept for"
        return Explanation(
            "no-graph",
            f"{text}.grad is None: `{made.expression}` gives {text} a new tensor{what}",
            advice=(
                f"change it in place under torch.no_grad(): {text} -= …, so that {text} stays the same leaf",
                f"{text}.retain_grad() before backward(), if the gradient of a result is wanted",
            ),
            other=((f"{text} is made here", made),),
        )
    return Explanation(
        "no-graph",
        f"{text}.grad is None: no backward call has reached {text}",
        advice=(
            f"if {text}.grad is not None: for parameters that the loss is not made of",
            "zero_grad() sets gradients to None; set_to_none=False keeps zeros",
        ),
    )
