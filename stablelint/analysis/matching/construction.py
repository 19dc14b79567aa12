"""Where the options of a call are set: in the call, or where the object that is called was made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeVar

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.matching.sites import Site, encloses
from stablelint.analysis.values.value import Value
from stablelint.syntax import operations
from stablelint.syntax.names import called_name, last_name
from stablelint.syntax.walk import descendants, nodes_below
from stablelint.syntax.writes import is_of_self

_Node = TypeVar("_Node", bound=ast.AST)


def construction(site: Site, module: ModuleInfo) -> ast.Call | None:
    """The call that takes the options of the operation at the site.

    For ``F.ctc_loss(...)`` that is the call itself; for ``self.loss(...)`` it is ``nn.CTCLoss(...)``, the one
    assignment to that attribute in the class. None where it is not in the file, or not the only one.
    """
    call = site.value.node
    if not isinstance(call, ast.Call):
        return None
    function = call.func
    if isinstance(function, ast.Call):
        return function  # nn.CTCLoss()(...)
    if not isinstance(function, ast.Name | ast.Attribute):
        return None
    made = _made(function, call, site, module)
    if not made:
        return call if site.rule.matcher or _is_operation(function) else None
    return made[0] if len(made) == 1 and isinstance(made[0], ast.Call) else None


def place_in_chain(layer: Value, module: ModuleInfo) -> ast.expr | ast.stmt | None:
    """What puts a layer into an `nn.Sequential`: its argument or list element, or the statement that appends it.

    None where the layer is not made in the file, or apart from the sequence.
    """
    made = layer.node
    if layer.module is not module or not isinstance(made, ast.expr):
        return None
    for node in _nodes(module, ast.List, ast.Call):
        if isinstance(node, ast.List) and made in node.elts:
            return made
        if isinstance(node, ast.Call) and made in node.args:
            return made if called_name(node) == "Sequential" else _appending(node, module)
    return None


def _appending(call: ast.Call, module: ModuleInfo) -> ast.stmt | None:
    if called_name(call) not in ("append", "add_module"):
        return None
    statements = _nodes(module, ast.Expr)
    return next((one for one in statements if one.value is call), None)


def _nodes(module: ModuleInfo, *kinds: type[_Node]) -> Iterator[_Node]:
    """The nodes of these kinds in a file; of an imported one, of which no tree is kept, those of its functions."""
    known = [*module.functions.values()]
    known += [method for one in module.classes.values() for method in one.methods.values()]
    roots = [module.source.tree] if module.source.tree.body else [one.node for one in known]
    return (node for root in roots for node in nodes_below(root, *kinds))


def _is_operation(function: ast.Name | ast.Attribute) -> bool:
    """Whether the name is an operation's own, and not that of something which an object keeps."""
    name = last_name(function)
    known = operations.canonical(name) is not None or operations.method(name) is not None
    return known and not is_of_self(function)


def _made(
    function: ast.Name | ast.Attribute, call: ast.Call, site: Site, module: ModuleInfo
) -> list[ast.expr]:
    """What is assigned to a name, or in the class around the call to an attribute."""
    if isinstance(function, ast.Attribute):
        around = nodes_below(module.source.tree, ast.ClassDef)
        return [value for one in around if encloses(one, call) for value in _assigned(function, one)]
    own = site.frame.function
    local = list(_assigned(function, own.node)) if own is not None else []
    return local or module.assignments.get(function.id, [])


def _assigned(target: ast.Name | ast.Attribute, scope: ast.AST) -> Iterator[ast.expr]:
    """The values that are assigned to the name or attribute within a scope."""
    text = ast.unparse(target)
    for node in descendants(scope):
        if isinstance(node, ast.Assign):
            if any(ast.unparse(one) == text for one in node.targets):
                yield node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None and ast.unparse(node.target) == text:
            yield node.value
