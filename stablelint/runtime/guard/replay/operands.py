"""The operands of an operation as the program calls them: told by identity, never by position alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

import torch

from stablelint.runtime.guard.replay.writes import storage_key
from stablelint.runtime.program.frames import user_frames
from stablelint.runtime.tracing.graph import all_saved


def names_in(frame: FrameType | None) -> dict[str, torch.Tensor]:
    """Tensors that the innermost user frame from `frame` outwards holds, and those that are attributes of `self`."""
    frame = next(user_frames(frame, 1), None)
    if frame is None:
        return {}
    used = {*frame.f_code.co_names, *frame.f_code.co_freevars}
    outer = {name: frame.f_globals[name] for name in used if name in frame.f_globals}
    found = {name: one for name, one in {**outer, **frame.f_locals}.items() if isinstance(one, torch.Tensor)}
    owner = frame.f_locals.get("self")
    parts = {
        **getattr(owner, "__dict__", {}),
        **getattr(owner, "_parameters", {}),
        **getattr(owner, "_buffers", {}),
    }
    found.update({f"self.{name}": one for name, one in parts.items() if isinstance(one, torch.Tensor)})
    return {name: _unwrapped(one) for name, one in found.items()}


def _unwrapped(tensor: torch.Tensor) -> torch.Tensor:
    """What operations see of a tensor: below the transforms of `torch.func` under way."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor


def operands_named(
    taken: Sequence[torch.Tensor], node: Any, *known: Mapping[str, torch.Tensor]
) -> Iterator[tuple[str, torch.Tensor]]:
    """The operands of an operation with their names; no name where there is none.

    In a node of the backward pass the first is the gradient. What the node has made on its way has no name: what it has
    kept of its forward operation stands for it.
    """
    kept = {f"saved {name}": one for name, one in all_saved(node).items() if storage_key(one)}
    named = [(name_of(one, *known, kept), one) for one in taken]
    if node is not None:
        made = [name for name, _ in named[1:] if not name]
        named = [(name or "gradient", one) for index, (name, one) in enumerate(named) if name or not index]
        others = ((name_of(one, *known) or name, one) for name, one in kept.items() if made)
        named += [(name, one) for name, one in others if all(name != other for other, _ in named)]
    yield from named


def name_of(tensor: torch.Tensor, *known: Mapping[str, torch.Tensor]) -> str:
    """What a tensor is called: by itself, or as a view of all its elements; nothing where it has no name."""
    for names in known:
        for name, one in names.items():
            if one is tensor:
                return name
    for names in known:
        for name, one in names.items():
            if _is_view(one, tensor):
                return name
    return ""


def _is_view(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.numel() != other.numel() or one.dtype != other.dtype or not one.numel():
        return False
    try:
        return one.data_ptr() == other.data_ptr() != 0
    except RuntimeError:  # sparse, fake and sharded tensors have no memory of their own
        return False


def first_bad(
    result: torch.Tensor, operands: Sequence[torch.Tensor]
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The index of the first non-finite element of a result, and the operands' elements that it was made of.

    None for an operand that is not taken element by element.
    """
    if result.layout is not torch.strided or hasattr(result, "to_local"):
        return (), ()
    bad = ~torch.isfinite(result.detach())
    place = int(bad.flatten().to(torch.uint8).argmax())
    index = tuple(int(one) for one in torch.unravel_index(torch.tensor(place), result.shape))
    return index, tuple(_at(one, index, result.shape) for one in operands)


def _at(operand: torch.Tensor, index: tuple[int, ...], shape: torch.Size) -> float | None:
    if operand.is_complex() or operand.layout is not torch.strided or operand.dim() > len(shape):
        return None
    try:
        return float(operand.detach().expand(shape)[index].item())
    except (RuntimeError, ValueError):
        return None
