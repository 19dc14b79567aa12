"""What real data bring: a zero row, a constant, an empty or full mask, one element, equal points, large values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from stablelint.runtime.verify.witness.arguments import Argument, Arguments, Shape


def variants(arguments: Arguments) -> Iterator[tuple[str, Arguments]]:
    """What is special, and the arguments: the plain ones first, those of one changed argument before those of all."""
    floating = [index for index, each in enumerate(arguments) if each.floating]
    masks = [
        index for index, each in enumerate(arguments) if each.kind in ("mask", "weights") and not each.given
    ]
    for index in masks:
        for name, filled in (("an empty mask", "zeros"), ("a full mask", "ones")):
            suffix = ", dtype=torch.bool" if arguments[index].kind == "mask" else ""
            text = f"torch.{filled}({_sides(arguments[index].shape)}{suffix})"
            yield name, _with(arguments, index, text)
    for name, spelled in _CHANGES:
        for index in floating:
            yield name, _with(arguments, index, _text(arguments[index], spelled))
        if len(floating) > 1:
            changed = {index: _text(arguments[index], spelled) for index in floating}
            yield (
                f"{name} everywhere",
                tuple(
                    replace(each, given=changed[index]) if index in changed else each
                    for index, each in enumerate(arguments)
                ),
            )
    for index, each in enumerate(arguments):
        if each.kind == "labels" and not each.given:
            for number in (1, -100):
                text = (
                    f"torch.full(({_sides(each.shape)},), {number})"
                    if each.shape
                    else f"torch.tensor({number})"
                )
                yield f"labels of {number}", _with(arguments, index, text)
    for size, name in ((1, "one element"), (0, "an empty batch")):
        yield name, tuple(_cut(each, size) for each in arguments)
    for side in range(1, max((len(each.shape) for each in arguments), default=0)):
        yield "a side of one element", tuple(_narrow(each, side) for each in arguments)


def simplified(arguments: Arguments) -> Arguments:
    """The arguments with ones for what was drawn."""
    return tuple(
        replace(each, given=each.text.replace("torch.rand(", "torch.ones(")) if each.floating else each
        for each in arguments
    )


def _sides(shape: Shape) -> str:
    return ", ".join(map(str, shape)) if shape else "()"


def _zero_row(shape: Shape) -> str:
    if len(shape) < 2 or shape[0] < 2:
        return f"torch.zeros({_sides(shape)})"
    rest = _sides(shape[1:])
    return f"torch.cat([torch.zeros(1, {rest}), torch.ones({shape[0] - 1}, {rest})])"


_CHANGES = (
    ("zeros", lambda shape: f"torch.zeros({_sides(shape)})"),
    ("a constant", lambda shape: f"torch.ones({_sides(shape)})"),
    ("a zero row", _zero_row),
    ("negative values", lambda shape: f"-torch.ones({_sides(shape)})"),
    ("large values", lambda shape: f"100 * torch.ones({_sides(shape)})"),
    ("large negative values", lambda shape: f"-100 * torch.ones({_sides(shape)})"),
    ("one large value", lambda shape: f"200 * torch.eye({shape[-2]}, {shape[-1]}).expand({_sides(shape)})"
     if len(shape) > 1 else f"torch.linspace(0, 200, {shape[0]})" if shape else "torch.tensor(200.0)"),
    ("very large values", lambda shape: f"1e4 * torch.ones({_sides(shape)})"),
    ("large half-precision values", lambda shape: f"(300 * torch.ones({_sides(shape)})).half()"),
    ("small half-precision values", lambda shape: f"(1e-4 * torch.ones({_sides(shape)})).half()"),
)  # fmt: skip


def _text(argument: Argument, spelled: object) -> str:
    assert callable(spelled)
    one = str(spelled(argument.shape))
    return f"[{one}, {one}]" if argument.kind == "several" else one


def _with(arguments: Arguments, index: int, text: str) -> Arguments:
    return (*arguments[:index], replace(arguments[index], given=text), *arguments[index + 1 :])


def _cut(argument: Argument, size: int) -> Argument:
    shaped = argument.shape and not argument.given
    return replace(argument, shape=(size, *argument.shape[1:])) if shaped else argument


def _narrow(argument: Argument, side: int) -> Argument:
    shape = argument.shape
    if len(shape) <= side or argument.given:
        return argument
    return replace(argument, shape=(*shape[:side], 1, *shape[side + 1 :]))
