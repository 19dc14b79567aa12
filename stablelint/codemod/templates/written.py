"""Rewrites of what writes into a tensor: in-place methods and ``inplace=True``.

Expressions are the template's, with metavariables as placeholders.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from stablelint.codemod.flow.nodes import root_name
from stablelint.codemod.templates import forms
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.withheld import Withheld
from stablelint.syntax import operations
from stablelint.syntax.names import last_name
from stablelint.syntax.operations import having
from stablelint.syntax.writes import is_in_place

# In-place methods that may stand between an operand and the in-place operation on it.
_IN_PLACE = frozenset("clamp clamp_min clamp_max clip abs add sub mul div masked_fill nan_to_num".split())
# Operations whose result may share the memory of their operand.
_SHARES = having("alias", "may-alias") | {"item", "tolist"}


def writer_of(tree: Tree, node: ast.expr, is_module: Callable[[str], bool]) -> str | None:
    """The operation that writes into `node` where others see it: into ``x`` in ``x.log_()``, for one.

    `is_module` tells whether a name is imported: only the first argument of such a function is written into.
    """
    if is_new(node, is_module):
        return None
    link = tree.link(node)
    if isinstance(link.parent, ast.Attribute) and isinstance(tree.link(link.parent).parent, ast.Call):
        return link.parent.attr if is_in_place(link.parent.attr) else None
    if not isinstance(link.parent, ast.Call) or link.field != "args" or link.index != 0:
        return None
    name, root = _called(link.parent.func)
    trailing = name.endswith("_") and not name.startswith("_") and is_module(root)
    return name if trailing or _asks(link.parent, "inplace") else None


def is_new(node: ast.expr, is_module: Callable[[str], bool]) -> bool:
    """Whether an expression gives a tensor that nothing else refers to."""
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Constant):
        return True
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    name, root = _called(node.func)
    known = operations.method(name)
    if known is None or known[1] or _asks(node, "inplace") or _asks(node, "out"):
        return False
    owner = node.args[0] if is_module(root) and node.args else node.func.value
    if known[0].name not in _SHARES:
        # A method of the class, of any meaning.
        return not (isinstance(owner, ast.Name) and owner.id == "self")
    return is_new(owner, is_module)


def _called(function: ast.expr) -> tuple[str, str]:
    """The last name of what is called, and its first."""
    return last_name(function), root_name(function)


def _asks(call: ast.Call, keyword: str) -> bool:
    return any(
        item.arg == keyword and not (isinstance(item.value, ast.Constant) and not item.value.value)
        for item in call.keywords
    )


def in_place(expression: ast.expr, method: str, receiver: str) -> ast.expr:
    """The rewrite of ``receiver.method()`` (`method` ends with an underscore) that still writes into it.

    `receiver` is a placeholder. Withheld where no chain of in-place methods says it.
    """
    if (
        isinstance(expression, ast.Call)
        and isinstance(expression.func, ast.Attribute)
        and f"{expression.func.attr}_" == method
    ):
        inner = expression.func.value
        if forms.identifier(inner) == receiver:
            return _with_method(expression, inner, method)
        chain = _in_place_chain(inner, receiver)
        if chain is not None:
            return _with_method(expression, chain, method)
    raise Withheld(f"`{method}` works in place, and the rewrite has no such form")


def as_written_into(expression: ast.expr, receiver: str, writer: str) -> ast.expr:
    """The rewrite of an operand that `writer` writes into: in-place methods on it, or Withheld."""
    chain = _in_place_chain(expression, receiver)
    if chain is None:
        raise Withheld(f"`{writer}` writes into its operand")
    return chain


def _in_place_chain(node: ast.expr, receiver: str) -> ast.Call | None:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    if forms.identifier(node.func.value) != receiver or node.func.attr not in _IN_PLACE:
        return None
    return _with_method(node, node.func.value, f"{node.func.attr}_")


def _with_method(call: ast.Call, receiver: ast.expr, method: str) -> ast.Call:
    return ast.Call(ast.Attribute(receiver, method, ast.Load()), call.args, call.keywords)
