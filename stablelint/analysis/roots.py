"""Which functions of a file are analysed, in which order, and with which arguments.

Callers come before the functions they call, so that a function whose call sites are all in the file is analysed
with what they pass.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from stablelint.analysis.modules import ClassInfo, FunctionInfo, ModuleInfo, class_of
from stablelint.syntax.sieve import is_risky, loss_names


@dataclass(slots=True, eq=False)
class Root:
    """A function to analyse for its own sake."""

    function: FunctionInfo
    local: bool = False  # all call sites are in this file
    references: int = 0
    callees: set[str] = field(default_factory=set)


def roots_of(module: ModuleInfo) -> list[Root]:
    """The functions of a file that hold a risky operation, callers first."""
    found: list[Root] = []
    _collect(module.source.tree.body, None, module, found)
    uses = _references(module.source.tree)
    names: dict[str, list[Root]] = {}
    for root in found:
        names.setdefault(root.function.name, []).append(root)
        root.references = uses.get(root.function.name, 0)
        root.callees = _called_names(root.function.node)
        root.local = _is_local(root.function, module) and not root.function.has_decorator("property", "register_kl")
    ordered: list[Root] = []
    _callers_first(found, names, ordered)
    losses = loss_names(module.source.tree)
    return [root for root in ordered if is_risky(root.function.node, losses) or root.callees & names.keys()]


def _is_local(function: FunctionInfo, module: ModuleInfo) -> bool:
    private = function.name.startswith("_") and not function.name.startswith("__")
    return private or (module.is_script and function.owner is None)


def _collect(body: list[ast.stmt], owner: ClassInfo | None, module: ModuleInfo, found: list[Root]) -> None:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            known = owner.methods.get(statement.name) if owner else module.functions.get(statement.name)
            if known is None or known.node is not statement:
                known = FunctionInfo(statement, module, owner)
            found.append(Root(known))
        elif isinstance(statement, ast.ClassDef):
            info = module.classes.get(statement.name) if owner is None else None
            if info is None or info.node is not statement:
                info = class_of(statement, module)
            _collect(statement.body, info, module, found)
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            _collect(statement.body, owner, module, found)
            for handler in getattr(statement, "handlers", ()):
                _collect(handler.body, owner, module, found)
            _collect(getattr(statement, "orelse", []), owner, module, found)


def _references(tree: ast.AST) -> dict[str, int]:
    uses: dict[str, int] = {}
    for node in ast.walk(tree):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
        if name is not None and isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
            uses[name] = uses.get(name, 0) + 1
    return uses


def _called_names(function: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            names.add(node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", ""))
    return names


def _callers_first(found: list[Root], names: dict[str, list[Root]], ordered: list[Root]) -> None:
    """Depth-first post-order over the call graph, reversed."""
    seen: set[int] = set()
    post: list[Root] = []
    for start in found:
        stack: list[tuple[Root, bool]] = [(start, False)]
        while stack:
            root, expanded = stack.pop()
            if expanded:
                post.append(root)
                continue
            if id(root) in seen:
                continue
            seen.add(id(root))
            stack.append((root, True))
            for name in sorted(root.callees & names.keys()):
                stack.extend((callee, False) for callee in names[name] if id(callee) not in seen)
    ordered.extend(reversed(post))
