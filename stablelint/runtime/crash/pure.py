"""Which functions of torch only compute: they may be called once more."""

from __future__ import annotations

import inspect
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch
from torch import nn
from torch.utils.data import TensorDataset

_BUILTIN = ("torch", "torch._C._nn")


def is_builtin(called: Any) -> bool:
    """Whether this is a function of torch that is written in C++."""
    return isinstance(called, BuiltinFunctionType) and called.__module__ in _BUILTIN


def is_known(called: Any) -> bool:
    """Whether a callable of torch computes with tensors, or makes a layer or a data set, and does nothing else."""
    if called in (TensorDataset, float, int):
        return True
    if isinstance(called, type):
        return issubclass(called, nn.Module) and called.__module__.startswith("torch.nn.modules.")
    if isinstance(called, FunctionType) and called.__qualname__.startswith("Tensor."):
        return False  # backward, hooks, what is shared or saved
    name = getattr(called, "__name__", "set_")
    if isinstance(called, FunctionType) and called.__module__ == "torch.nn.utils.rnn":
        return True
    return called in _pure() or (is_builtin(called) and not name.startswith("set_"))


@cache
def _pure() -> frozenset[Any]:
    """The functions and methods that torch names as those of tensors."""
    found = torch.overrides.get_overridable_functions()
    known = [one for several in found.values() for one in several if callable(one)]
    return frozenset((*known, *map(inspect.unwrap, known)))  # some of which the guard watches
