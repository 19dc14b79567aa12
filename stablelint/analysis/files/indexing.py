"""Finds the definitions of a parsed file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from stablelint.analysis.files.modules import ClassInfo, FunctionInfo, ModuleInfo
from stablelint.analysis.files.options import options_in
from stablelint.analysis.files.reading import (
    added_to_search_path,
    bound_again,
    declared_names,
    entered_names,
)
from stablelint.syntax.names import imported_module, imported_names, last_name
from stablelint.syntax.source import Source
from stablelint.syntax.walk import SCOPES, descendants

_OF_CODE = frozenset(
    {"__code__", "__defaults__", "__kwdefaults__"}
)  # by which a function is made another one


def module_of(source: Source, path: Path | None, package: str) -> ModuleInfo:
    """Indexes the definitions of a parsed file."""
    text = source.text
    module = ModuleInfo(path, source, package, may_yield="yield" in text, may_hold_lambdas="lambda" in text)
    _index(source.tree.body, module)
    if "global " in text or "nonlocal " in text:
        module.rebound = declared_names(source.tree)
    module.several |= bound_again(source.tree.body)
    known = (*module.functions, *module.classes, *module.assignments)
    if "globals()" in text:
        module.rebound |= frozenset(entered_names(source.tree, known))
    for statement in source.tree.body if "vars()" in text or "locals()" in text else ():
        if not isinstance(statement, SCOPES):
            module.rebound |= frozenset(entered_names(statement, known))
    if "exec(" in text and any(getattr(n, "id", "") == "exec" for n in descendants(source.tree)):
        module.rebound |= frozenset(known)
    if "__code__" in text or "defaults__" in text:
        attributes = (
            n for n in descendants(source.tree) if isinstance(n, ast.Attribute) and n.attr in _OF_CODE
        )
        module.rebound |= frozenset(last_name(n.value) for n in attributes)
    if ".add_argument(" in text:
        module.options = options_in(source.tree)
    if "sys.path." in text:
        module.search_path = tuple(added_to_search_path(source.tree))
    return module


def _index(body: list[ast.stmt], module: ModuleInfo) -> None:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            module.functions[statement.name] = FunctionInfo(statement, module)
        elif isinstance(statement, ast.ClassDef):
            module.classes[statement.name] = _class(statement, module)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            module.imports.update(imported_names(statement, module.package))
            if isinstance(statement, ast.ImportFrom) and any(a.name == "*" for a in statement.names):
                module.stars.append(imported_module(statement, module.package))
                # Which may bind each of these anew.
                module.several |= {*module.functions, *module.classes, *module.assignments}
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                _index_assignment(target, statement.value, module)
        elif isinstance(statement, ast.AnnAssign | ast.AugAssign) and isinstance(statement.target, ast.Name):
            if statement.value is not None:
                module.assignments.setdefault(statement.target.id, []).append(statement.value)
        elif isinstance(statement, ast.If):
            _index(statement.body, module)
            _index(statement.orelse, module)
        elif isinstance(statement, ast.Try):
            _index(statement.body, module)
            for handler in statement.handlers:
                _index(handler.body, module)


def _index_assignment(target: ast.expr, value: ast.expr, module: ModuleInfo) -> None:
    """Notes what a name is assigned; a part of a tuple that a call yields is the call's element."""
    if isinstance(target, ast.Name):
        module.assignments.setdefault(target.id, []).append(value)
    elif isinstance(target, ast.Tuple) and not any(isinstance(t, ast.Starred) for t in target.elts):
        parts = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else None
        for position, name in enumerate(target.elts):
            element = ast.Subscript(value, ast.Constant(position), ast.Load())
            part = parts[position] if parts is not None else ast.copy_location(element, value)
            _index_assignment(name, part, module)


def class_of(node: ast.ClassDef, module: ModuleInfo) -> ClassInfo:
    """Indexes the body of a class within a function or class, once."""
    info = module.inner.get(id(node))
    if info is None:
        info = module.inner[id(node)] = _class(node, module)
        vars(module).pop("named", None)
    return info


def _class(node: ast.ClassDef, module: ModuleInfo) -> ClassInfo:
    info = ClassInfo(node, module)
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            function = FunctionInfo(statement, module, info)
            if function.has_decorator("setter"):
                info.setters.setdefault(statement.name, function)
            elif not function.has_decorator("deleter"):
                info.methods[statement.name] = function
                info.fields.pop(statement.name, None)
            continue
        if isinstance(statement, ast.AnnAssign | ast.Assign):
            named = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            given = {target.id: statement.value for target in named if isinstance(target, ast.Name)}
        else:
            given = {
                name: None for name in _bound_in(statement) if name in info.fields or name in info.methods
            }
        info.fields.update(given)
        info.methods = {name: method for name, method in info.methods.items() if name not in given}
    return info


def _bound_in(statement: ast.stmt) -> Iterator[str]:
    """The names that a loop, a branch or another statement of a class body may bind anew."""
    for part in ast.walk(statement) if not isinstance(statement, ast.Expr | ast.ClassDef) else ():
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            yield part.name
