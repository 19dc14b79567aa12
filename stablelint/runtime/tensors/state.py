"""What a step needs to run again as it ran: random state, buffers, gradients."""

from __future__ import annotations

import operator
import random
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.grad_mode import _unsafe_preserve_version_counter

_QUIET_AFTER = 8  # takes without a change, after which a foreign generator is looked at less often
_LONGEST_PAUSE = 6  # as a power of two
_UNSEEN = 1 << 14  # elements of a buffer that is compared: the statistics of a batch norm keep their version
_default_generator = torch.default_generator
_uses_cuda: Callable[[], bool] = torch.cuda.is_initialized


@dataclass(slots=True)  # not frozen: one is made at every step, and frozen ones are slow to make
class RandomState:
    """The state of every generator a step may draw from."""

    default: torch.Tensor
    devices: tuple[torch.Tensor, ...]
    python: Any
    numpy: Any

    def restore(self) -> None:
        """Put the generators back."""
        _default_generator.set_state(self.default)
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
        self._python = _Foreign(random.getstate, operator.eq)
        self._numpy = _Foreign(_numpy_state, _same_numpy)
        self._pause = 0  # takes for which neither is looked at

    def take(self) -> RandomState:
        """The state of all generators now; torch's exactly, the others' when last seen to move."""
        python, numpy = self._python, self._numpy
        if self._pause:
            self._pause -= 1
        else:
            python.look()
            numpy.look()
            self._pause = pause = min(python.pause, numpy.pause)
            python.pause -= pause
            numpy.pause -= pause
        devices = tuple(torch.cuda.get_rng_state_all()) if _uses_cuda() else ()
        return RandomState(_default_generator.get_state(), devices, python.state, numpy.state)


class _Foreign:
    """A generator that is slow to read: looked at ever less often while it stands still."""

    __slots__ = ("_read", "_same", "_unchanged", "pause", "state")

    def __init__(self, read: Callable[[], Any], same: Callable[[Any, Any], bool]) -> None:
        self.state: Any = None
        self.pause = 0  # takes to go until the next look
        self._read = read
        self._same = same
        self._unchanged = 0

    def look(self) -> None:
        """Read the state if it is time to."""
        if self.pause:
            self.pause -= 1
            return
        state = self._read()
        same = self._same(state, self.state)
        self.state = state
        self._unchanged = self._unchanged + 1 if same else 0
        if self._unchanged >= _QUIET_AFTER:
            self.pause = 1 << min(self._unchanged - _QUIET_AFTER, _LONGEST_PAUSE)


def current_state() -> RandomState:
    """The state of all generators, read in full."""
    return RandomRecorder().take()


def moved(before: RandomState, after: RandomState) -> list[bool]:
    """For each generator whether it stands elsewhere; one that either state does not know is taken to stand still."""
    devices = zip(before.devices, after.devices, strict=False)
    return [
        not torch.equal(before.default, after.default),
        None not in (before.python, after.python) and before.python != after.python,
        before.numpy is not None and after.numpy is not None and not _same_numpy(before.numpy, after.numpy),
        *(not torch.equal(*pair) for pair in devices),
    ]


class BufferRecorder:
    """Copies of buffers, renewed only where a buffer was written since the last copy."""

    def __init__(self, buffers: Iterable[torch.Tensor] = ()) -> None:
        self._held: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._versions: list[int] = []
        self.watch(buffers)

    def watch(self, buffers: Iterable[torch.Tensor]) -> None:
        """From now on remember these, and no others, with their present values."""
        self._held = [(buffer, buffer.detach().clone()) for buffer in buffers]
        self._versions = [buffer._version for buffer, _ in self._held]

    def take(self) -> None:
        """Remember the values as they are now."""
        if not self._held:
            return
        versions = [buffer._version for buffer, _ in self._held]
        if versions == self._versions:
            return
        with torch.no_grad():
            for (buffer, copy), new, old in zip(self._held, versions, self._versions, strict=True):
                if new != old or buffer.numel() <= _UNSEEN:
                    copy.copy_(buffer)
        self._versions = versions

    def restore(self, only: Collection[int] | None = None) -> None:
        """Put the remembered values back into the buffers that changed since; `only` into those of these ids."""
        with torch.no_grad():
            for index, (buffer, copy) in enumerate(self._held):
                written = buffer._version != self._versions[index]
                if not written and buffer.numel() <= _UNSEEN:
                    written = not torch.equal(buffer, copy)
                if written and (only is None or id(buffer) in only):
                    buffer.copy_(copy)
                    self._versions[index] = buffer._version


@contextmanager
def state_preserved(
    parameters: Iterable[torch.Tensor], buffers: Iterable[torch.Tensor], used: Collection[int] | None = None
) -> Iterator[None]:
    """Take gradients away during a replay; afterwards gradients, buffers and generators are as before.

    Of the buffers only those whose id is in `used` at the end, where that is given.
    """
    parameters, buffers = list(parameters), [one for one in buffers if not one.is_inference()]
    gradients = [parameter.grad for parameter in parameters]
    before = BufferRecorder(buffers)
    versions = [_unsafe_preserve_version_counter(buffer) for buffer in buffers]
    random_state = current_state()
    for parameter in parameters:
        parameter.grad = None
    try:
        yield
    finally:
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        before.restore(used)
        for buffer, version in zip(buffers, versions, strict=True):
            if used is None or id(buffer) in used:
                with version:  # what autograd has kept of a graph under way is what it was
                    pass
        random_state.restore()


def _numpy_state() -> Any:
    numpy = sys.modules.get("numpy")
    return numpy.random.get_state() if numpy is not None and "numpy.random" in sys.modules else None


def _same_numpy(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return bool(one[2:] == other[2:] and (one[1] == other[1]).all())
