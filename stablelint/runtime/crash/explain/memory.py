"""Memory that ran out: what was asked for, and what holds the rest."""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Iterator

import torch

from stablelint.runtime.audit.allocations import sized
from stablelint.runtime.audit.holders import Holding, filled_at, holdings
from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.crash.repairs.failing import result_of
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.nodes import operands_of
from stablelint.runtime.tensors.measure import dtype_name

_SHOWN = 5
_SHARE = 1 / 8  # of the memory, for a part of a result


_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@explains(r"(?:out of|allocate|enough) memory(?:.*[Tt]ried to allocate ([\d.]+) (bytes|[KMG]iB))?")
def memory(scene: Scene, match: re.Match[str]) -> Explanation:
    """The expression that asked, the largest tensors by name, and names that keep graphs."""
    asked = int(float(match[1]) * _UNITS[match[2]]) if match[1] else None
    operands = scene.operands()
    frames = [one.frame for one in reversed(scene.frames) if one.mine]
    held = holdings(frames, [])
    made = result_of(scene)
    result = made if isinstance(made, torch.Tensor) else None
    because = list(_made_large(scene, result, operands)) if result is not None else []
    largest = sorted(_tensors(scene), key=lambda one: -one[1])[:_SHOWN]
    because += [f"{sized(size)} in {name}" for name, size in largest if size >= largest[0][1] / 100 > 0]
    graphs = {name: one for name, one in held.items() if one.graphs > 1}
    because += [f"{name} keeps {one.graphs} tensors with their graphs" for name, one in graphs.items()]
    other = []
    of_sizes = "CPUAllocator" in scene.message and not operands
    advice = ["see the sizes that are given"] if of_sizes else ["a smaller batch"]
    if result is not None and asked is not None:
        parts = list(_parts(result, operands, _capacity(scene.message)))
        advice = parts or advice
    at_all = asked is None or asked < _capacity(scene.message)  # there is room once names are emptied
    for name in graphs:
        advice.insert(0 if at_all else len(advice), f"keep values in {name}: .item() or .detach()")
        at = filled_at(name, _files(held))
        other += [(f"{name} is filled here", at)] if at is not None else []
    kind = f", for {tuple(result.shape)} {dtype_name(result.dtype)}" if result is not None else ""
    summary = f"{sized(asked)} were asked for at once{kind}" if asked else "the memory of the device is full"
    return Explanation("memory", summary, tuple(because), tuple(advice), operands, other=tuple(other))


def _made_large(scene: Scene, result: torch.Tensor, operands: tuple[Operand, ...]) -> Iterator[str]:
    """How the result is larger than its operands, and the number that makes a dimension of it."""
    shape, shapes = tuple(result.shape), {one.shape for one in operands}
    if len(shapes) > 1 and shape not in shapes:
        yield f"{' and '.join(str(one.shape) for one in operands)} broadcast to {shape}"
    sizes = {size for one in shapes for size in one}
    given = {ast.unparse(one): value_of(one, scene.user.names) for one in operands_of(scene.node)}
    for place, size in enumerate(shape):
        names = [text for text, value in given.items() if type(value) is int and value == size]
        if size not in sizes and names:
            number = "" if names[0] == str(size) else f", which is {size}"
            yield f"dimension {place} of the result {shape} is {names[0]}{number}"


def _parts(result: torch.Tensor, operands: tuple[Operand, ...], capacity: float) -> Iterator[str]:
    """How much of the result fits, along the dimension that an operand shares with it."""
    shape = tuple(result.shape)
    longest = max(range(len(shape)), key=lambda place: shape[place], default=0)
    for place in dict.fromkeys((0, longest)) if shape else ():
        each = result.numel() // shape[place] * result.element_size()
        fit = int(capacity * _SHARE // each) if each and math.isfinite(capacity) else 0
        split = [one for one in operands if len(one.shape) > place and one.shape[place] == shape[place] > 1]
        if split and fit >= shape[place]:
            return
        if split and fit:
            index = ", ".join([*":" * place, f"i:i + {fit}"])
            yield f"in parts: {split[0].owner}[{index}] at a time makes {sized(fit * each)}"
            return


def _capacity(message: str) -> float:
    """The bytes that the device has in all, as far as it is known."""
    if "CPUAllocator" in message:
        return (
            os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else math.inf
        )
    told = re.search(r"total capacity of ([\d.]+) (bytes|[KMG]iB)", message)
    return float(told[1]) * _UNITS[told[2]] if told is not None else math.inf


def _files(held: dict[str, Holding]) -> set[str]:
    return {one.filename for one in held.values()}


def _tensors(scene: Scene) -> list[tuple[str, int]]:
    """Names of the program and the bytes of their tensors, or of their modules' parameters."""
    found: dict[int, tuple[str, int]] = {}
    for frame in reversed(scene.frames):
        for name, value in frame.frame.f_locals.items() if frame.mine else ():
            if isinstance(value, torch.Tensor):
                found.setdefault(id(value), (name, value.numel() * value.element_size()))
            elif isinstance(value, torch.nn.Module):
                size = sum(one.numel() * one.element_size() for one in value.parameters())
                found.setdefault(id(value), (f"the parameters of {name}", size))
            elif (
                type(value) in (list, tuple) and value and all(isinstance(one, torch.Tensor) for one in value)
            ):
                size = sum(one.numel() * one.element_size() for one in value)
                found.setdefault(id(value), (name, size))
    return list(found.values())
