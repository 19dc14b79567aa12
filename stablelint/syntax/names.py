"""Names in code: what imports bind and what that stands for, and the last component of what is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeGuard

from stablelint.syntax.remembered import remembered

LOOKUPS = frozenset({"globals", "locals", "vars", "dir", "eval", "exec"})
"""Builtins by which names are read by their texts."""


def imported_names(statement: ast.Import | ast.ImportFrom, package: str) -> Iterator[tuple[str, str]]:
    """Yields (local name, qualified name) for each name that an import binds.

    `package` is the dotted package that holds the file; relative imports resolve against it.
    """
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            if alias.asname:
                yield alias.asname, alias.name
            else:
                root = alias.name.partition(".")[0]
                yield root, root
        return
    base = imported_module(statement, package)
    for alias in statement.names:
        if alias.name != "*":
            yield alias.asname or alias.name, f"{base}.{alias.name}" if base else alias.name


def imported_module(statement: ast.ImportFrom, package: str) -> str:
    """The qualified name of the module from which a statement imports."""
    base = statement.module or ""
    if statement.level:
        parents = package.split(".") if package else []
        keep = len(parents) - (statement.level - 1)
        prefix = ".".join(parents[:keep]) if keep > 0 else ""
        base = f"{prefix}.{base}".strip(".")
    return base


@lru_cache(maxsize=4096)
def normalise(qualified_name: str) -> str:
    """One name for the places under which PyTorch publishes the same thing."""
    for old, new in _HOMES:
        if qualified_name.startswith(old):
            return new + qualified_name.removeprefix(old)
    return qualified_name


_HOMES = (
    ("torch.nn.modules.activation.", "torch.nn."),
    ("torch.nn.modules.loss.", "torch.nn."),
    ("torch.nn.modules.linear.", "torch.nn."),
    ("torch.nn.modules.container.", "torch.nn."),
    ("torch.nn.modules.module.", "torch.nn."),
    ("torch.nn.modules.", "torch.nn."),
    ("torch.Tensor.", "torch."),
    ("torch.functional.F.", "torch.nn.functional."),
)


def names_layer(qualified: str) -> bool:
    """Whether a full name is that of a class of torch's layers; `Module` is that of containers too."""
    return qualified.startswith("torch.nn.") and qualified.rpartition(".")[2] != "Module"


def last_name(node: ast.expr) -> str:
    """The last component of a dotted expression; "" where a call or something else stands."""
    if type(node) is ast.Attribute:
        return node.attr
    return node.id if type(node) is ast.Name else ""


def name_of(node: ast.AST | None) -> str:
    """The name that a node is; "" for anything else."""
    return node.id if isinstance(node, ast.Name) else ""


def is_name(node: ast.AST | None, name: str) -> TypeGuard[ast.Name]:
    """Whether a node is a name, wherever it is read or bound."""
    return isinstance(node, ast.Name) and node.id == name


def listed(node: ast.expr) -> list[ast.expr]:
    """The elements of a tuple or list that is written out; else the expression alone."""
    return node.elts if isinstance(node, ast.Tuple | ast.List) else [node]


def bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a node itself binds, or takes away; what stands within it is not looked at."""
    if isinstance(node, ast.Name):
        yield from () if isinstance(node.ctx, ast.Load) else (node.id,)
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, _NAMED) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)


def names_in(tree: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """The names anywhere in a tree; of a `context`, those that it reads or writes."""
    named = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in named if isinstance(node.ctx, context)}


def base_name(node: ast.AST) -> str:
    """The name from which an expression reads its value, by attributes, items and calls of methods; "" for none."""
    while isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.AST) -> str:
    """The text of a dotted name; "" for anything else."""
    parts: list[str] = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if type(node) is ast.Name else ""


def spelled(node: ast.AST) -> str:
    """The text of an expression, as `ast.unparse` has it, which is asked once for each."""
    return dotted(node) or _unparsed(node)


_unparsed = remembered(ast.unparse)


def called_name(node: ast.expr) -> str:
    """The last component of what is called, or named."""
    return last_name(node.func if isinstance(node, ast.Call) else node)


def is_literal(node: ast.expr) -> bool:
    """Whether the value of an expression stands in its text."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return True


def shortened(text: str) -> str:
    """The text of an expression on one line, for a message."""
    text = " ".join(text.split())
    return text if len(text) <= 40 else f"{text[:37]}..."
