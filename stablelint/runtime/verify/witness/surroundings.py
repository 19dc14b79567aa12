"""What a research program takes for granted around it, and this machine has not: a GPU, a process group."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import MagicMock, patch

import numpy
import torch
from torch.overrides import TorchFunctionMode

_KINDS = "Float Double Half BFloat16 Int Long Short Byte Char Bool".split()
_SPEAKING = "synchronize set_device init reset_peak_memory_stats".split()


class OnCpu(TorchFunctionMode):
    """What asks for a GPU is computed on the CPU, where there is none."""

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if torch.cuda.is_available():
            return func(*args, **(kwargs or {}))
        if func is torch.Tensor.cuda:
            return args[0]
        named = {name: _moved(value) for name, value in (kwargs or {}).items()}
        return func(*map(_moved, args), **named)


def _moved(value: object) -> object:
    asks = isinstance(value, str | torch.device) and str(value).partition(":")[0] == "cuda"
    return "cpu" if asks else value


def stand_in_for_gpu() -> None:
    """Where there is no GPU, what only speaks to one does nothing, and the types of its tensors are the CPU's."""
    if torch.cuda.is_available():
        return
    for owner, names in ((torch.cuda, _SPEAKING), (torch.cuda.nvtx, ("range_push", "range_pop", "mark"))):
        for name in names:
            setattr(owner, name, lambda *_, **__: None)
    stand_ins: dict[str, Any] = {"current_device": lambda: 0, "stream": lambda _: contextlib.nullcontext()}
    stand_ins |= dict.fromkeys(("Stream", "Event", "current_stream"), MagicMock)
    stand_ins |= {f"{kind}Tensor": getattr(torch, f"{kind}Tensor") for kind in _KINDS}
    for name, stand_in in stand_ins.items():
        setattr(torch.cuda, name, stand_in)


def stand_in_for_command_line() -> None:
    """Positional arguments and required options of a command line have a value where nobody gives them."""
    original = argparse.ArgumentParser.add_argument

    def add_argument(self: argparse.ArgumentParser, *names: str, **words: Any) -> argparse.Action:
        if names and not names[0].startswith("-") and words.get("nargs") in (None, 1):
            made = {int: 4, float: 0.5}.get(words.get("type", str), "a")
            words = {"default": next(iter(words.get("choices") or [made])), **words, "nargs": "?"}
        elif words.get("required"):
            words["required"] = False
        return original(self, *names, **words)

    patch.object(argparse.ArgumentParser, "add_argument", add_argument).start()


def stand_in_for_old_names() -> None:
    """What NumPy once had for Python's own types is there, as programs of its time expect."""
    for kind in (int, float, bool, object, str, complex):
        if kind.__name__ not in vars(numpy):
            setattr(numpy, kind.__name__, kind)


def supplied(message: str) -> bool:
    """Whether what an error message misses is there now, and was not before: a process group, of this process alone."""
    if "process group has not been initialized" not in message or torch.distributed.is_initialized():
        return False
    store = f"file://{tempfile.mkdtemp()}/store"
    torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    return True
