"""Shapes that do not fit."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from itertools import combinations

from torch import nn

from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.expression import node_at
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


@explains(r"mat1 and mat2 shapes cannot be multiplied|size mismatch, got input")
def linear(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A linear layer, or a product of matrices."""
    layer, operands = scene.module, scene.operands()
    if isinstance(layer, nn.Linear) and operands:
        given = operands[0].shape
        summary = f"{scene.module_name()} takes {layer.in_features} features, and {operands[0].name} has {given[-1]}"
        if len(given) > 2 and math.prod(given[1:]) == layer.in_features:
            name = "nn.Flatten()" if " of " in operands[0].name else f"{operands[0].owner}.flatten(1)"
            return _explained(scene, summary, f"flatten it before: {name} gives {layer.in_features}")
        advice = [f"nn.Linear({given[-1]}, {layer.out_features}) fits what it is given"]
        for dimension, size in enumerate(given[:-1]):
            if size == layer.in_features:
                advice.append(
                    f"dimension {dimension} of {operands[0].name} has {size}: transposed it would fit"
                )
        return _explained(scene, summary, *advice)
    return _product(scene, operands)


def _product(scene: Scene, operands: tuple[Operand, ...]) -> Explanation | None:
    """A product of two matrices, or of two batches of them."""
    if len(operands) < 2:
        return None
    left, right = operands[:2]
    if left.shape[-1] == _rows(right):
        summary = f"{left.name} {left.shape} and {right.name} {right.shape} are batches of other sizes"
        advice = [f"as many matrices in both: {left.shape[:-2]} meet {right.shape[:-2]}"]
        return _explained(scene, summary, *advice)
    summary = f"{left.name} {left.shape} @ {right.name} {right.shape}: {left.shape[-1]} columns meet {_rows(right)} rows"
    advice = list(_transposed(left, right))
    if len(right.shape) > 2 or (not advice and len(right.shape) == 2):
        fits = (*right.shape[:-2], left.shape[-1], right.shape[-1])
        advice.append(f"{right.name} of shape {fits} would fit")
    return _explained(scene, summary, *advice)


def _rows(operand: Operand) -> int:
    return operand.shape[-2] if len(operand.shape) > 1 else operand.shape[0]


def _transposed(left: Operand, right: Operand) -> Iterator[str]:
    if len(left.shape) > 1 and len(right.shape) > 1:
        if left.shape[-1] == right.shape[-1]:
            yield f"{left.name} @ {right.owner}.mT gives {(*left.shape[:-1], right.shape[-2])}"
        if left.shape[-2] == right.shape[-2]:
            yield f"{left.owner}.mT @ {right.name} gives {(*left.shape[:-2], left.shape[-1], right.shape[-1])}"


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
                fits = (
                    list(_fitting(left, right)) or list(_sliced(left, right, back)) or _resized(left, right)
                )
                return _explained(scene, summary, *fits)
    return None


def _sliced(left: Operand, right: Operand, back: int) -> Iterator[str]:
    """The longer of two operands, cut to the length of the other, where they would broadcast then."""
    long, short = sorted((left, right), key=lambda one: one.shape[-back], reverse=True)
    index, size = len(long.shape) - back, short.shape[-back]
    if _broadcasts((*long.shape[:index], size, *long.shape[index + 1 :]), short.shape):
        if len(long.shape) > 3 and index == 1:
            yield f"a convolution of 1 × 1 that gives {short.name} {long.shape[1]} channels, if images are added"
        if short.name.startswith("self."):
            yield f"{short.name} of {long.shape[index]} in dimension {len(short.shape) - back}, where it is made"
        yield f"{long.owner}[{':, ' * index}:{size}], if the first {size} are meant, would fit {short.name}"


def _resized(one: Operand, other: Operand) -> list[str]:
    """What makes images or volumes fit that differ behind their channels alone."""
    if len(one.shape) != len(other.shape) or len(one.shape) < 3 or one.shape[0] != other.shape[0]:
        return []
    return [f"crop or pad one of them, or F.interpolate({one.name}, size={list(other.shape[2:])})"]


def _fitting(left: Operand, right: Operand) -> Iterator[str]:
    """Views of either operand with which the two would broadcast."""
    for one, other in ((left, right), (right, left)):
        for text, wider in _widened(one, len(other.shape)):
            if _broadcasts(wider, other.shape):
                yield f"{text}, of shape {wider}, would fit {other.name}"
        if len(one.shape) == 2 and _broadcasts(one.shape[::-1], other.shape):
            yield f"{one.owner}.T, of shape {one.shape[::-1]}, would fit {other.name}"


def _widened(one: Operand, most: int) -> Iterator[tuple[str, Shape]]:
    """The operand with dimensions of size 1 put in, and how it is written; `most` is the number it may have then."""
    for dimension in range(len(one.shape) + 1 if len(one.shape) < most else 0):
        yield f"{one.owner}.unsqueeze({dimension})", (*one.shape[:dimension], 1, *one.shape[dimension:])
    for places in combinations(range(most), len(one.shape)) if most - len(one.shape) > 1 else ():
        kept = dict(zip(places, one.shape, strict=True))
        index = ", ".join(":" if place in kept else "None" for place in range(most))
        yield f"{one.owner}[{index}]", tuple(kept.get(place, 1) for place in range(most))


