"""What a value of the program is, in few words."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.scene import kind_of
from stablelint.runtime.tensors.measure import dtype_name

_LONGEST = 70
_SHOWN = 6


def described(value: Any) -> str:
    """What a value is, in few words."""
    kind = type(value).__name__
    match value:
        case None | bool() | int() | float() | complex() | torch.device() | torch.dtype():
            return repr(value)
        case torch.Size():
            return str(tuple(value))
        case torch.Tensor():
            return f"a tensor {tuple(value.shape)} of {dtype_name(value.dtype)}"
        case str() | bytes():
            return (
                f"the {kind} {value!r}" if len(value) < _LONGEST else f"a {kind} of {len(value)} characters"
            )
        case nn.Module():
            return f"a {kind_of(value, _LONGEST)}"
        case type():
            return f"the class {value.__name__}"
        case dict():
            keys = ", ".join(map(repr, list(value)[:_SHOWN])) + (", …" if len(value) > _SHOWN else "")
            return f"a {kind} with the keys {keys}" if value else f"an empty {kind}"
        case list() | tuple():
            parts = ", ".join(map(described, value[:3])) + (", …" if len(value) > 3 else "")
            return f"a {kind} of {len(value)}: {parts}"[:200] if value else f"an empty {kind}"
    if inspect.isroutine(value):
        return f"the function {getattr(value, '__name__', kind)}"
    if kind == "ndarray":
        return f"an array {value.shape} of {value.dtype}"
    if hasattr(type(value), "__len__"):
        try:
            return f"a {kind} of length {len(value)}"
        except Exception:  # whatever a class of the program raises
            return f"a {kind}"
    return f"a {kind}"
