"""Where the running operation is written: the innermost expression of the user's, and the module that is called."""

from __future__ import annotations

import ast
import multiprocessing
import os
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch.nn.modules import module as torch_module

from stablelint.diagnostic import Span
from stablelint.runtime.program.frames import Site, is_library, parse_file, resolve
from stablelint.runtime.program.location import Location
from stablelint.runtime.tracing.nodes import ModuleNames, Nodes

_LONGEST_TEXT = 300
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_TRANSPORT = os.path.dirname(multiprocessing.__file__) + os.sep
_ENGINE = str(torch.autograd.graph.__file__)
NOWHERE = Location("", 0, None, "", "")


# Whose code a frame runs: torch's or this package's, the call of the autograd engine, what carries objects between
# processes, the standard library's, the user's.
_LIBRARY, _IN_ENGINE, _CARRIER, _STANDARD_LIBRARY, _USER = range(5)


class Here(NamedTuple):
    """A place and the path of the module that is called there; `sent` for what another process sent."""

    place: Location
    module: str
    sent: bool = False


class Whereabouts:
    """Tells operations their place, and remembers where every autograd node was made."""

    def __init__(self) -> None:
        self._active: list[str] = []
        self._names = ModuleNames()
        self.nodes = Nodes(self.here)
        self._resolved: dict[tuple[int, int], tuple[CodeType, Location]] = {}

    def follow(
        self, on_result: Callable[[str, torch.nn.Module, Any], None] | None = None
    ) -> Callable[[], None]:
        """Follow every module call from now on, and tell `on_result` of what it gave; what is returned ends it."""

        def left(module: torch.nn.Module, _: Any, result: Any) -> None:
            if on_result is not None and self._active:
                on_result(self._active[-1], module, result)
            if self._active:
                self._active.pop()

        handles = (
            torch_module.register_module_forward_pre_hook(
                lambda module, _: self._active.append(self._names.of(module))
            ),
            torch_module.register_module_forward_hook(left, always_call=True),
        )

        def stop() -> None:
            for handle in handles:
                handle.remove()

        return stop

    def here(self) -> tuple[Here, bool]:
        """The present place, and whether the engine runs it without code of the user's in between."""
        frame: FrameType | None = sys._getframe(1)
        standard: FrameType | None = None
        in_engine = sent = False
        while frame is not None:
            kind = _kind_of(frame.f_code.co_filename)
            if kind == _USER:
                break
            if kind == _IN_ENGINE:
                in_engine = True
            elif kind != _LIBRARY and standard is None:
                standard, sent = frame, kind == _CARRIER
            frame = frame.f_back
        frame = frame or standard
        place = self.resolved(frame.f_code, frame.f_lasti) if frame is not None else NOWHERE
        return Here(place, self._active[-1] if self._active else "", sent), in_engine

    def resolved(self, code: CodeType, offset: int) -> Location:
        """The expression that an instruction belongs to."""
        key = id(code), offset
        if key not in self._resolved:
            self._resolved[key] = code, _place_of(resolve(Site(code, offset)))
        return self._resolved[key][1]


@lru_cache(maxsize=4096)
def _kind_of(filename: str) -> int:
    if filename == _ENGINE:
        return _IN_ENGINE
    if is_library(filename):
        return _LIBRARY
    if filename.startswith(_TRANSPORT):
        return _CARRIER
    return _STANDARD_LIBRARY if filename.startswith(_STANDARD) and "site-packages" not in filename else _USER


def _place_of(found: Location) -> Location:
    if found.span is not None and found.span.end.row > found.span.start.row:
        found = _header(found, found.span)
    return replace(found, expression=" ".join(found.expression.split())[:_LONGEST_TEXT])


def _header(found: Location, span: Span) -> Location:
    """Of a loop, which is one instruction to the interpreter, what it iterates over; anything else as it is."""
    tree = parse_file(found.filename)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.For) and (node.lineno, node.end_lineno) == (span.start.row, span.end.row):
            return Location.of(node.iter, found.filename, found.function)
    return found
