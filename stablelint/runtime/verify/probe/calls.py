"""What the probes call. Under torch.compile each of these is traced away to nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import torch

from stablelint.runtime.verify.probe.recorder import RECORDER, Frame

T = TypeVar("T")


def begin(number: int, *extra: object) -> Frame | None:
    """The target `number` is about to be evaluated; `extra` alternates operand index and thunk."""
    if torch.compiler.is_compiling():
        return None
    return RECORDER.begin(number, extra)


def see(number: int, index: int, value: T) -> T:
    """An operand's value, on its way into the expression."""
    if not torch.compiler.is_compiling():
        RECORDER.see(number, index, value)
    return value


def hold(number: int, index: int, value: T) -> T:
    """The value of an operand that is computed before the target, in another statement."""
    if not torch.compiler.is_compiling():
        RECORDER.hold(number, index, value)
    return value


def end(number: int, frame: Frame | None, value: T) -> T:
    """The value of the target's expression, on its way out."""
    if not torch.compiler.is_compiling():
        RECORDER.end(number, frame, value)
    return value


def snap(number: int, *extra: Callable[[], object] | int) -> None:
    """A statement is about to be executed; `extra` as in `begin`."""
    if not torch.compiler.is_compiling():
        RECORDER.end(number, RECORDER.begin(number, extra), None)


def enter(function: int, scope: Mapping[str, object]) -> None:
    """A function that holds targets was called with these arguments."""
    if not torch.compiler.is_compiling():
        RECORDER.enter(function, scope)
