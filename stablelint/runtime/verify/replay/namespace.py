"""The names that an expression finds outside its program: torch, the standard library, numpy."""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Iterable, Iterator
from functools import lru_cache

import torch

ALLOWED = frozenset({"torch", "math", "numpy", "cmath", "functools", "operator", "itertools", "einops"})


def imported(tree: ast.AST) -> Iterator[tuple[str, str, ast.stmt]]:
    """The imports in a tree, by alias: the package, the name that is bound, and a statement for it alone."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    package = alias.name.partition(".")[0]
                    yield package, alias.asname or package, ast.fix_missing_locations(ast.Import([alias]))
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in (each for each in names if each.name != "*"):
                    alone = ast.fix_missing_locations(ast.ImportFrom(module, [alias], 0))
                    yield module.partition(".")[0], alias.asname or alias.name, alone


def run_imports(nodes: Iterable[ast.stmt], scope: dict[str, object]) -> None:
    """Execute import statements in a scope; those that raise are left out."""
    for node in nodes:
        with contextlib.suppress(Exception):  # what is imported may raise anything
            exec(compile(ast.Module([node], []), "<imports>", "exec"), scope)


def _constants(body: list[ast.stmt]) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                with contextlib.suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                    found[name] = ast.literal_eval(value)
    return found


@lru_cache(maxsize=64)
def _from_source(source: bytes) -> dict[str, object]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    found = _constants(tree.body)
    run_imports((alone for package, _, alone in imported(tree) if package in ALLOWED), found)
    found.pop("__builtins__", None)
    return found


def namespace_of(source: bytes) -> dict[str, object]:
    """Names for replaying expressions of the module whose text is `source`.

    Holds `torch`, `F`, `nn` and `math`, the module's imports of well-known numerical packages under the names
    that it gives them, and its literal constants. Nothing of the module itself is executed.
    """
    base: dict[str, object] = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "math": math}
    return base | _from_source(source)
