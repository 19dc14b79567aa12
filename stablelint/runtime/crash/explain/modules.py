"""Modules built of what they should be called with, that give what nobody can use or train nothing, and their masks."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Generator, Iterator

import torch
from torch import nn

from stablelint.runtime.crash.explain.no_graph import trained
from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.expression import given_by_name, value_of
from stablelint.runtime.crash.general import tried
from stablelint.runtime.crash.layers import shapes_through_layers
from stablelint.runtime.crash.provenance.frozen import frozen
from stablelint.runtime.crash.provenance.history import history
from stablelint.runtime.crash.provenance.unregistered import unregistered
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.onward import Onward
from stablelint.runtime.crash.repairs.outer import value_in
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene

_PADDING = "key_padding_mask"


@explains(r"The shape of the [23]D attn_mask is .*, but should be (\(.*\))")
def padding(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """A mask of samples by positions, given as one of positions by positions."""
    user, failed = scene.user, scene.frames[-1].frame.f_locals["attn_mask"]
    node = scene.node
    if not isinstance(node, ast.Call):
        return None
    given, module = given_by_name(node, user.names), value_of(node.func, user.names)
    values = {name: value_in(one, user) for name, one in given.items() if name.endswith("mask")}
    masks = {name: one for name, one in values.items() if getattr(one, "shape", None) == failed.shape}
    if not isinstance(module, nn.Module) or len(masks) != 1:
        return None
    ((name, mask),) = masks.items()
    one, called = Operand.of(mask, ast.unparse(given[name])), ast.unparse(node.func)
    told = f"{one.name} {one.shape} {one.dtype} is given as {name} of {called}, and must be {match[1]} there"
    advice, because = list[str](), [f"{name} tells for each position which others it does not see"]
    for other, anew in _as_padding(node, given, name, module) if mask.dtype == torch.bool else ():
        repair = Repair(anew, None, revisions=(Edit.of(node, user.site.code.co_filename, anew),))
        if not advice and (passed := Onward(scene, lambda _: []).through([repair])):
            advice = [passed[0].told]
            because.append(f"{other} is (samples, positions), and leaves out what is True")
    if not advice and any(one.kind == "order" for one in tried(scene)):
        return None
    return Explanation("shape", told, (*because,), (*advice,), (), shapes_through_layers(scene))


def _as_padding(
    node: ast.Call, given: dict[str, ast.expr], name: str, module: nn.Module
) -> Iterator[tuple[str, str]]:
    """What else a module takes a mask as, and the call that gives it so; first what is of the same sequence."""
    taken = [one for one in inspect.signature(module.forward).parameters if one.endswith(_PADDING)]
    for other in sorted(taken, key=lambda one: one != name.removesuffix("mask") + _PADDING):
        first = min(*([*given].index(one) for one in (name, other) if one in given), len(node.args))
        kept = {key: one for key, one in [*given.items()][first:] if key != name}
        more = [ast.keyword(*pair) for pair in {**kept, other: given[name]}.items()]
        if ast.unparse(given.get(other, ast.Constant(None))) == "None":
            yield other, ast.unparse(ast.Call(node.func, node.args[:first], more))


_PARAMETERS = ("parameters", "named_parameters")


def _call(scene: Scene) -> ast.Call | None:
    """The call of the program that failed."""
    return scene.node if isinstance(scene.node, ast.Call) else None


@explains(r"(?:must be Tensor, not |^')(tuple|list|NoneType)(?:$|' object has no attribute '\w+')")
def no_tensor(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """The result of a recurrent layer, or of a `forward` that returns nothing, where a tensor is wanted."""
    if scene.user is scene.frames[-1]:
        return None  # said of the program's own name
    named, layers = _source(scene), shapes_through_layers(scene)
    source = named or (layers[-2][0] if len(layers) > 1 else None)
    if source is None:
        return None
    names = scene.user.names
    given = value_of(ast.parse(named, mode="eval").body, names) if named is not None else None
    if isinstance(given, tuple | list) and not any(isinstance(one, torch.Tensor) for one in given):
        kind = type(given[0]).__name__ if given else "nothing"
        summary = f"{source} is a {type(given).__name__} of {kind}, and a tensor is taken"
        of_numbers = kind in ("int", "float", "list")
        advice = f"torch.tensor({source})" if of_numbers else "make numbers of them, and a tensor of these"
        return Explanation("module", summary, advice=(advice,))
    if match[1] == "tuple":
        summary = f"{source} gives a tuple, and what comes next takes a tensor"
        advice = "a recurrent layer gives its outputs and its state: take output, _ = layer(x)"
        if any(isinstance(one.frame.f_locals.get("self"), nn.Sequential) for one in scene.frames):
            advice = f"in place of {source} a module whose forward calls it and returns the first part, [0]"
        return Explanation("module", summary, advice=(advice,), layers=layers)
    return Explanation("module", f"{source} is None", advice=("is `return` missing in a forward?",))


def _source(scene: Scene) -> str | None:
    """The name in the failing call of the program whose value is no tensor, or the call that gave it."""
    call, names = _call(scene), scene.user.names
    for one in call.args if call is not None else ():
        value = value_of(one, names)
        if value is None or isinstance(value, tuple | list):
            return ast.unparse(one)
    missing = scene.frames[-1].frame.f_locals.get("input", ...) is None  # of a function of torch
    return ast.unparse(call.args[0]) if missing and call is not None and call.args else None


@explains(r"optimizer got an empty parameter list")
def nothing_to_train(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A model without parameters: its layers stand in plain lists, or nowhere; or a generator that was used up."""
    call, names = _call(scene), scene.user.names
    if call is not None and call.args and isinstance(value_of(call.args[0], names), Generator):
        name = ast.unparse(call.args[0])
        return Explanation(
            "module", f"{name} is a generator, and has nothing left", advice=(f"list({name})",)
        )
    parts = list(ast.walk(call)) if call is not None else []
    if call is not None and call.args and value_of(call.args[0], names) == []:
        made = next(iter(scene.origins.of(scene.user, call.args[0])), None)
        parts = list(ast.walk(made.parsed())) if made is not None else []
    given = next((n.value for n in parts if isinstance(n, ast.Attribute) and n.attr in _PARAMETERS), None)
    model = value_of(given, names) if given is not None else None
    if given is None:
        held = (pair for frame in reversed(scene.frames) if frame.mine for pair in frame.names.items())
        bare = ((n, m) for n, m in held if isinstance(m, nn.Module) and next(m.parameters(), None) is None)
        name, model = next(bare, ("", None))
        return _bare(model, name) if isinstance(model, nn.Module) else None
    if isinstance(model, nn.Module) and (texts := _in_no_name(parts, model)):
        summary = f"no name of the {len(list(model.parameters()))} parameters of {ast.unparse(given)} holds {texts[0]!r}"
        told = f"see what {next(model.named_parameters())[0]!r} and its like are called, and who was to add {texts[0]!r}"
        return Explanation("module", summary, advice=(told,))
    if (found := frozen(model, ast.unparse(given))) is not None:
        past = history(scene)
        advice = trained(scene, found := (past and past.untrained) or found), "make the optimizer after that"
        return Explanation("module", found.told, advice=advice, other=found.places)
    if not isinstance(model, nn.Module) or next(model.parameters(), None) is not None:
        plain = ("layers in a plain list are not registered: nn.ModuleList",)
        return Explanation("module", f"{ast.unparse(given)} has no parameters", advice=plain)
    return _bare(model, ast.unparse(given))


def _in_no_name(parts: list[ast.AST], model: nn.Module) -> list[str]:
    """The texts that are asked for in names of parameters, and stand in none."""
    pairs = ((one.left, one.ops) for one in parts if isinstance(one, ast.Compare))
    texts = [
        left.value
        for left, (kind, *_) in pairs
        if isinstance(left, ast.Constant) and isinstance(kind, ast.In)
    ]
    names = [name for name, _ in model.named_parameters()]
    return [one for one in texts if isinstance(one, str) and not any(one in name for name in names)]


def _bare(model: nn.Module, name: str) -> Explanation:
    """A module that knows of no parameters, and what it keeps where it does not find them."""
    hidden = list(unregistered(model))
    summary = f"{name} ({type(model).__name__}) has no parameters"
    told, fixes = tuple(one.told for one in hidden), tuple(one.advice for one in hidden)
    return Explanation("module", summary, told, fixes)
