"""Which names carry state from one pass through a loop body to the next."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from stablelint.syntax.names import names_in

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Order(ast.NodeVisitor):
    """Walks statements in evaluation order; `early` are names read while not certainly written before."""

    def __init__(self, bound: Iterable[str] = ()) -> None:
        self.written: set[str] = set(bound)
        self.ever_written: set[str] = set(bound)
        self.early: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            if node.id not in self.written:
                self.early.add(node.id)
        else:
            self._bind(node.id)

    def _bind(self, name: str) -> None:
        self.written.add(name)
        self.ever_written.add(name)

    def _value_first(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr) -> None:
        if node.value is not None:
            self.visit(node.value)
            for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
                self.visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name) and node.target.id not in self.written:
            self.early.add(node.target.id)
        self._value_first(node)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self._maybe(node.body, node.orelse)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        before = set(self.written)
        self.visit(node.target)
        self._statements(node.body)
        self.written = before
        self._maybe(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._maybe(node.body)
        self._maybe(node.orelse)

    def visit_Try(self, node: ast.Try) -> None:
        before = set(self.written)
        self._statements(node.body)
        self._statements(node.orelse)
        after = set(self.written)
        self.written = before
        for handler in node.handlers:
            self._maybe(handler.body)
        self.written = after
        self._statements(node.finalbody)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._inner(node)
        self._bind(node.name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bind(node.name)

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, _COMPREHENSIONS):
            for generator in node.generators:
                self.visit(generator.iter)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
            self._value_first(node)
        elif isinstance(node, (ast.AsyncFunctionDef, ast.Lambda)):
            self._inner(node)
        else:
            super().generic_visit(node)

    def _inner(self, node: ast.AST) -> None:
        # A nested function reads what it encloses when called; that it is called at once is the safe guess.
        own = {argument.arg for argument in ast.walk(node) if isinstance(argument, ast.arg)}
        self.early |= names_in(node, ast.Load) - own - self.written

    def _statements(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    def _maybe(self, *branches: Sequence[ast.stmt]) -> None:
        before = set(self.written)
        outcomes = []
        for branch in branches:
            self.written = set(before)
            self._statements(branch)
            outcomes.append(self.written)
        certain = len(branches) > 1 and all(branches)
        self.written = set.intersection(*outcomes) if certain else before


def carried_names(body: Sequence[ast.stmt], bound: Iterable[str] = ()) -> frozenset[str]:
    """Names that `body` reads before it writes them, and writes: state from the pass before.

    `bound` are names the loop header writes before the body starts.
    """
    order = _Order(bound)
    for statement in body:
        order.visit(statement)
    return frozenset(order.early & order.ever_written)


def written_names(body: Iterable[ast.AST]) -> frozenset[str]:
    """Names that any of the nodes binds in their own scope."""
    order = _Order()
    for node in body:
        order.visit(node)
    return frozenset(order.ever_written)


def scope_contains(nodes: Iterable[ast.AST], kinds: tuple[type[ast.AST], ...]) -> bool:
    """Whether any node of `kinds` stands in the same scope as `nodes`, not in a function or class within."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, kinds):
            return True
        if not isinstance(node, _SCOPES):
            pending.extend(ast.iter_child_nodes(node))
    return False
