"""The functions of a file run other code, in one thread; in all others they run what they always did."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from stablelint.runtime.program.frames import codes_in, compile_calmly, running

_PLACEHOLDER = "stablelint calls here"


@contextmanager
def functions_swapped(functions: Iterable[FunctionType], module: CodeType) -> Iterator[None]:
    """Until the end of the context the functions run their namesakes of `module` in this thread."""
    pairs = list(counterparts(functions, module))
    held = [(function, function.__code__) for function, _ in pairs]
    for function, code in pairs:
        function.__code__ = _parting(function, code)
    try:
        yield
    finally:
        for function, old in held:
            function.__code__ = old


def counterparts(
    functions: Iterable[FunctionType], module: CodeType
) -> Iterator[tuple[FunctionType, CodeType]]:
    """The functions that have one namesake in `module`, and its code."""
    fixed = _codes_by_name(module)
    for function in functions:
        code = fixed.get(function.__code__.co_qualname)
        if code is not None and code.co_freevars == function.__code__.co_freevars:
            yield function, code


def functions_of(filename: str, scopes: Iterable[object]) -> list[FunctionType]:
    """The functions that were made from a file, as far as names of its modules and of `scopes` lead to them."""
    # Every object that the collector knows would be quicker asked, but holding one that another thread is just
    # making breaks that thread.
    found: dict[int, FunctionType] = {}
    seen: set[int] = set()
    pending: list[object] = [*scopes]
    wanted, ending = os.path.abspath(filename), os.path.basename(filename)
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None) if isinstance(module, ModuleType) else None
        if isinstance(path, str) and path.endswith(ending) and os.path.abspath(path) == wanted:
            pending.append(vars(module))
    while pending:
        item = pending.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, FunctionType):
            if item.__code__.co_filename == filename:
                found[id(item)] = item
            cells = item.__closure__ or ()
            pending.extend(contents_of(cell) for cell in cells)
            pending.append(getattr(item, "__wrapped__", None))
        else:
            pending.extend(_parts(item, filename))
    return list(found.values())


def _parts(item: object, filename: str) -> Iterable[object]:
    """Where functions may be found within a thing that is named."""
    if isinstance(item, dict):
        return list(item.values())
    if isinstance(item, MethodType | staticmethod | classmethod):
        return [item.__func__, getattr(item, "__self__", None)]
    if isinstance(item, property):
        return [item.fget, item.fset]
    if isinstance(item, functools.partial):
        return [item.func]
    if isinstance(item, torch.nn.Module):
        return [type(one) for one in item.modules()]
    if isinstance(item, type):
        of_file = getattr(sys.modules.get(item.__module__), "__file__", filename)
        return [*list(vars(item).values()), *item.__bases__] if of_file is not None else []
    return [type(item)] if type(item).__flags__ & _HEAP_TYPE else []


_HEAP_TYPE = 1 << 9  # a class made by a `class` statement


def contents_of(cell: Any) -> object:
    """What a cell of a closure holds; None for one that is empty as yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _parting(function: FunctionType, code: CodeType) -> CodeType:
    """Code for `function` that runs `code` in this thread, and in others what the function runs now."""
    thread = threading.get_ident()
    mine, theirs = (running(function, one) for one in (code, function.__code__))

    def choose(*args: Any, **kwargs: Any) -> Any:
        return (mine if threading.get_ident() == thread else theirs)(*args, **kwargs)

    free = function.__code__.co_freevars
    lines = [
        "def outer():",
        *(f"    {name} = None" for name in free),
        "    def inner(*args, **kwargs):",
        *(f"        {name}" for name in free),
        f"        choose = {_PLACEHOLDER!r}",
        "        return choose(*args, **kwargs)",
    ]
    outer = compile_calmly("\n".join(lines), "<stablelint>")
    inner = next(one for one in codes_in(outer) if one.co_name == "inner")
    constants: tuple[object, ...] = tuple(choose if one == _PLACEHOLDER else one for one in inner.co_consts)
    return inner.replace(co_consts=constants, co_qualname=function.__code__.co_qualname)


def _codes_by_name(module: CodeType) -> dict[str, CodeType]:
    """Code objects by qualified name; names borne by more than one (lambdas) are left out."""
    found: dict[str, list[CodeType]] = {}
    for code in codes_in(module):
        found.setdefault(code.co_qualname, []).append(code)
    return {name: codes[0] for name, codes in found.items() if len(codes) == 1}
