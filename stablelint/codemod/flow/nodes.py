"""Small questions about a node, asked all over the rewrites."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from stablelint.syntax.names import LOOKUPS, called_name, is_name
from stablelint.syntax.operations import having
from stablelint.syntax.remembered import remembered
from stablelint.syntax.walk import descendants

OF_SHAPE = having("size") | {"dim", "ndim", "device", "dtype"}
_SAME = having("layout", "copy", "cast", "device", "alias", "bound", "pick")
VIEWS = ("squeeze", "unsqueeze", "expand", "expand_as", "view", "view_as", "reshape", "flatten")


def root(node: ast.AST) -> ast.AST:
    """What a chain of attributes begins with: ``torch`` of ``torch.nn.functional.log_softmax``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def root_name(node: ast.AST) -> str:
    """The name that a chain of attributes begins with, or the empty text."""
    return getattr(root(node), "id", "")


def unsigned(node: ast.expr) -> ast.expr:
    """An expression without the sign in front of it."""
    return node.operand if isinstance(node, ast.UnaryOp) else node


def viewed(node: ast.expr) -> ast.expr:
    """What an expression is a view of: ``x`` of ``x.unsqueeze(1)`` and ``x[:, None]``."""
    while True:
        if isinstance(node, ast.Subscript) and _adds_dimensions(node.slice):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEWS:
            if root_name(node.func) == "torch":
                return node
            node = node.func.value
        else:
            return node


def _adds_dimensions(index: ast.expr) -> bool:
    """Whether an index takes all elements, as ``[:, None]`` does."""
    return all(
        ast.unparse(one) in (":", "None", "...")
        for one in (index.elts if isinstance(index, ast.Tuple) else [index])
    )


def whole(node: ast.expr) -> ast.expr:
    """What a value is a part, a cast or a bound of."""
    match node:
        case ast.Subscript(slice=ast.Constant(value=str())):
            return node
        case ast.Subscript(value=inner):
            return whole(inner)
        case ast.Call(func=ast.Attribute(attr=name) as function, args=args) if name in _SAME:
            return whole(args[0] if root_name(function) == "torch" and args else function.value)
    return node


def power_of(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The base and the exponent of a power."""
    match node:
        case (
            ast.BinOp(left=base, op=ast.Pow(), right=exponent)
            | ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="pow"), args=[base, exponent])
            | ast.Call(func=ast.Attribute(value=base, attr="pow"), args=[exponent])
        ):
            return base, exponent
    return None


def title(node: ast.expr) -> str:
    """What a value, or that of which it is a part, is called: its name, its key, or what gives it."""
    named = whole(node)
    key = named.slice if isinstance(named, ast.Subscript) else None
    return str(key.value) if isinstance(key, ast.Constant) else called_name(named)


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a number, with a sign or without."""
    inner = unsigned(node)
    return isinstance(inner, ast.Constant) and isinstance(inner.value, int | float)


def is_sum(node: ast.AST) -> TypeGuard[ast.BinOp]:
    """Whether a node adds two others, or takes one from the other."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def is_product(node: ast.AST | None) -> TypeGuard[ast.BinOp]:
    """Whether a node multiplies two others."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def calls(node: ast.AST | None, *names: str) -> TypeGuard[ast.Call]:
    """Whether a node is a call of one of these functions or methods."""
    return isinstance(node, ast.Call) and called_name(node) in names


@remembered
def loads(node: ast.AST) -> tuple[ast.Name, ...]:
    """Every name that is read in a node."""
    named = (one for one in descendants(node) if isinstance(one, ast.Name))
    return tuple(one for one in named if isinstance(one.ctx, ast.Load))


def readers(node: ast.AST, name: str) -> Iterator[ast.Name]:
    """Every place in a node that reads a name."""
    return iter(_readers(node).get(name, ()))


@remembered
def _readers(node: ast.AST) -> dict[str, list[ast.Name]]:
    found: dict[str, list[ast.Name]] = {}
    for one in loads(node):
        found.setdefault(one.id, []).append(one)
    return found


def stores(node: ast.AST, name: str) -> list[ast.Name]:
    """Every place in a node that binds a name, or takes it away."""
    return [one for one in descendants(node) if is_name(one, name) and not isinstance(one.ctx, ast.Load)]


def looks_names_up(function: ast.AST) -> bool:
    """Whether a function may read its names by their text: ``locals()``, ``eval(text)``."""
    return not LOOKUPS.isdisjoint(_readers(function))
