"""Modules that are not installed: stand-ins, so that what does not need them can be loaded and called."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType

import torch


class AbsentError(RuntimeError):
    """Something of a module that is not installed was needed after all."""


class _Kind(type(torch.nn.Module)):  # type: ignore[misc]
    def __getattr__(cls, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _absent(f"{cls.__name__}.{name}")


def _absent(name: str) -> type:
    """A class that can be a base, a decorator, an annotation; to make an object of it itself is an error."""

    def new(cls: type, *arguments: object, **named: object) -> object:
        if getattr(cls, "_stablelint_absent", None) == cls.__name__:
            if len(arguments) == 1 and not named and callable(arguments[0]):
                return arguments[0]  # it decorates
            raise AbsentError(f"{name} is not installed")
        return object.__new__(cls)

    short = name.rpartition(".")[2]
    return _Kind(short, (torch.nn.Module,), {"__new__": new, "_stablelint_absent": short, "__module__": name})


class _Absent(ModuleType):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _absent(f"{self.__name__}.{name}")


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
        if not os.path.realpath(_importer()).startswith(self._root):
            return None  # a package that does without it
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to execute."""


def _importer() -> str:
    """The file whose import is under way."""
    frame = sys._getframe(2)
    while frame.f_back is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame.f_code.co_filename


def stand_in_for_absent(own: frozenset[str], root: str) -> None:
    """From now on an import of what is not installed gives a stand-in to the files below `root`.

    `own` are packages that are never one.
    """
    sys.meta_path.append(_Finder(own, root))
