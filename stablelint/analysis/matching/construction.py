"""Where the options of a call are set: in the call, or where the object that is called was made."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.matching.sites import Site, encloses
from stablelint.syntax import operations
from stablelint.syntax.walk import descendants


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
    made = [value for scope in _scopes(function, call, site, module) for value in _assigned(function, scope)]
    if not made:
        return call if _is_operation(function) else None
    return made[0] if len(made) == 1 and isinstance(made[0], ast.Call) else None


def _is_operation(function: ast.Name | ast.Attribute) -> bool:
    """Whether the name is an operation's own, and not that of something which an object keeps."""
    if (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "self"
    ):
        return False
    name = function.attr if isinstance(function, ast.Attribute) else function.id
    return operations.canonical(name) is not None or operations.method(name) is not None


def _scopes(
    function: ast.Name | ast.Attribute, call: ast.Call, site: Site, module: ModuleInfo
) -> Iterator[ast.AST]:
    if isinstance(function, ast.Attribute):
        for node in descendants(module.source.tree):
            if isinstance(node, ast.ClassDef) and encloses(node, call):
                yield node
        return
    own = site.frame.function
    local = own is not None and any(True for _ in _assigned(function, own.node))
    yield own.node if own is not None and local else module.source.tree


def _assigned(target: ast.Name | ast.Attribute, scope: ast.AST) -> Iterator[ast.expr]:
    """The values that are assigned to the name or attribute within a scope."""
    text = ast.unparse(target)
    for node in descendants(scope):
        if isinstance(node, ast.Assign):
            if any(ast.unparse(one) == text for one in node.targets):
                yield node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None and ast.unparse(node.target) == text:
            yield node.value