def _broadcasts(one: Shape, other: Shape) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(one[::-1], other[::-1], strict=False))


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
    advice = [
        f"along dimension {other} they would fit"
        for other in range(len(first))
        if all(_besides(one.shape, other) == _besides(first, other) for one in operands)
    ]
    unlike = [d for d, (a, b) in enumerate(zip(odd.shape, first, strict=True)) if a != b and d != along]
    found = ", ".join(f"dimension {one} is {odd.shape[one]} against {first[one]}" for one in unlike)
    summary = f"{odd.name} {odd.shape} does not continue {operands[0].name} {first} along dimension {along}: {found}"
    return _explained(scene, summary, *(advice or _resized(odd, operands[0])))


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
    advice = []
    if given.shape and len(wanted) == 2:
        rest = math.prod(given.shape[1:])
        advice.append(
            f"{given.owner}.flatten(1) keeps the {given.shape[0]} samples: shape {(given.shape[0], rest)}"
        )
    advice += _parted(given.shape, wanted)
    return _explained(scene, summary, *advice)


def _parted(given: Shape, wanted: Shape) -> Iterator[str]:
    """What the sizes behind those that two shapes share are to multiply to."""
    same = next((i for i, (a, b) in enumerate(zip(given, wanted, strict=False)) if a != b), 0)
    rest, parts = math.prod(given[same:]), wanted[same:]
    if same and len(parts) > 1:
        whole = f"{' × '.join(map(str, parts))} stands for {rest}"
        odd = [one for one in parts if one > 0 and rest % one]
        yield f"{whole}, of which {odd[0]} is no divisor" if odd else whole


@explains(
    r"weight of size \[([\d, ]+)\], expected input\[([\d, ]+)\] to have (\d+) channels, but got (\d+) channels"
)
def channels(scene: Scene, match: re.Match[str]) -> Explanation:
    """A convolution and the channels of its input."""
    weight, given, wanted, got = _numbers(match[1]), _numbers(match[2]), int(match[3]), int(match[4])
    operand = next(iter(scene.operands()), None)
    if operand is not None and operand.shape == given[1:]:  # torch took it for one sample
        given = operand.shape
    summary = (
        f"{scene.module_name()} takes {wanted} channel{'s' * (wanted != 1)}, and is given {got}: {given}"
    )
    if given[1] == wanted and len(given) == len(weight) - 1:
        return _explained(scene, summary, f"nn.Conv{len(given) - 2}d takes samples of this shape")
    if wanted == 1 and len(given) == len(weight) - 1:
        return _explained(scene, summary, f"{_called(operand)}.unsqueeze(1), if {got} counts the samples")
    if given[-1] == wanted and len(given) == len(weight):
        order = (0, len(given) - 1, *range(1, len(given) - 1))
        return _explained(scene, summary, f"the channels come last: {_called(operand)}.permute{order}")
    advice = (
        f"in_channels={got}" if got != given[-1] else f"see which dimension of {given} counts the channels"
    )
    return _explained(scene, summary, advice)


def _called(operand: Operand | None) -> str:
    return operand.name if operand is not None and operand.name.isidentifier() else ""


@explains(
    r"Expected (\dD) \(unbatched\) or (\dD) \(batched\) input to (\w+), but got input of size: \[([\d, ]*)\]"
)
def dimensions(scene: Scene, match: re.Match[str]) -> Explanation:
    """A convolution and the dimensions of its input."""
    given = _numbers(match[4])
    summary = f"{scene.module_name()} takes {match[1]} or {match[2]} input, and is given {given}"
    missing = int(match[2][0]) - len(given)
    advice = "unsqueeze the channels: .unsqueeze(1)" if missing == 1 else "see what was flattened"
    if missing > 1 and len(given) == 2 and given[1] == getattr(scene.module, "in_channels", None):
        name = next((one.owner for one in scene.operands()), "")
        advice = f"{name}[:, :, {', '.join(['None'] * missing)}], if dimension 1 counts the channels"
    return _explained(scene, summary, advice)


@explains(r"normalized_shape=(\[[\d, ]+\]), expected input with shape .* but got input of size(\[[\d, ]+\])")
def layer_normalised(scene: Scene, match: re.Match[str]) -> Explanation:
    """A layer norm and the last dimensions of its input."""
    wanted, given = _numbers(match[1]), _numbers(match[2])
    summary = f"{scene.module_name()} normalises over {wanted}, and is given {given}"
    if len(wanted) == 1 and wanted[0] in given[1:-1]:
        place = given.index(wanted[0], 1)
        return _explained(
            scene, summary, f"the {wanted[0]} stand in dimension {place}: .movedim({place}, -1) before"
        )
    return _explained(scene, summary, f"normalized_shape={list(given[-len(wanted) :])}")


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
    return _explained(scene, summary, "larger inputs, fewer layers that halve the size, or padding")
