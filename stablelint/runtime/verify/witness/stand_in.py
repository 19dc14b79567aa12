"""Stand-ins for what a program takes for granted and this machine lacks: modules, a GPU, a process group.

What does not need the real ones can be loaded and called.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
from abc import ABCMeta
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock, patch

import numpy
import torch
from torch.overrides import TorchFunctionMode

_MARK = "_stablelint_absent"


class AbsentError(RuntimeError):
    """Something of a module that is not installed was needed after all."""


class _Kind(ABCMeta):
    def __getattr__(cls, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{cls.__module__}.{name}")

    def __getitem__(cls, _: object) -> object:
        return cls  # in an annotation

    def __iter__(cls) -> Iterator[object]:
        return iter(())

    def __len__(cls) -> int:
        return 0

    def __bool__(cls) -> bool:
        return True


def absent(name: str) -> type:
    """A class that can be a base, a decorator, an annotation; its objects can be held, and nothing computed of them.

    They hold what they were given to go through, as a progress bar does, or else nothing.
    """
    short = name.rpartition(".")[2]

    def new(cls: type, *arguments: object, **named: object) -> Any:
        return answer(arguments, named) if cls is kind else object.__new__(cls)

    def answer(arguments: tuple[object, ...], named: dict[str, object]) -> object:
        decorated = len(arguments) == 1 and not named and callable(arguments[0])
        if decorated and not isinstance(arguments[0], _Kind):
            return arguments[0]
        if any(isinstance(value, torch.Tensor) for value in (*arguments, *named.values())):
            raise AbsentError(f"{name} is not installed")
        held: torch.nn.Module = object.__new__(kind)
        torch.nn.Module.__init__(held)
        several = (one for one in arguments if hasattr(one, "__iter__") and not isinstance(one, str))
        vars(held)["_stablelint_given"] = next(several, ())
        return held

    def call(self: Any, *arguments: object, **named: object) -> object:
        if type(self) is kind:
            return answer(arguments, named)
        return torch.nn.Module.__call__(self, *arguments, **named)

    def attribute(self: Any, wanted: str) -> object:
        if type(self) is kind and not wanted.startswith("__"):
            return absent(f"{name}.{wanted}")
        return torch.nn.Module.__getattr__(self, wanted)

    def start(self: Any, *_: object, **__: object) -> None:
        torch.nn.Module.__init__(self)

    body = {"__new__": new, "__init__": start, "__call__": call, "__getattr__": attribute}
    body |= {"__enter__": lambda self: self, "__exit__": lambda *_: None, "__getitem__": lambda self, _: self}
    body |= {"__bool__": lambda self: True, "__iter__": lambda self: iter(vars(self)["_stablelint_given"])}
    body |= {"__len__": lambda self: len(vars(self)["_stablelint_given"])}
    kind: type = _Kind(short, (torch.nn.Module,), {**body, "__module__": name, _MARK: True})
    return kind


class _Absent(ModuleType):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []
        self.__version__ = "0.0.0"

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{self.__name__}.{name}")


def is_absent(value: object) -> bool:
    """Whether a value stands in for something that is not installed."""
    kind = value if isinstance(value, type) else type(value)
    return isinstance(value, _Absent) or _MARK in vars(kind)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what nobody else found where a file of the project imports it, but for the project's own packages."""

    def __init__(self, own: frozenset[str], root: str) -> None:
        self._own, self._root = own, os.path.join(os.path.realpath(root), "")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top = fullname.partition(".")[0]
        if top in self._own or top == "stablelint" or top in sys.stdlib_module_names:
            return None
        parent = sys.modules.get(fullname.rpartition(".")[0])
        if "." in fullname and not isinstance(parent, _Absent):
            return None
        name, row = _importer()
        if not os.path.realpath(name).startswith(self._root) or row in _provided_for(name):
            return None  # what imports it does without it
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to execute."""


def _importer() -> tuple[str, int]:
    """The file whose import is under way, and the row where it stands."""
    frame = sys._getframe(2)
    while frame.f_back is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


@cache
def _provided_for(name: str) -> frozenset[int]:
    """The rows of a file in which a `try` says what to do where an import fails, and does not raise again."""
    with open(name, "rb") as file:
        tree = ast.parse(file.read())
    return frozenset(
        row
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and any(map(_provides, node.handlers))
        for part in node.body
        for row in range(part.lineno, (part.end_lineno or part.lineno) + 1)
    )


def _provides(handler: ast.ExceptHandler) -> bool:
    catches = handler.type is None or any(
        word in ast.unparse(handler.type) for word in ("ImportError", "ModuleNotFoundError", "Exception")
    )
    return catches and not any(isinstance(node, ast.Raise) for node in ast.walk(handler))


def stand_in_for_absent(own: frozenset[str], root: str) -> None:
    """From now on an import of what is not installed gives a stand-in to the files below `root`.

    `own` are packages that are never one.
    """
    sys.meta_path.append(_Finder(own, root))


_KINDS = "Float Double Half BFloat16 Int Long Short Byte Char Bool".split()
_SCRIPTING = "script script_method script_if_tracing".split()
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


def stand_in_for_tensorboard() -> None:
    """Torch has a module for it, which cannot be loaded without the package."""
    if importlib.util.find_spec("tensorboard") is None:
        name = "torch.utils.tensorboard"
        sys.modules[name] = torch.utils.tensorboard = _Absent(name)


def stand_in_for_compilers() -> None:
    """What a program has compiled stays Python: it can be called as it is written, and watched."""
    stand_ins: dict[str, Any] = {name: lambda made, *_, **__: made for name in _SCRIPTING}
    for name, stand_in in stand_ins.items():
        setattr(torch.jit, name, stand_in)
    setattr(torch, "compile", lambda made=None, **_: made or (lambda each: each))  # noqa: B010


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


def stand_in_for_all() -> None:
    """All of the above but for modules."""
    stand_in_for_gpu()
    stand_in_for_tensorboard()
    stand_in_for_compilers()
    stand_in_for_command_line()
    stand_in_for_old_names()


def supplied(message: str) -> bool:
    """Whether what an error message misses is there now, and was not before: a process group, of this process alone."""
    if "process group has not been initialized" not in message or torch.distributed.is_initialized():
        return False
    store = f"file://{tempfile.mkdtemp()}/store"
    torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    return True
