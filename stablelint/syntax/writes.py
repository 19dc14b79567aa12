"""What a piece of syntax writes into: a name, or an attribute of `self`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from stablelint.records import dataclass
from stablelint.syntax.names import base_name, called_name, spelled

HOOKS = frozenset({"register_forward_hook", "register_forward_pre_hook"})
"""Methods by which something else may take the place of what a module takes or yields."""
WRITING = frozenset({ast.Subscript, ast.Attribute, ast.AugAssign, ast.keyword, ast.Call})
"""The kinds of nodes that `written_name` knows."""
_CHANGING = frozenset("append extend insert pop popitem remove clear reverse sort update setdefault".split())


def is_of_self(node: ast.expr) -> bool:
    """Whether an expression is an attribute of `self`."""
    return type(node) is ast.Attribute and type(node.value) is ast.Name and node.value.id == "self"


def written_attribute(node: ast.expr) -> str:
    """The attribute of `self` into which a write to an expression goes: `self.x`, `self.x.data`, `self.x[0].view(-1)`."""
    while not is_of_self(node):
        if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr == "data"):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            return ""
    return node.attr  # type: ignore[attr-defined, no-any-return]


def written_name(node: Any) -> str:
    """The name of what a node writes into, or "": `x.relu_()`, `x[0] = 1`, `x += y`, `f(out=x)`, `x.append(y)`."""
    kind, into = type(node), None
    if kind is ast.Subscript or kind is ast.Attribute:
        into = node.value if type(node.ctx) is ast.Store else None
    elif kind is ast.AugAssign:
        into = node.target
    elif kind is ast.keyword and node.arg == "out":
        into = node.value
    elif kind is ast.Call and type(node.func) is ast.Name:
        into = node.args[0] if node.func.id in ("setattr", "delattr") and node.args else None
    elif kind is ast.Call and type(node.func) is ast.Attribute and is_in_place(node.func.attr):
        into = node.args[0] if node.args and ".init." in f".{spelled(node.func)}" else node.func.value
    return base_name(into) if into is not None else ""


def is_in_place(method: str) -> bool:
    """Whether a method changes a tensor, or a container."""
    return (method.endswith("_") and not method.endswith("__")) or method in _CHANGING


def names_written(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names of tensors or collections that nodes of a text may change in place."""
    return frozenset([written_name(n) for n in nodes if type(n) in WRITING]) - {""}


@dataclass(frozen=True, slots=True)
class Touched:
    """Attributes of `self` that a method assigns or changes in place, and those that it calls."""

    assigned: frozenset[str]
    called: frozenset[str]
    others: frozenset[str] = frozenset()  # attributes of other objects, or of the class, that it assigns
    any: bool = False  # it sets attributes of `self` whose names do not stand there


def touched(nodes: Iterable[ast.AST]) -> Touched:
    """What the nodes of a method do to `self`."""
    found: set[str] = set()
    called: set[str] = set()
    others: set[str] = set()
    anything = False
    for node in nodes:
        if type(node) is ast.Attribute or type(node) is ast.Subscript:
            anything = anything or getattr(node, "attr", "") == "__dict__"
            if type(node.ctx) is ast.Store:
                found.add(written_attribute(node))
                if type(node) is ast.Attribute and not is_of_self(node):
                    others.add(node.attr)
        elif type(node) is ast.Call and type(node.func) is ast.Name:
            anything = anything or sets_any(node)
        elif type(node) is ast.Call and type(node.func) is ast.Attribute:
            receiver = node.func.value
            if type(receiver) is ast.Name and receiver.id == "self":
                called.add(node.func.attr)
            if is_in_place(node.func.attr) or node.func.attr in HOOKS:
                found.add(written_attribute(receiver))
    return Touched(frozenset(found - {""}), frozenset(called), frozenset(others), anything)


def sets_any(call: ast.Call) -> bool:
    """Whether a call is `vars(self)`, or one of `setattr` that sets whatever attribute of `self` it is told to."""
    if called_name(call) not in ("vars", "setattr") or not call.args:
        return False
    named = len(call.args) > 1 and type(call.args[1]) is ast.Constant
    return type(call.args[0]) is ast.Name and call.args[0].id == "self" and not named
