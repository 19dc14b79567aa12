"""Which of two sizes that do not fit the rest of the program agrees with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import torch

from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.tensors.measure import tensors_in

Shape = tuple[int, ...]


def speaks_against(frames: list[Frame], before: Shape, after: Shape, but: list[torch.Tensor]) -> bool:
    """Whether more tensors have the sizes that a change takes away than those that it brings."""
    one, other, left_out = Counter(before), Counter(after), {_place(each) for each in but}
    lost, won = (_holders(frames, {*sizes}, left_out) for sizes in (one - other, other - one))
    return len(lost - won) > len(won - lost)


def _holders(frames: list[Frame], sizes: set[int], left_out: set[int]) -> set[str]:
    """The names of the program's tensors that have one of some sizes."""
    kept = ((name, one) for name, one in _tensors(frames) if _place(one) not in left_out)
    return {name for name, one in kept if sizes & {*one.shape}}


def _tensors(frames: list[Frame]) -> Iterator[tuple[str, torch.Tensor]]:
    for frame in reversed(frames):
        for name, value in frame.frame.f_locals.items() if frame.mine else ():
            if isinstance(value, torch.Tensor | list | tuple | dict):
                yield from ((name, one) for one in tensors_in(value))


def _place(tensor: torch.Tensor) -> int:
    return id(tensor) if tensor.is_meta else tensor.untyped_storage().data_ptr() or id(tensor)
