"""The names that an expression finds outside its program: torch, the standard library, numpy."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from functools import lru_cache

ALLOWED = frozenset({"torch", "math", "numpy", "cmath", "functools", "operator", "itertools", "einops"})


def _top_level(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in body:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield node
            case ast.Try(body=inner) | ast.If(body=inner) | ast.With(body=inner):
                yield from _top_level(inner)
            case ast.FunctionDef(body=inner) | ast.ClassDef(body=inner) | ast.AsyncFunctionDef(body=inner):
                yield from _top_level(inner)


def _constants(body: list[ast.stmt]) -> Iterator[tuple[str, object]]:
    for node in body:
        target, value = None, None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, node.value
        if isinstance(target, ast.Name) and value is not None:
            try:
                yield target.id, ast.literal_eval(value)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue


def _lookup(module: str, attribute: str | None) -> object | None:
    try:
        if attribute is None:
            return importlib.import_module(module)
        try:
            value: object = getattr(importlib.import_module(module), attribute)
        except AttributeError:
            return importlib.import_module(f"{module}.{attribute}")
    except ImportError:
        return None
    return value


@lru_cache(maxsize=64)
def _from_source(source: bytes) -> tuple[tuple[str, object], ...]:
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return ()
    found: dict[str, object] = dict(_constants(body))
    for node in _top_level(body):
        if isinstance(node, ast.ImportFrom):
            if node.level or not node.module or node.module.partition(".")[0] not in ALLOWED:
                continue
            for alias in node.names:
                value = None if alias.name == "*" else _lookup(node.module, alias.name)
                if value is not None:
                    found[alias.asname or alias.name] = value
            continue
        for alias in node.names:
            root = alias.name.partition(".")[0]
            if root not in ALLOWED:
                continue
            value = _lookup(alias.name, None)
            if value is not None:
                found[alias.asname or root] = value if alias.asname else _lookup(root, None)
    return tuple(found.items())


def namespace_of(source: bytes) -> dict[str, object]:
    """Names for replaying expressions of the module whose text is `source`.

    Holds `torch`, `F`, `nn` and `math`, the module's imports of well-known numerical packages under the names
    that it gives them, and its literal constants. Nothing of the module itself is executed.
    """
    import math

    import torch
    import torch.nn.functional

    base: dict[str, object] = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "math": math}
    return base | dict(_from_source(source))
