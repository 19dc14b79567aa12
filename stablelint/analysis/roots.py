"""Which functions of a file are analysed, in which order, and with which arguments.

Callers come before the functions they call, so that a function whose call sites are all in the file is analysed
with what they pass.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from stablelint.analysis.modules import ClassInfo, FunctionInfo, ModuleInfo, class_of
from stablelint.syntax.sieve import aliases, imported_aliases, is_risky
from stablelint.syntax.walk import descendants


@dataclass(slots=True, eq=False)
class Root:
    """A function to analyse for its own sake."""

    function: FunctionInfo
    local: bool = False  # all call sites are in this file
    references: int = 0
    callees: set[str] = field(default_factory=set)
    nested: list[ast.FunctionDef] = field(default_factory=list)  # functions defined within it
    risky: bool = False


def roots_of(module: ModuleInfo) -> list[Root]:
    """The functions of a file that hold a risky operation, and those that pass values to one, callers first."""
    found: list[Root] = []
    _collect(module.source.tree.body, None, module, found)
    nodes = descendants(module.source.tree)
    uses = _references(nodes)
    risky = aliases(nodes) | imported_aliases(module.imports)
    names: dict[str, list[Root]] = {}
    for root in found:
        names.setdefault(root.function.name, []).append(root)
        root.references = uses.get(root.function.name, 0)
        root.local = _is_local(root.function, module) and not root.function.has_decorator(
            "property", "register_kl"
        )
        _survey(root, risky)
    ordered = _callers_first(found, names)
    wanted: set[str] = set()  # names of local functions that are analysed: what their callers pass matters
    kept: list[Root] = []
    for root in reversed(ordered):
        if root.risky or root.callees & wanted:
            kept.append(root)
            if root.local:
                wanted.add(root.function.name)
    return kept[::-1]


def _survey(root: Root, risky: frozenset[str]) -> None:
    nodes = descendants(root.function.node)
    root.risky = is_risky(nodes, risky)
    for node in nodes:
        if type(node) is ast.Call:
            function = node.func
            root.callees.add(
                function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            )
        elif type(node) is ast.FunctionDef and node is not root.function.node:
            root.nested.append(node)


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


def _references(nodes: list[ast.AST]) -> dict[str, int]:
    uses: dict[str, int] = {}
    for node in nodes:
        if type(node) is ast.Name:
            name = node.id
        elif type(node) is ast.Attribute:
            name = node.attr
        else:
            continue
        if type(node.ctx) is ast.Load:
            uses[name] = uses.get(name, 0) + 1
    return uses


def _callers_first(found: list[Root], names: dict[str, list[Root]]) -> list[Root]:
    """Depth-first post-order over the call graph, reversed. Special methods are called in too many places to order."""
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
            for name in sorted(n for n in root.callees & names.keys() if not n.startswith("__")):
                stack.extend((callee, False) for callee in names[name] if id(callee) not in seen)
    return post[::-1]
