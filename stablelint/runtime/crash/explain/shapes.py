"""Shapes that do not fit."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from itertools import combinations, pairwise

import torch
from torch import nn

from stablelint.runtime.crash.deduced import deduced
from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Advice, Explanation, Operand
from stablelint.runtime.crash.expression import node_at, value_of
from stablelint.runtime.crash.layers import shapes_through_layers
from stablelint.runtime.crash.repairs.sizes import carried, fitting
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


@explains(r"mat1 and mat2 shapes cannot be multiplied|size mismatch, got input")
def linear(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A linear layer, or a product of matrices."""
    layer, operands = scene.module, scene.operands()
    if isinstance(layer, nn.Linear) and operands:
        given = operands[0].shape
        summary = f"{scene.module_name()} takes {layer.in_features} features, and {operands[0].name} has {given[-1]}"
        return _explained(scene, summary)
    return _product(scene, operands) if layer is None else None


def _product(scene: Scene, operands: tuple[Operand, ...]) -> Explanation | None:
    """A product of two matrices, or of two batches of them."""
    if len(operands) < 2:
        return None
    left, right = operands[:2]
    if left.shape[-1] == _rows(right):
        summary = f"{left.name} {left.shape} and {right.name} {right.shape} are batches of other sizes"
        return _explained(scene, f"{summary}: {left.shape[:-2]} meet {right.shape[:-2]}")
    summary = f"{left.name} {left.shape} @ {right.name} {right.shape}: {left.shape[-1]} columns meet {_rows(right)} rows"
    return _explained(scene, summary)


def _rows(operand: Operand) -> int:
    return operand.shape[-2] if len(operand.shape) > 1 else operand.shape[0]


