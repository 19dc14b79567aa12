"""What a step needs to run again as it ran: random state, buffers, gradients."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

_QUIET_AFTER = 8  # takes without a change, after which a foreign generator is looked at less often
_LONGEST_PAUSE = 64


@dataclass(frozen=True, slots=True)
class RandomState:
    """The state of every generator a step may draw from."""

    default: torch.Tensor
    devices: tuple[torch.Tensor, ...]
    python: Any
    numpy: Any

    def restore(self) -> None:
        """Put the generators back."""
        torch.default_generator.set_state(self.default)
        if self.devices:
            torch.cuda.set_rng_state_all(list(self.devices))
        if self.python is not None:
            random.setstate(self.python)
        numpy = sys.modules.get("numpy")
        if self.numpy is not None and numpy is not None:
            numpy.random.set_state(self.numpy)


class RandomRecorder:
    """Takes random states; generators of Python and NumPy that nobody draws from are read ever less often."""

    def __init__(self) -> None:
        self._python: Any = None
        self._numpy: Any = None
        self._unchanged = 0
        self._skip = 0

    def take(self) -> RandomState:
        """The state of all generators now; torch's exactly, the others' when last seen to move."""
        if self._skip > 0:
            self._skip -= 1
        else:
            self._look_at_foreign_generators()
        devices: tuple[torch.Tensor, ...] = ()
        if torch.cuda.is_initialized():
            devices = tuple(torch.cuda.get_rng_state_all())
        return RandomState(torch.default_generator.get_state(), devices, self._python, self._numpy)

    def _look_at_foreign_generators(self) -> None:
        python = random.getstate()
        numpy = sys.modules.get("numpy")
        foreign = numpy.random.get_state() if numpy is not None and "numpy.random" in sys.modules else None
        same = python == self._python and _same_numpy(foreign, self._numpy)
        self._python, self._numpy = python, foreign
        self._unchanged = self._unchanged + 1 if same else 0
        if self._unchanged >= _QUIET_AFTER:
            self._skip = min(2 ** (self._unchanged - _QUIET_AFTER), _LONGEST_PAUSE)


def current_state() -> RandomState:
    """The state of all generators, read in full."""
    return RandomRecorder().take()


class BufferRecorder:
    """Copies of buffers, renewed only where a buffer was written since the last copy."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[torch.Tensor, int, torch.Tensor]] = {}

    def take(self, buffers: Iterable[torch.Tensor]) -> None:
        """Remember the values of `buffers` as they are now."""
        for buffer in buffers:
            held = self._held.get(id(buffer))
            if held is None or held[0] is not buffer:
                self._held[id(buffer)] = (buffer, buffer._version, buffer.detach().clone())
            elif held[1] != buffer._version:
                held[2].copy_(buffer.detach())
                self._held[id(buffer)] = (buffer, buffer._version, held[2])

    def restore(self) -> None:
        """Put the remembered values back into the buffers that changed since."""
        for key, (buffer, version, copy) in list(self._held.items()):
            if buffer._version != version:
                with torch.no_grad():
                    buffer.copy_(copy)
                self._held[key] = (buffer, buffer._version, copy)


@contextmanager
def set_aside(parameters: Iterable[torch.Tensor], buffers: Iterable[torch.Tensor]) -> Iterator[None]:
    """Take gradients away during a replay; afterwards gradients, buffers and generators are as before."""
    parameters = list(parameters)
    gradients = [parameter.grad for parameter in parameters]
    before = BufferRecorder()
    before.take(buffers)
    random_state = current_state()
    for parameter in parameters:
        parameter.grad = None
    try:
        yield
    finally:
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        before.restore()
        random_state.restore()


def _same_numpy(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return bool(one[2:] == other[2:] and (one[1] == other[1]).all())
