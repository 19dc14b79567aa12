"""Shapes that do not fit."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Advice, Explanation, Operand
from stablelint.runtime.crash.layers import shapes_through_layers
from stablelint.runtime.crash.repairs.sizes import fitting
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
    if parted := next(_uneven(given.shape[1:], wanted), None):
        return _explained(scene, summary, parted)
    if len(wanted) == 2 < len(given.shape):
        rows = given.shape[0], math.prod(given.shape[1:])
        return _explained(
            scene, summary, f"{given.owner}.flatten(1) keeps the {rows[0]} samples: shape {rows}"
        )
    return (fitting(scene) or Advice(())).onto(_explained(scene, summary))


def _uneven(given: Shape, wanted: Shape) -> Iterator[str]:
    """A size that was cut into so many parts, as heads are, and that they do not divide."""
    for count, each in pairwise(wanted):
        for whole in (size // parts for size in given for parts in (1, *wanted) if parts > 0 == size % parts):
            if count > 1 and whole // count == each and whole % count:
                told = f"{whole} // {count} is {each}, and leaves {whole % count}"
                yield f"a number that divides {whole}, in place of {count}: {told}"


@explains(
    r"input size per channel: \(([\d x]+)\). Kernel size: \(([\d x]+)\). Kernel size can't be greater than|"
    r"Given input size: \(([\dx]+)\). Calculated output size: \(([\dx-]+)\). Output size is too small"
)
def used_up(scene: Scene, match: re.Match[str]) -> Explanation:
    """A convolution or a pooling of what is smaller than its window."""
    given = match[1] or match[3]
    summary = f"nothing is left for {scene.module_name()}: {given} is smaller than its window"
    return _explained(scene, summary, "larger inputs, or fewer layers before it that halve the size")
