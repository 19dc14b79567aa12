"""Shapes that do not fit."""

from __future__ import annotations

import math
import re

from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.layers import shapes_through_layers
from stablelint.runtime.crash.scene import Scene

Shape = tuple[int, ...]


def _explained(scene: Scene, summary: str, *advice: str, operands: tuple[Operand, ...] = ()) -> Explanation:
    return Explanation(
        "shape",
        summary,
        advice=advice,
        operands=operands or scene.operands(),
        layers=shapes_through_layers(scene),
    )


def _numbers(text: str) -> Shape:
    return tuple(int(one) for one in re.findall(r"-?\d+", text))


@explains(r"shape '(\[[-\d, ]*\])' is invalid for input of size (\d+)")
def viewed(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """`view` or `reshape` to another number of elements."""
    operands = scene.operands()
    if not operands:
        return None
    given, wanted, total = operands[0], _numbers(match[1]), int(match[2])
    fixed = math.prod(one for one in wanted if one != -1)
    summary = f"{given.name} {given.shape} has {total} elements, and shape {wanted} asks for "
    summary += f"a multiple of {fixed}" if -1 in wanted else str(fixed)
    if len(wanted) == 2 < len(given.shape):
        rows = given.shape[0], math.prod(given.shape[1:])
        return _explained(
            scene, summary, f"{given.owner}.flatten(1) keeps the {rows[0]} samples: shape {rows}"
        )
    return _explained(scene, summary)


@explains(
    r"input size per channel: \(([\d x]+)\). Kernel size: \(([\d x]+)\). Kernel size can't be greater than|"
    r"Given input size: \(([\dx]+)\). Calculated output size: \(([\dx-]+)\). Output size is too small"
)
def used_up(scene: Scene, match: re.Match[str]) -> Explanation:
    """A convolution or a pooling of what is smaller than its window."""
    given = match[1] or match[3]
    summary = f"nothing is left for {scene.module_name()}: {given} is smaller than its window"
    return _explained(scene, summary, "larger inputs, or fewer layers before it that halve the size")
