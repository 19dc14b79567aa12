"""Which names a site sees, and under which of them it can reach a qualified name."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from stablelint.codemod.text.locate import Tree
from stablelint.records import dataclass, field
from stablelint.syntax.names import bound_by, imported_names, last_name
from stablelint.syntax.signatures import parameters

_NAMED_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FUNCTIONS = (*_NAMED_FUNCTIONS, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(slots=True)
class _Bindings:
    """Names that one scope binds: by import (with the row), and otherwise."""

    imports: dict[str, tuple[str, int]] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)


class Scope:
    """Names of one file, seen from its sites."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._functions: dict[ast.AST, _Bindings] = {}
        self._stands_for: dict[tuple[ast.AST | None, str], str] = {}  # the names that were proposed

    @cached_property
    def _module(self) -> _Bindings:
        return _collect(self._tree.module.body)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(re.findall(r"\w+", self._tree.source.text))

    def reach(self, qualified: str, site: ast.AST) -> str | None:
        """How `qualified` is written at `site` with the imports that are there, or None.

        The shortest spelling wins: ``F.log_softmax`` before ``torch.nn.functional.log_softmax``; of two names for a module
        the one that the statement has.
        """
        spellings = []
        for name in self._imported_at(site):
            stands_for = self.stands_for(name, site)
            if stands_for == qualified:
                spellings.append(name)
            elif stands_for is not None and qualified.startswith(f"{stands_for}."):
                spellings.append(name + qualified.removeprefix(stands_for))
        nodes = ast.walk(self._tree.statement(site)) if len(spellings) > 1 else ()
        read = {one.id for one in nodes if isinstance(one, ast.Name)}
        order = {
            text: (text.count("."), text.split(".")[0] not in read, len(text), text) for text in spellings
        }
        return min(spellings, key=order.__getitem__, default=None)

    def stands_for(self, name: str, site: ast.AST) -> str | None:
        """The qualified name that `name` is an import of at `site`, or None."""
        row = getattr(site, "lineno", 0)
        for bindings in self._enclosing(site):
            if name in bindings.others:
                return None
            if name in bindings.imports:
                qualified, imported_at = bindings.imports[name]
                return qualified if imported_at <= row else None
        if name in self._module.others or name not in self._module.imports:
            return None
        qualified, imported_at = self._module.imports[name]
        in_function = any(isinstance(link.parent, _FUNCTIONS) for link in self._tree.ancestors(site))
        return qualified if in_function or imported_at <= row else None

    def is_free(self, name: str, site: ast.AST) -> bool:
        """Whether a module-level import may bind `name` and `site` would see it."""
        scopes = [self._module, *self._enclosing(site)]
        return not any(name in scope.others or name in scope.imports for scope in scopes)

    def imports(self, package: str) -> bool:
        """Whether anything of a package is imported, anywhere in the file."""
        named = (qualified for one in self._imports for _, qualified in imported_names(one, ""))
        modules = (
            one.module or "" for one in self._imports if isinstance(one, ast.ImportFrom) and not one.level
        )
        return any(qualified.partition(".")[0] == package for qualified in (*named, *modules))

    @property
    def has_star(self) -> bool:
        """Whether the file imports all names of another."""
        return any(alias.name == "*" for one in self._imports for alias in one.names)

    @cached_property
    def _imports(self) -> list[ast.Import | ast.ImportFrom]:
        return [one for one in ast.walk(self._tree.module) if isinstance(one, ast.Import | ast.ImportFrom)]

    def is_unused(self, name: str) -> bool:
        """Whether `name` occurs nowhere in the file, comments and strings included."""
        return name not in self._words

    def fresh(self, wish: str, site: ast.AST, value: str = "") -> str:
        """A name that the function around `site` (else the file) does not know, `wish` if it can be had.

        `value` says what it stands for where more than the next statement reads it: then no other proposal for the function
        gets the name for another value.
        """
        owner, words = self._outermost(site), self.names_at(site)
        name, number = wish, 2
        while name in words or keyword.iskeyword(name) or self._stands_for.get((owner, name), value) != value:
            name, number = f"{wish}_{number}", number + 1
        self._stands_for[owner, name] = value
        return name

    def names_at(self, site: ast.AST) -> frozenset[str]:
        """The names that the outermost function around `site` knows; the words of the file outside of functions."""
        owner = self._outermost(site)
        return self._words if owner is None else _names_in(owner)

    def _outermost(self, site: ast.AST) -> ast.AST | None:
        functions = (link.parent for link in self._tree.ancestors(site))
        return next((one for one in reversed([*functions]) if isinstance(one, _NAMED_FUNCTIONS)), None)

    def _imported_at(self, site: ast.AST) -> set[str]:
        names = set(self._module.imports)
        for bindings in self._enclosing(site):
            names |= bindings.imports.keys()
        return names

    def _enclosing(self, site: ast.AST) -> Iterator[_Bindings]:
        """Scopes around the site, innermost first, the module's not included."""
        seen_function = False
        for link in self._tree.ancestors(site):
            parent = link.parent
            if isinstance(parent, _COMPREHENSIONS) or (
                isinstance(parent, _FUNCTIONS) and link.field == "body"
            ):
                seen_function = seen_function or isinstance(parent, _FUNCTIONS)
                yield self._bindings_of(parent)
            elif isinstance(parent, ast.ClassDef) and link.field == "body" and not seen_function:
                yield self._bindings_of(parent)

    def _bindings_of(self, owner: ast.AST) -> _Bindings:
        found = self._functions.get(owner)
        if found is None:
            found = self._functions[owner] = _bindings_within(owner)
        return found


def _names_in(function: ast.AST) -> frozenset[str]:
    """Every identifier that a function reads, binds or declares, in nested functions too."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
        else:
            found.update(bound_by(node))
    return frozenset(found)


def _bindings_within(owner: ast.AST) -> _Bindings:
    if isinstance(owner, _FUNCTIONS):
        found = _collect(owner.body if isinstance(owner.body, list) else [owner.body])
        given = [*parameters(owner.args), owner.args.vararg, owner.args.kwarg]
        found.others.update(parameter.arg for parameter in given if parameter is not None)
        return found
    if isinstance(owner, ast.ClassDef):
        return _collect(owner.body)
    generators: list[ast.comprehension] = getattr(owner, "generators", [])
    return _collect([generator.target for generator in generators])


def _collect(nodes: Iterable[ast.AST]) -> _Bindings:
    found = _Bindings()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING":
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            _add_import(found, node)
            continue
        found.others.update(bound_by(node))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is None:
            continue  # `except ImportError: torch = None`: where that holds, the site does not run
        pending.extend(_same_scope(node))
    return found


def _add_import(found: _Bindings, node: ast.Import | ast.ImportFrom) -> None:
    for name, qualified in imported_names(node, ""):
        known, row = found.imports.get(name, (qualified, node.lineno))
        if known != qualified:
            found.others.add(name)  # alternatives, of which either may be the one
        found.imports[name] = (qualified, min(row, node.lineno))


def _same_scope(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    if isinstance(node, _COMPREHENSIONS):
        # Only an assignment expression reaches out of a comprehension.
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                yield inner.target
        return
    yield from ast.iter_child_nodes(node)