@explains(r"Expected size for first two dimensions of batch2 tensor|must match the reduction dim")
def batched(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A product of batches of matrices."""
    return _product(scene, tuple(one for one in scene.operands() if len(one.shape) > 2))


@explains(
    r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)"
)
def broadcast(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """Operands of an elementwise operation."""
    sizes, place = (int(match[1]), int(match[2])), int(match[3])
    for left, right in combinations(scene.operands(), 2):
        back = max(len(left.shape), len(right.shape)) - place  # from the end, as broadcasting counts
        if back <= min(len(left.shape), len(right.shape)):
            found = left.shape[-back], right.shape[-back]
            if sorted(found) == sorted(sizes):
                summary = (
                    f"{left.name} {left.shape} and {right.name} {right.shape} differ in dimension {place}: "
                    f"{found[0]} against {found[1]}"
                )
                return _explained(scene, summary)
    return None


@explains(r"Sizes of tensors must match except in dimension (\d+)")
def concatenated(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """`torch.cat` of tensors that differ elsewhere."""
    operands, along = scene.operands(), int(match[1])
    if len(operands) < 2:
        return None
    first = operands[0].shape
    odd = next((one for one in operands if _besides(one.shape, along) != _besides(first, along)), None)
    if odd is None or len(odd.shape) != len(first):
        return None
    unlike = [d for d, (a, b) in enumerate(zip(odd.shape, first, strict=True)) if a != b and d != along]
    found = ", ".join(f"dimension {one} is {odd.shape[one]} against {first[one]}" for one in unlike)
    summary = f"{odd.name} {odd.shape} does not continue {operands[0].name} {first} along dimension {along}: {found}"
    return _explained(scene, summary)


@explains(r"The expanded size of the tensor \(\d+\) must match|shape mismatch: value tensor of shape")
def cut_slice(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """Values for a slice that ends behind the tensor, and is shorter than it says."""
    user, statement = scene.user, scene.statement
    if user is None or not isinstance(statement, ast.Assign):
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Subscript):
        return None
    whole, parts = value_of(target.value, user.names), target.slice
    indices = parts.elts if isinstance(parts, ast.Tuple) else [parts]
    slices = [one for one in indices if isinstance(one, ast.Slice)]
    if not isinstance(whole, torch.Tensor) or len(slices) < len(indices):
        return None
    for place, one in enumerate(slices):
        edges = [edge for edge in (one.lower, one.upper) if edge is not None]
        bounds = [deduced(edge, user.names) for edge in edges]
        size, text = whole.shape[place], ast.unparse(target.value)
        if (
            len(bounds) == 2
            and all(type(edge) is int for edge in bounds)
            and 0 <= bounds[0] < size < bounds[1]
        ):
            summary = (
                f"{ast.unparse(target)} ends at {bounds[1]}, and dimension {place} of {text} has {size} entries: "
                f"{size - bounds[0]} of {bounds[1] - bounds[0]} are left"
            )
            index = [
                *map(ast.unparse, slices[:place]),
                f"torch.arange({', '.join(map(ast.unparse, edges))}) % {size}",
            ]
            advice = (
                f"{text}[{', '.join(index)}] goes on at the beginning",
                f"or steps of a size that divides {size}: drop_last=True, where a last batch is shorter",
            )
            known = (whole, text), (value_of(statement.value, user.names), ast.unparse(statement.value))
            operands = tuple(scene.operand(*one) for one in known if isinstance(one[0], torch.Tensor))
            return Explanation("shape", summary, advice=advice, operands=operands)
    return None


def _besides(shape: Shape, dimension: int) -> Shape:
    return (*shape[:dimension], *shape[dimension + 1 :])


@explains(
    r"stack expects each tensor to be equal size, but got (\[[\d, ]*\]) at entry 0 and (\[[\d, ]*\]) at entry (\d+)"
)
def stacked(scene: Scene, match: re.Match[str]) -> Explanation:
    """`torch.stack`, of a loader's samples too."""
    first, other = _numbers(match[1]), _numbers(match[2])
    summary = f"tensor 0 has shape {first}, tensor {match[3]} has {other}; stack needs one shape"
    collating = scene.called("collate_tensor_fn") is not None or "collate" in scene.message
    if collating:
        return _explained(
            scene, f"the samples of a batch differ: {summary}", "pad or crop them, or give a collate_fn"
        )
    return _explained(
        scene, summary, "pad them to one shape (torch.nn.utils.rnn.pad_sequence), or use torch.cat"
    )


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
    flat = _flattened(scene, given, wanted)
    made = Advice((flat,)) if flat else fitting(scene)
    return (made or Advice(())).onto(_explained(scene, summary))


def _uneven(given: Shape, wanted: Shape) -> Iterator[str]:
    """A size that was cut into so many parts, as heads are, and that they do not divide."""
    for count, each in pairwise(wanted):
        for whole in (size // parts for size in given for parts in (1, *wanted) if parts > 0 == size % parts):
            if count > 1 and whole // count == each and whole % count:
                told = f"{whole} // {count} is {each}, and leaves {whole % count}"
                yield f"a number that divides {whole}, in place of {count}: {told}"


def _flattened(scene: Scene, given: Operand, wanted: Shape) -> str | None:
    """What keeps the samples of a view to rows, and the layers that it takes then."""
    if scene.user is None or len(given.shape) < 2 or len(wanted) != 2:
        return None
    rows = given.shape[0], math.prod(given.shape[1:])
    told = f"{given.owner}.flatten(1) keeps the {rows[0]} samples: shape {rows}"
    changes = carried(scene, None, (scene.user.site, lambda operands: operands[0].flatten(1)))
    return f"{told}, and {' and '.join(one.told for one in changes)} then" if changes else told


@explains(
    r"weight of size \[([\d, ]+)\], expected input\[([\d, ]+)\] to have (\d+) channels, but got (\d+) channels"
)
def channels(scene: Scene, match: re.Match[str]) -> Explanation:
    """A convolution and the channels of its input."""
    given, wanted, got = _numbers(match[2]), int(match[3]), int(match[4])
    operand = next(iter(scene.operands()), None)
    if operand is not None and operand.shape == given[1:]:  # torch took it for one sample
        given = operand.shape
    summary = (
        f"{scene.module_name()} takes {wanted} channel{'s' * (wanted != 1)}, and is given {got}: {given}"
    )
    return _explained(scene, summary)


@explains(r"view size is not compatible with input tensor's size and stride")
def strides(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """`view` of a tensor whose elements lie in another order: behind a transpose, permute or expand."""
    node = node_at(scene.user.site) if scene.user is not None else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    source = ast.unparse(node.func.value)
    sizes = ", ".join(map(ast.unparse, node.args))
    summary = f"{source} is not contiguous: its elements lie in memory in another order than its shape says"
    advice = f"{source}.reshape({sizes}), which copies them in that order"
    return _explained(scene, summary, advice, "if dimensions are to be swapped: permute")


@explains(
    r"input size per channel: \(([\d x]+)\). Kernel size: \(([\d x]+)\). Kernel size can't be greater than|"
    r"Given input size: \(([\dx]+)\). Calculated output size: \(([\dx-]+)\). Output size is too small"
)
def used_up(scene: Scene, match: re.Match[str]) -> Explanation:
    """A convolution or a pooling of what is smaller than its window."""
    given = match[1] or match[3]
    summary = f"nothing is left for {scene.module_name()}: {given} is smaller than its window"
    return _explained(scene, summary, "larger inputs, or fewer layers before it that halve the size")
