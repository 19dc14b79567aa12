"""What writes into a tensor where others see it: in-place methods and ``inplace=True``."""

from __future__ import annotations

import ast
from collections.abc import Callable

from stablelint.codemod.flow.nodes import root_name
from stablelint.codemod.text.locate import Tree
from stablelint.syntax import operations
from stablelint.syntax.names import is_name, last_name
from stablelint.syntax.operations import having
from stablelint.syntax.writes import is_in_place

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
        return not (is_name(owner, "self"))
    return is_new(owner, is_module)


def _called(function: ast.expr) -> tuple[str, str]:
    """The last name of what is called, and its first."""
    return last_name(function), root_name(function)


def _asks(call: ast.Call, keyword: str) -> bool:
    return any(
        item.arg == keyword and not (isinstance(item.value, ast.Constant) and not item.value.value)
        for item in call.keywords
    )
