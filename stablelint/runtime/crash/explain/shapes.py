"""Shapes that do not fit."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, islice, permutations

from torch import nn

from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.expression import node_at
from stablelint.runtime.crash.general import tried
from stablelint.runtime.crash.layers import shapes_through_layers
from stablelint.runtime.crash.repairs.paddings import with_room
from stablelint.runtime.crash.repairs.rebuilt import rebuilt, renumbered
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
    if (sizes := fitting(scene)) is not None:
        return replace(_explained(scene, summary, sizes.advice), other=sizes.places)
    if flat := _flattened(scene, given, wanted):
        return _explained(scene, summary, flat)
    made, places = rebuilt(scene)
    advice = made or list(islice(renumbered(scene), 2))
    return replace(_explained(scene, summary, *advice), other=tuple(places))


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


@explains(
    r"Expected (\dD) \(unbatched\) or (\dD) \(batched\) input to (\w+), but got input of size: \[([\d, ]*)\]"
)
def dimensions(scene: Scene, match: re.Match[str]) -> Explanation:
    """A convolution and the dimensions of its input."""
    given = _numbers(match[4])
    summary = f"{scene.module_name()} takes {match[1]} or {match[2]} input, and is given {given}"
    return _explained(scene, summary)


@explains(r"normalized_shape=(\[[\d, ]+\]), expected input with shape .* but got input of size(\[[\d, ]+\])")
def layer_normalised(scene: Scene, match: re.Match[str]) -> Explanation:
    """A layer norm and the last dimensions of its input."""
    wanted, given = _numbers(match[1]), _numbers(match[2])
    summary = f"{scene.module_name()} normalises over {wanted}, and is given {given}"
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
    advice = tuple(with_room(scene)) or ("larger inputs",)
    return _explained(scene, summary, *advice, "or fewer layers before it that halve the size")


@explains(r"^einsum\(\): ")
def einsum(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """Letters of an equation that are of several sizes, or fewer or more than an operand has dimensions."""
    frame = scene.called("einsum")
    names = frame.frame.f_locals if frame is not None else {}
    equation, given = names.get("equation"), names.get("operands", ())
    terms = equation.replace(" ", "").partition("->")[0].split(",") if isinstance(equation, str) else []
    if len(terms) != len(given) or "." in "".join(terms):
        return None
    operands = tuple(scene.operand(one, "an operand") for one in given)
    pairs = list(zip(terms, operands, strict=True))
    odd = [(term, one) for term, one in pairs if len(term) != len(one.shape)]
    if odd:
        summary = f"{odd[0][1].name} {odd[0][1].shape} has {len(odd[0][1].shape)} dimensions, and "
        summary += f"the equation gives it {len(odd[0][0])} letters, {odd[0][0]}"
        return _explained(scene, summary, operands=operands)
    found = _unlike(pairs)
    if found is None:
        return None
    letter, left, right = found
    told = [f"{size} in {one.name} {one.shape}" for one, size in (left, right)]
    summary = f"{letter} of the subscripts is {told[0]} and {told[1]}"
    advice = []
    for terms_that_fit in list(_reordered(pairs))[:1]:
        advice.append(f"{','.join(terms_that_fit)!r} in place of {','.join(terms)!r} fits all sizes")
        advice += _transposed(terms_that_fit, pairs)
    return _explained(scene, summary, *(advice or (one.told for one in tried(scene))), operands=operands)


def _transposed(fitting: list[str], pairs: list[tuple[str, Operand]]) -> Iterator[str]:
    """The operand with two dimensions swapped, where a fitting equation swaps two letters."""
    for fits, (term, one) in zip(fitting, pairs, strict=True):
        swapped = [place for place, (a, b) in enumerate(zip(fits, term, strict=True)) if a != b]
        if len(swapped) == 2:
            yield f"{one.owner}.transpose({swapped[0]}, {swapped[1]}) passes"


_Sized = tuple[Operand, int]


def _unlike(pairs: list[tuple[str, Operand]]) -> tuple[str, _Sized, _Sized] | None:
    """A letter that stands for two sizes, neither of them 1, with the operands."""
    seen: dict[str, _Sized] = {}
    for term, one in pairs:
        for letter, size in zip(term, one.shape, strict=True):
            before = seen.setdefault(letter, (one, size))
            if before[1] == 1:
                seen[letter] = one, size
            elif size not in (1, before[1]):
                return letter, before, (one, size)
    return None


def _reordered(pairs: list[tuple[str, Operand]]) -> Iterator[list[str]]:
    """Equations that fit, with the letters of one operand in another order."""
    for place, (term, one) in reversed(list(enumerate(pairs))):
        for letters in permutations(term) if len(term) < 6 else ():
            changed = [*pairs[:place], ("".join(letters), one), *pairs[place + 1 :]]
            if _unlike(changed) is None:
                yield [letter for letter, _ in changed]
