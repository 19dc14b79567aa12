"""What the probes call. Under torch.compile each of these is traced away to nothing.

One thing is kept while a function is being compiled: that it holds the target, see `compiled`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TypeVar

import torch

from stablelint.runtime import supported  # noqa: F401
from stablelint.runtime.verify.probe.frames import Frame
from stablelint.runtime.verify.probe.recorder import RECORDER

T = TypeVar("T")


def begin(number: int, *extra: object) -> Frame | None:
    """The target `number` is about to be evaluated; `extra` alternates operand index and thunk."""
    if torch.compiler.is_compiling():
        compiled(number)
        return None
    return RECORDER.frames.open(number, extra)


def see(number: int, index: int, value: T) -> T:
    """An operand's value, on its way into the expression."""
    if not torch.compiler.is_compiling():
        RECORDER.see(number, index, value)
    return value


def hold(number: int, index: int, value: T) -> T:
    """The value of an operand that is computed before the target, in another statement."""
    if not torch.compiler.is_compiling():
        RECORDER.frames.hold(number, index, value)
    return value


def end(number: int, frame: Frame | None, value: T) -> T:
    """The value of the target's expression, on its way out."""
    if not torch.compiler.is_compiling():
        RECORDER.end(number, frame, value)
    return value


def snap(number: int, *extra: Callable[[], object] | int) -> None:
    """A statement is about to be executed; `extra` as in `begin`."""
    if torch.compiler.is_compiling():
        compiled(number)
    else:
        RECORDER.end(number, RECORDER.frames.open(number, extra), None)


def enter(function: int, scope: Mapping[str, object]) -> None:
    """A function that holds targets was called with these arguments."""
    if not torch.compiler.is_compiling():
        RECORDER.enter(function, scope)


def compiled(number: int) -> bool:
    """The target `number` is in a function that is being compiled.

    The compiler calls this while it traces and keeps the result as a constant, so that nothing of it is left
    in the compiled function.
    """
    RECORDER.compiled(number)
    return True


def mark_constant() -> None:
    """Tell the compiler so. Importing it takes seconds: to be called once it is loaded anyway."""
    torch.compiler.assume_constant_result(compiled)


if "torch._dynamo" in sys.modules:
    mark_constant()
