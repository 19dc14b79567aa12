"""Losses and gradients without a graph."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import torch
from torch import nn

from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.expression import node_at, value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.graphs import losses
from stablelint.runtime.crash.provenance.cuts import cut_in
from stablelint.runtime.crash.provenance.frozen import Frozen, frozen
from stablelint.runtime.crash.provenance.statements import assigned
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import is_without_gradients, statement_at
from stablelint.runtime.program.frames import resolve
from stablelint.runtime.program.location import Location
from stablelint.runtime.tracing.graph import nodes_of

_Why = tuple[str, str]  # what cut a value off its graph, and what to do
_SWITCHED = "with torch.no_grad(): around what is not trained on, in place of that call"
_SWITCHES_OFF = re.compile(r"^torch(\.autograd)?\.set_grad_enabled\((?!True)")
_TORCH_ALONE = "compute the loss from the model's output with operations of torch alone"


@explains(r"does not require grad and does not have a grad_fn")
def no_graph(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A loss that was cut off."""
    user, at = scene.user, scene.location
    if user is None or at is None:
        return None
    given = losses(scene)
    name = next((key for key, value in user.frame.f_locals.items() if given and value is given[0]), None)
    made = assigned(user.site.code, name, at.row) if name is not None else None
    other = [("the loss was made here", made)] if made is not None else []
    summary = f"{name or 'what went backward'} has no graph that leads back to what asks for gradients"
    why: _Why | None = None
    if not torch.is_grad_enabled():
        summary = f"{name or 'what went backward'} has no graph: gradients are switched off"
        why = "gradients are switched off, and were not switched on again", _SWITCHED
        other += [("they are switched off here", one) for one in scene.calls(_SWITCHES_OFF)]
    elif (found := _frozen(made, user)) is not None:
        why = found.told, found.advice
        other += found.places(user.site.code.co_filename)
    elif is_without_gradients(user.site.code.co_filename, (made or at).row):
        because = "gradients are disabled where it is made: it stands under no_grad, or something like it"
        why = because, "leave that block before the loss is computed"
    for one in _behind(made, user) if why is None else ():
        silent = one is not made and is_without_gradients(one.filename, one.row)
        told = f"gradients are disabled where `{one.expression}` stands", "move that line out of no_grad"
        why = told if silent else _cut_off(one, user, other)
        if why is not None:
            break
    because, advice = why or ("", _TORCH_ALONE)
    return Explanation("no-graph", summary, (because,) * bool(because), (advice,), other=tuple(other))


def _frozen(made: Location | None, user: Frame) -> Frozen | None:
    """The model in the statement that made a loss, or else among the names there, that trains nothing."""
    named = [one for one in ast.walk(made.parsed()) if isinstance(one, ast.expr)] if made is not None else []
    models = {
        ast.unparse(one): value_of(one, user.names)
        for one in named
        if isinstance(one, ast.Name | ast.Attribute)
    }
    held = {
        name: one
        for name, one in models.items()
        if isinstance(one, nn.Module) and _is_trained(one) is not None
    }
    if not held:
        held = {
            name: one
            for name, one in user.names.items()
            if isinstance(one, nn.Module) and _is_trained(one) is not None
        }
    if any(map(_is_trained, held.values())):
        return None
    return next((frozen(one, name) for name, one in held.items()), None)


def _is_trained(model: nn.Module) -> bool | None:
    """Whether a parameter asks for gradients; None where there is none."""
    asked = [one.requires_grad for one in model.parameters()]
    return any(asked) if asked else None


def _cut_off(made: Location, user: Frame, other: list[tuple[str, Location]]) -> _Why | None:
    """The operation that gave no graph where a statement is computed once more."""
    match statement_at(made):
        case ast.Expr(ast.Call(ast.Attribute(value, "backward"))):
            cut = cut_in(user, value)
        case ast.Assign(value=value) | ast.Return(ast.expr() as value):
            cut = cut_in(user, value)
        case _:
            return None
    if cut is None:
        return None
    at = cut.at or made
    if cut.at is not None:
        other.append(("the graph ends here", at))
    if cut.disabled:
        inner = at.function if at.function != user.site.code.co_qualname else ""
        silent = f"gradients are disabled in {inner}, where" if inner else "gradients are disabled where"
        advice = f"{inner} without no_grad, where its result is trained on"
        return f"{silent} `{at.expression}` stands", advice if inner else "move that line out of no_grad"
    because = f"`{at.expression}` cuts it off: {cut.operation} gives a value without a graph"
    joined = [one.args[0] for one in ast.walk(at.parsed()) if isinstance(one, ast.Call) and one.args]
    if cut.operation == "tensor" and joined:
        return because, f"torch.stack({ast.unparse(joined[-1])}), which keeps the graphs of what it joins"
    return because, f"compute the loss of what stands before {cut.operation}"


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
    told = f"{operands[0].name} {operands[0].shape}"
    if not odd[0].requires_grad:
        summary = f"a gradient is asked for {told}, which asks for none itself"
        advice: tuple[str, ...] = ("requires_grad_() on it before the output is computed",)
        return Explanation("no-graph", summary, advice=advice, operands=operands)
    summary = f"{operands[-1].name} was not computed from {told}, for which a gradient is asked"
    advice = (
        "leave it out of what gradients are asked for; allow_unused=True gives None for it",
        "or see where its graph is cut: .detach(), .item(), a new torch.tensor(…)",
    )
    return Explanation("no-graph", summary, advice=advice, operands=operands)


@explains(r"grad can be implicitly created only for scalar outputs")
def no_scalar(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A loss of several numbers."""
    given = losses(scene)
    if not given:
        return None
    operand = scene.operand(given[0], "the loss")
    advice = (
        f"{operand.owner}.mean().backward(), or a loss whose reduction is not 'none'",
        f"{operand.owner}.sum().backward(), if its numbers are weighted and the weights add up to 1",
    )
    summary = f"{operand.name} {operand.shape} is not one number"
    return Explanation("no-scalar", summary, advice=advice, operands=(operand,))


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
    made = scene.made(gradient.value)
    kept = isinstance(leaf, torch.Tensor) and leaf.is_leaf and leaf.requires_grad
    if made is None or kept:
        advice = f"if {text}.grad is not None: for parameters that the loss is not made of"
        return Explanation(
            "no-graph", f"{text}.grad is None: no backward call has reached {text}", (), (advice,)
        )
    return Explanation(
        "no-graph",
        f"{text}.grad is None: `{made.expression}` gives {text} a new tensor, which is none that gradients are kept for",
        advice=(
            f"change it in place under torch.no_grad(): {text} -= …, so that {text} stays the same leaf",
            f"{text}.retain_grad() before backward(), if the gradient of a result is wanted",
        ),
        other=((f"{text} is made here", made),),
    )
