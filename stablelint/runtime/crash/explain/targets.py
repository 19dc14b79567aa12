"""Targets that a loss cannot take, and indices out of range."""

from __future__ import annotations

import re

import torch

from stablelint.runtime.crash import expression
from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.scene import Scene

_SHOWN = 4


def _explained(scene: Scene, summary: str, operands: tuple[Operand, ...], *advice: str) -> Explanation:
    return Explanation("target", summary, advice=advice, operands=operands)


def _loss(scene: Scene, *names: str) -> tuple[torch.Tensor, torch.Tensor, tuple[Operand, Operand]] | None:
    """Input and target of the loss function that failed, and what the program calls them."""
    frame = next((found for name in names if (found := scene.called(name)) is not None), None)
    if frame is None:
        return None
    given, target = frame.frame.f_locals["input"], frame.frame.f_locals["target"]
    return given, target, (scene.operand(given, "input"), scene.operand(target, "target"))


def _outside(values: torch.Tensor, low: float, high: float, spared: float | None = None) -> str:
    """The first values outside of low … high, with their places."""
    wrong = ~((values >= low) & (values <= high))
    if spared is not None:
        wrong &= values != spared
    places = wrong.nonzero()
    shown = [f"{values[tuple(one)].item():g} at {_place(one)}" for one in places[:_SHOWN]]
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return ", ".join(shown) + more


def _place(index: torch.Tensor) -> str:
    found = index.tolist()
    return str(found[0] if len(found) == 1 else tuple(found))


@explains(r"Target (-?\d+) is out of bounds")
def class_out_of_range(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A class number that the model has no output for."""
    found = _loss(scene, "cross_entropy", "nll_loss")
    if found is None:
        return None
    given, target, operands = found
    count = given.shape[1] if given.dim() > 1 else given.shape[0]
    wrong = _outside(target, 0, count - 1, -100)
    summary = f"{operands[1].name} holds {wrong}; {operands[0].name} has {count} classes, 0 … {count - 1}"
    low, high = int(target[target != -100].min()), int(target.max())
    advice = (
        [f"{high + 1} outputs of the last layer"]
        if low >= 0
        else ["mark what is ignored with -100, or ignore_index"]
    )
    odd = target[(target < 0) | (target >= count)].unique()
    if len(odd) == 1 and (high > count or low < 0):
        advice.insert(0, f"ignore_index={int(odd)}, if it marks what has no label")
    if low >= 1 and high == count:
        advice.insert(0, f"the labels begin at {low}: {operands[1].name} - 1")
    return _explained(scene, summary, operands, *advice)


@explains(r"index out of range in self")
def index_out_of_range(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """An index that an embedding has no row for."""
    frame = scene.called("embedding")
    if frame is None:
        return None
    indices, weight = frame.frame.f_locals["input"], frame.frame.f_locals["weight"]
    operands = scene.operand(indices, "input"), scene.operand(weight, "weight")
    rows = weight.shape[0]
    summary = (
        f"{operands[0].name} holds {_outside(indices, 0, rows - 1)}; {scene.module_name()} has {rows} rows"
    )
    advice = f"num_embeddings={int(indices.max()) + 1} at least, or see how indices are made"
    if int(indices.min()) < 0:
        advice = "rows are counted from 0: what is padded has a row of its own, padding_idx"
    return Explanation("index", summary, advice=(advice,), operands=operands)


@explains(r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)")
def batch_sizes(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """As many rows of scores as labels."""
    found = _loss(scene, "cross_entropy", "nll_loss")
    if found is None:
        return None
    given, target, operands = found
    summary = f"{operands[0].name} {tuple(given.shape)} has {match[1]} rows, "
    summary += f"{operands[1].name} {tuple(target.shape)} has {match[2]}"
    advice = "the first dimension of both counts samples"
    if (
        target.numel()
        and given.numel() % target.numel() == 0
        and given.shape[-1] * target.numel() == given.numel()
    ):
        advice = f"{operands[0].name}.reshape(-1, {given.shape[-1]}) and {operands[1].name}.reshape(-1) fit"
    return _explained(scene, summary, operands, advice)


@explains(
    r"0D or 1D target tensor expected, multi-target not supported|only batches of spatial targets supported"
)
def one_column(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """Labels with a dimension too many."""
    found = _loss(scene, "cross_entropy", "nll_loss")
    if found is None:
        return None
    given, target, operands = found
    name = operands[1].name
    wanted = (given.shape[0], *given.shape[2:])
    summary = f"{name} is {tuple(target.shape)}; beside scores of {tuple(given.shape)} it must be {wanted}"
    if target.shape == given.shape:
        return _explained(scene, summary, operands, f"{name}.argmax(1), or {name}.float() as probabilities")
    advice = (
        f"{name}.squeeze(1)" if target.dim() > 1 and target.shape[1] == 1 else "see how the labels are made"
    )
    return _explained(scene, summary, operands, advice)


@explains(r"all elements of (input|target) should be between 0 and 1")
def probabilities(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """Numbers outside 0 … 1 in a binary cross entropy."""
    found = _loss(scene, "binary_cross_entropy")
    if found is None:
        return None
    given, target, operands = found
    values, one = (given, operands[0]) if match[1] == "input" else (target, operands[1])
    nan = int(torch.isnan(values).sum())
    summary = f"{one.name} holds {nan} NaN" if nan else f"{one.name} holds {_outside(values, 0, 1)}"
    advice = (
        "find where they come from: stablelint run stops at the first NaN of a loss"
        if nan
        else (
            "binary_cross_entropy_with_logits takes scores"
            if match[1] == "input"
            else "targets are 0 and 1, or probabilities"
        )
    )
    return _explained(scene, summary, operands, advice)


@explains(
    r"Using a target size \(.*\) that is different to the input size|Target size \(.*\) must be the same as input size"
)
def binary_shapes(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """Input and target of a binary cross entropy differ in shape."""
    found = _loss(scene, "binary_cross_entropy", "binary_cross_entropy_with_logits")
    if found is None:
        return None
    given, target, operands = found
    summary = f"{operands[0].name} is {tuple(given.shape)}, {operands[1].name} is {tuple(target.shape)}"
    ours, theirs = operands[0].name, operands[1].name
    advice = ["give both one shape"]
    if target.shape == given.shape[:-1] and not target.is_floating_point():
        advice = ["cross_entropy takes class numbers", f"F.one_hot({theirs}, {given.shape[-1]}).float()"]
    if given.numel() == target.numel():
        longer = given.dim() > target.dim()
        advice = [f"{ours}.squeeze(-1)", f"{theirs}.unsqueeze(-1)"] if longer else [f"{ours}.unsqueeze(-1)"]
    return _explained(scene, summary, operands, *advice)


@explains(r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)")
def element_out_of_range(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """An index beyond the end of a dimension."""
    if scene.user is None or scene.user is not scene.frames[-1]:
        return None
    shown, entry, size = scene.operands(), int(match[1]), int(match[3])
    if not shown:
        return None
    summary = f"dimension {match[2]} has {size} entries, 0 … {size - 1}, and entry {entry} is asked for"
    for name, tensor in expression.operands(expression.node_at(scene.user.site), scene.user.names):
        if tensor.dtype == torch.int64 and bool((tensor == entry).any()):
            held = _outside(tensor, -size, size - 1)
            summary = f"{name} holds {held}; dimension {match[2]} has {size} entries, 0 … {size - 1}"
    return Explanation("index", summary, operands=shown)
