"""What real data bring: zeros, a constant, an empty or full mask, no items, one element, large values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from stablelint.runtime.verify.witness.arguments import Argument, Arguments, Shape


def variants(arguments: Arguments) -> Iterator[Arguments]:
    """The arguments with what is special: masks first, then one changed argument before all of them, then sizes."""
    drawn = {index: each for index, each in enumerate(arguments) if not each.given}
    for index, each in drawn.items():
        kind = ", dtype=torch.bool" if each.kind == "mask" else ""
        for filled in ("zeros", "ones") if each.kind in ("mask", "weights") else ():
            yield _with(arguments, {index: f"torch.{filled}({_sides(each.shape)}{kind})"})
    for index, each in drawn.items():
        for text in ("0", "1") if each.kind == "int" else ():
            yield _with(arguments, {index: text})
    for spelled in _CHANGES:
        changed = {index: _text(each, spelled) for index, each in drawn.items() if each.floating}
        yield from (_with(arguments, {index: text}) for index, text in changed.items())
        if len(changed) > 1:
            yield _with(arguments, changed)
    for index, each in drawn.items():
        sides = f"({_sides(each.shape)},)" if each.shape else "()"
        for number in (1, -100) if each.kind == "labels" else ():
            yield _with(arguments, {index: f"torch.full({sides}, {number})"})
    rank = max((len(each.shape) for each in arguments), default=0)
    for side, size in ((0, 1), (0, 0), *((side, 1) for side in range(1, rank))):
        yield tuple(_sized(each, side, size) for each in arguments)


def simplified(arguments: Arguments) -> Arguments:
    """The arguments with ones for what was drawn."""
    return tuple(
        replace(each, given=each.text.replace("torch.rand(", "torch.ones(")) if each.floating else each
        for each in arguments
    )


def _sides(shape: Shape) -> str:
    return ", ".join(map(str, shape)) if shape else "()"


def _one_large(shape: Shape) -> str:
    if len(shape) > 1:
        return f"200 * torch.eye({shape[-2]}, {shape[-1]}).expand({_sides(shape)})"
    return f"torch.linspace(0, 200, {shape[0]})" if shape else "torch.tensor(200.0)"


_CHANGES: tuple[Callable[[Shape], str], ...] = (
    lambda shape: f"torch.zeros({_sides(shape)})",
    lambda shape: f"torch.ones({_sides(shape)})",
    lambda shape: f"-torch.ones({_sides(shape)})",
    lambda shape: f"100 * torch.ones({_sides(shape)})",
    lambda shape: f"-100 * torch.ones({_sides(shape)})",
    _one_large,
    lambda shape: f"(300 * torch.ones({_sides(shape)})).half()",
    lambda shape: f"(1e-4 * torch.ones({_sides(shape)})).half()",
)


def _text(argument: Argument, spelled: Callable[[Shape], str]) -> str:
    one = spelled(argument.shape)
    return f"[{one}, {one}]" if argument.kind == "several" else one


def _with(arguments: Arguments, texts: Mapping[int, str]) -> Arguments:
    return tuple(replace(each, given=texts.get(index, each.given)) for index, each in enumerate(arguments))


def _sized(argument: Argument, side: int, size: int) -> Argument:
    shape = argument.shape
    if len(shape) <= side or argument.given:
        return argument
    return replace(argument, shape=(*shape[:side], size, *shape[side + 1 :]))
