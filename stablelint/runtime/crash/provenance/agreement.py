"""Which of two sizes that do not fit the rest of the program agrees with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import torch

from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.tensors.measure import tensors_in

Shape = tuple[int, ...]


def holders(frames: list[Frame], size: int, but: Iterable[torch.Tensor]) -> list[str]:
    """The names of the program's tensors that have a size, without some and their views."""
    left_out = {_place(one) for one in but}
    found: dict[int, str] = {}
    for name, tensor in _tensors(frames):
        if size in tensor.shape and _place(tensor) not in left_out:
            found.setdefault(_place(tensor), name)
    return list(dict.fromkeys(found.values()))


def speaks_against(frames: list[Frame], before: Shape, after: Shape, but: list[torch.Tensor]) -> bool:
    """Whether more tensors have the sizes that a change takes away than those that it brings."""
    lost, won = (
        {name for size in sizes for name in holders(frames, size, but)} for sizes in _changed(before, after)
    )
    return len(lost - won) > len(won - lost)


def _changed(before: Shape, after: Shape) -> tuple[list[int], list[int]]:
    one, other = Counter(before), Counter(after)
    return list(one - other), list(other - one)


def _tensors(frames: list[Frame]) -> Iterator[tuple[str, torch.Tensor]]:
    for frame in reversed(frames):
        for name, value in frame.frame.f_locals.items() if frame.mine else ():
            if isinstance(value, torch.Tensor | list | tuple | dict):
                yield from ((name, one) for one in tensors_in(value))


def _place(tensor: torch.Tensor) -> int:
    return id(tensor) if tensor.is_meta else tensor.untyped_storage().data_ptr() or id(tensor)
