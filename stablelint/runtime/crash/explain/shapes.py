"""Shapes that do not fit."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, takewhile

from stablelint.runtime.crash.deduced import deduced
from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.expression import given_by_name
from stablelint.runtime.crash.failed import ends_behind
from stablelint.runtime.crash.general import operands_of_call
from stablelint.runtime.crash.layers import shapes_through_layers
from stablelint.runtime.crash.repairs.constructors import around
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.onward import by_edit, passed
from stablelint.runtime.crash.repairs.refits import refitted
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.frames import resolve

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


@explains(r"The expanded size of the tensor \(\d+\) must match|shape mismatch: value tensor of shape")
def cut_slice(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """Values for a slice that ends behind the tensor, and is shorter than it says."""
    target = scene.statement.targets[0] if isinstance(scene.statement, ast.Assign) else None
    part, end, size, has = ends_behind(target, scene.user.names) or (ast.Slice(), 0, 0, "")
    lower, upper = part.lower, part.upper
    start = deduced(lower, scene.user.names) if lower is not None else None
    if target is None or lower is None or upper is None or not isinstance(start, int) or start >= size:
        return None
    summary = f"{ast.unparse(target)} ends at {end}, and {has}: {size - start} of {end - start} are left"
    around = f"torch.arange({ast.unparse(lower)}, {ast.unparse(upper)}) % {size}"
    advice = f"{around} in place of {ast.unparse(part)} goes on at the beginning"
    return _explained(scene, summary, advice, operands=operands_of_call(scene))


@explains(r"shape '(\[[-\d, ]*\])' is invalid for input of size (\d+)")
def viewed(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """`view` or `reshape` to another number of elements."""
    operands = scene.operands()
    if not operands or operands[0].written is None:  # of a layer, which views what it was given
        return None
    given, wanted, total = operands[0], _numbers(match[1]), int(match[2])
    fixed = math.prod(one for one in wanted if one != -1)
    summary = f"{given.name} {given.shape} has {total} elements, and shape {wanted} asks for "
    summary += f"a multiple of {fixed}" if -1 in wanted else str(fixed)
    factor = None if -1 in wanted else Fraction(fixed, total)
    if parted := next(_uneven(scene, given.shape, wanted), None):
        return _explained(scene, summary, parted)
    if len(wanted) == 2 < len(given.shape):
        rows = given.shape[0], math.prod(given.shape[1:])
        kept = f"{given.owner}.flatten(1), which keeps the {rows[0]} samples: shape {rows}"
        return _explained(scene, summary, kept)
    return _explained(scene, summary, *(one.told for one in refitted(scene, factor)))


def _uneven(scene: Scene, given: Shape, wanted: Shape) -> Iterator[str]:
    """A size that was cut into so many parts, as heads are, and that they do not divide; what both begin with is kept."""
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(given, wanted, strict=False)))
    for place, (count, each) in enumerate(pairwise(wanted[alike:]), alike):
        ways = ((size, parts) for size in given[alike:] for parts in (1, *wanted) if parts > 0)
        sizes = (size // parts for size, parts in ways if size % parts == 0)
        for whole in (one for one in sizes if count > 1 and one // count == each and one % count):
            why = f": {whole} // {count} is {each}, and leaves {whole % count}"
            yield from (told + why for told in _divisors(scene, place, whole, count))
            yield f"a number that divides {whole}, in place of {count}{why}"


def _divisors(scene: Scene, place: int, whole: int, count: int) -> list[str]:
    """The next number that divides a size, written where a count among the arguments that failed is."""
    args = scene.node.args if isinstance(scene.node, ast.Call) else []
    node = args[place] if place < len(args) else None
    return _divided(scene, node, whole, count) if node is not None else []


def _divided(scene: Scene, node: ast.expr, whole: int, count: int) -> list[str]:
    """The same for the argument that is the count."""
    made = scene.origins.expressions(scene.user, node)[-1:]
    ways = [one for one in made if ast.unparse(one[0]) == str(count)]
    near = sorted((one for one in range(2, whole) if whole % one == 0), key=lambda one: abs(one - count))[:3]
    places = tuple(dict.fromkeys(resolve(one.site) for one in reversed(scene.frames) if one.mine))
    edits = [Edit.of(*way, str(one)) for way in ways for one in near]
    edits += (edit for one in near for _, edit in around(scene, [(node, count, one)], places))
    told = (replace(by_edit(scene, one), text=f"{one.text} in place of {one.original}") for one in edits)
    return next(filter(None, (passed(scene, [one]) for one in told)), [])


@explains(r"embed_dim must be divisible by num_heads")
def indivisible(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """Heads that do not divide the features of an attention."""
    node, made = scene.node, scene.frames[-1].frame.f_locals
    whole, count = made.get("embed_dim"), made.get("num_heads")
    given = given_by_name(node, scene.user.names) if isinstance(node, ast.Call) else {}
    if not isinstance(whole, int) or not isinstance(count, int):
        return None
    told = _divided(scene, given["num_heads"], whole, count) if "num_heads" in given else []
    summary = f"{count} heads do not divide {whole} features: {whole} // {count} is {whole // count}, "
    summary += f"and leaves {whole % count}"
    return _explained(scene, summary, *(told or [f"a number of heads that divides {whole}"]))


@explains(
    r"input size per channel: \(([\d x]+)\). Kernel size: \(([\d x]+)\). Kernel size can't be greater than|"
    r"Given input size: \(([\dx]+)\). Calculated output size: \(([\dx-]+)\). Output size is too small"
)
def used_up(scene: Scene, match: re.Match[str]) -> Explanation:
    """A convolution or a pooling of what is smaller than its window."""
    given = match[1] or match[3]
    summary = f"nothing is left for {scene.module_name()}: {given} is smaller than its window"
    return _explained(scene, summary, "larger inputs, or fewer layers before it that halve the size")
