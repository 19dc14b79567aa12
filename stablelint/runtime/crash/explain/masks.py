"""Masks of padding where attention takes one of positions that do not see one another."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

import torch
from torch import nn

from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.expression import given_by_name, value_of
from stablelint.runtime.crash.general import tried
from stablelint.runtime.crash.layers import shapes_through_layers
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
