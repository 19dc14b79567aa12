"""Memory that ran out: what was asked for, and what holds the rest."""

from __future__ import annotations

import math
import os
import re

import torch

from stablelint.runtime.audit.allocations import sized
from stablelint.runtime.audit.holders import Holding, filled_at, holdings
from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.scene import Scene

_SHOWN = 5


_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@explains(r"(?:out of|allocate|enough) memory(?:.*[Tt]ried to allocate ([\d.]+) (bytes|[KMG]iB))?")
def memory(scene: Scene, match: re.Match[str]) -> Explanation:
    """The expression that asked, the largest tensors by name, and names that keep graphs."""
    asked = int(float(match[1]) * _UNITS[match[2]]) if match[1] else None
    operands = scene.operands()
    frames = [one.frame for one in reversed(scene.frames) if one.mine]
    held = holdings(frames, [])
    because: list[str] = []
    shapes = {one.shape for one in operands}
    if len(shapes) > 1:
        try:
            result = tuple(torch.broadcast_shapes(*shapes))
        except RuntimeError:
            result = ()
        if result and result not in shapes:
            because.append(f"{' and '.join(str(one.shape) for one in operands)} broadcast to {result}")
    largest = sorted(_tensors(scene), key=lambda one: -one[1])[:_SHOWN]
    because += [f"{sized(size)} in {name}" for name, size in largest if size >= largest[0][1] / 100 > 0]
    graphs = {name: one for name, one in held.items() if one.graphs > 1}
    because += [f"{name} keeps {one.graphs} tensors with their graphs" for name, one in graphs.items()]
    other = []
    made = "CPUAllocator" in scene.message and not operands
    advice = ["see the sizes that are given"] if made else ["a smaller batch"]
    at_all = asked is None or asked < _capacity(scene.message)  # there is room once names are emptied
    for name in graphs:
        advice.insert(0 if at_all else len(advice), f"keep values in {name}: .item() or .detach()")
        at = filled_at(name, _files(held))
        other += [(f"{name} is filled here", at)] if at is not None else []
    summary = f"{sized(asked)} were asked for at once" if asked else "the memory of the device is full"
    return Explanation("memory", summary, tuple(because), tuple(advice), operands, other=tuple(other))


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
