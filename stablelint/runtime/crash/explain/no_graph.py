"""Losses and gradients without a graph."""

from __future__ import annotations

import ast
import re

import torch

from stablelint.analysis.files.decorators import records_gradient
from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.graphs import losses
from stablelint.runtime.crash.provenance.frozen import Untrained, frozen
from stablelint.runtime.crash.provenance.history import history
from stablelint.runtime.crash.provenance.statements import assigned
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.onward import Onward, before, by_edit, changed, passed
from stablelint.runtime.crash.scene import Scene, models_of
from stablelint.runtime.crash.source import function_at, statement_at
from stablelint.runtime.program.location import Location
from stablelint.runtime.tracing.graph import nodes_of

_Why = tuple[str, str]  # what cut a value off its graph, and what to do
_SWITCHED = "with torch.no_grad(): around what is not trained on, in place of that call"
_SWITCHES_OFF = re.compile(r"^torch(\.autograd)?\.set_grad_enabled\((?!True)")
_LEAVE = "move that line out of no_grad"
_COMPARISONS = ("gt", "ge", "lt", "le", "eq", "ne")
_NOTHING_ASKS = "requires_grad=True for what is to be trained, where it is made"


@explains(r"does not require grad and does not have a grad_fn")
def no_graph(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A loss that was cut off."""
    user, at = scene.user, scene.location
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
    elif (found_cut := _cut(scene)) is not None:
        why = found_cut[:2]
        other.append(("the graph ends here", found_cut[2]))
    elif (past := history(scene)) is not None and (found := past.untrained) is not None:
        why = found.told, trained(scene, found)
        other = [*found.places, *other]
    elif (model := _frozen(made, user)) is not None:
        why = model.told, trained(scene, model)
    because, advice = why or ("", _NOTHING_ASKS)
    return Explanation(
        "no-graph", summary, (because,) * bool(because), (advice,) * bool(advice), other=tuple(other)
    )


def _frozen(made: Location | None, user: Frame) -> Untrained | None:
    """The model in the statement that made a loss, or else among the names there, that trains nothing."""
    held = {name: one for name, one in models_of([user]) if next(one.parameters(), None) is not None}
    written = {ast.unparse(one) for one in ast.walk(made.parsed())} if made is not None else set[str]()
    held = {name: held[name] for name in held if name in written} or held
    if any(one.requires_grad for model in held.values() for one in model.parameters()):
        return None
    return next((frozen(one, name) for name, one in held.items()), None)


def trained(scene: Scene, found: Untrained) -> str:
    """How the last layer that a loss came through is trained again."""
    statement = statement_at(found.behind) if found.behind is not None else None
    if statement is None or found.behind is None:
        return f"{found.layer or '…'}.requires_grad_(True), if the last layer is to be trained"
    edit = Edit.behind(statement, found.behind.filename, f"{found.layer}.requires_grad_(True)")
    tried = next(iter(Onward(scene, lambda _: []).likely([by_edit(scene, edit)])), None)
    if tried is not None and tried.idle:  # the optimizer holds others, which nothing trains then
        return "compute the loss from what the optimizer trains, not from these parameters"
    return tried.told if tried is not None else ""


def _cut(scene: Scene) -> tuple[str, str, Location] | None:
    """The operation that was given a graph and gave what went backward, or what that is made of, without one."""
    past = history(scene)
    cut = next((past.cut(place) for place in past.operands.values()), None) if past is not None else None
    if cut is None or cut.at is None:
        return None
    at, kind = cut.at, "the comparison" if cut.operation in _COMPARISONS else cut.operation
    if cut.silent:
        off = next((one for one in (at, *cut.callers) if switches_off(one)), at)
        own, inner = (
            re.sub(r"(\.<locals>)?\.<\w+>$", "", one)
            for one in (scene.user.site.code.co_qualname, off.function)
        )
        row, outer = switches_off(off), inner != own
        told = f"gradients are disabled{f' in {inner}' * outer} where `{off.expression}` stands"
        whole = outer or row < getattr(function_at(off), "lineno", 0)  # by a decorator
        without = f"{inner} without no_grad in line {row}, where its result is trained on"
        return told, without if whole else _LEAVE, off
    because = f"`{at.expression}` cuts it off: {kind} gives a value without a graph"
    joined = [one.args[0] for one in ast.walk(at.parsed()) if isinstance(one, ast.Call) and one.args]
    if kind == "tensor" and joined:
        return because, f"torch.stack({ast.unparse(joined[-1])}), which keeps the graphs of what it joins", at
    return because, f"compute the loss of what stands before {kind}", at


def switches_off(at: Location) -> int:
    """The line where a decorator of the function around a place, or a block in it, switches gradients off; else 0."""
    function = function_at(at)
    blocks = [one for one in ast.walk(function) if isinstance(one, ast.With)] if function is not None else []
    contexts = [*getattr(function, "decorator_list", ())]
    within = (one for one in blocks if one.lineno <= at.row <= (one.end_lineno or 0))
    contexts += [item.context_expr for one in within for item in one.items]
    return next((one.lineno for one in contexts if records_gradient(one) is False), 0)


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
        name, output = operands[0].owner, operands[-1].made_at or scene.location
        asked_for = before(scene, output, f"{name}.requires_grad_()")
        advice = passed(scene, asked_for) or ["requires_grad_() on it before the output is computed"]
        return Explanation("no-graph", summary, advice=(*advice,), operands=operands)
    summary = f"{operands[-1].name} was not computed from {told}, for which a gradient is asked"
    advice = [
        "leave it out of what gradients are asked for; allow_unused=True gives None for it",
        "or see where its graph is cut: .detach(), .item(), a new torch.tensor(…)",
    ]
    return Explanation("no-graph", summary, advice=(*advice,), operands=operands)


@explains(r"grad can be implicitly created only for scalar outputs")
def no_scalar(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A loss of several numbers."""
    given, user = losses(scene), scene.user
    if not given:
        return None
    operand, because, other = scene.operand(given[0], "the loss"), list[str](), list[tuple[str, Location]]()
    advice = tuple(changed(scene, operand, "{}.mean()", "view")) or (f"{operand.owner}.mean().backward()",)
    made = statement_at(operand.made_at) if operand.made_at is not None else None
    match made:
        case ast.Assign(value=ast.Call(function)):
            loss = value_of(function, user.names)
            if getattr(loss, "reduction", "") == "none":
                because.append(f"{ast.unparse(function)} is {loss}, made with reduction='none'")
                other += [
                    (f"{ast.unparse(function)} is made here", at) for at in scene.origins.of_module(loss)
                ]
    if not because:
        advice += (f"{operand.owner}.sum(), if its numbers are weighted and the weights add up to 1",)
    summary = f"{operand.name} {operand.shape} is not one number"
    return Explanation("no-scalar", summary, tuple(because), advice, (operand,), other=tuple(other))


@explains(r"Can't call numpy\(\) on Tensor that requires grad")
def no_array(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """An array asked of what has a graph."""
    operand = next(iter(scene.operands()), None)
    advice = tuple(changed(scene, operand, "{}.detach()", "cast")) if operand is not None else ()
    if operand is None or not advice:
        return None
    return Explanation("no-array", f"{operand.name} has a graph", (), advice, (operand,))


@explains(
    r"'NoneType' object has no attribute|unsupported operand type\(s\) for .*'NoneType'|must be Tensor, not NoneType"
)
def no_gradient(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A gradient that is read and that no backward call has made."""
    user, node = scene.user, scene.node
    if node is None:
        return None
    read = (one for one in ast.walk(node) if isinstance(one, ast.Attribute) and one.attr == "grad")
    gradient = next((one for one in read if value_of(one, user.names) is None), None)
    if gradient is None:
        return None
    leaf, text = value_of(gradient.value, user.names), ast.unparse(gradient.value)
    made = next(iter(scene.origins.of(user, gradient.value)), None)
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
