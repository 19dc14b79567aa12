"""The statements that a site's value is made of, by themselves: a function of the names that they lack.

It stands in for a script, and for a function that cannot be called: what only the program can give (the result of a
model, the attributes of an object, a batch of a data set) is a parameter. Loops are one turn of theirs, and a branch is
taken unless its test, or that of a statement which leaves, speaks of the values themselves.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import groupby

import torch

from stablelint.runtime.program.nodes import enclosing
from stablelint.runtime.verify.probe.transform import END, HELPERS, SNAP
from stablelint.syntax.names import is_name, names_in

NAME = "_stablelint_part"
_METHODS = frozenset(name for kind in (torch.Tensor, str, list, dict) for name in dir(kind))
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_SUITES = ("body", "orelse", "finalbody")
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOADED = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)  # what a module has when it is loaded
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Part:
    """The statements as a function to be executed, the same without probes to be read, and the rows they stand in.

    `spelled` has the text of what a parameter stands for, where that is no name.
    """

    node: ast.FunctionDef
    bare: ast.FunctionDef
    rows: str
    spelled: Mapping[str, str]


def part_around(
    tree: ast.Module, row: int, known: Collection[str], failing: Collection[int] = ()
) -> Part | None:
    """The part of a tree with probes that makes the value at a row; None where the row is none of a statement.

    `known` are the names of the module that can be used as they are. What statements bind that have a `failing` row
    is a parameter, too.
    """
    scope = enclosing(tree, row)
    own = {each.arg for each in ast.walk(scope.args) if isinstance(each, ast.arg)} if scope else set[str]()
    own |= _stored(scope.body) if scope else set()
    there = {*known, *dir(builtins), *HELPERS.values()} - own
    body = [each for each in (scope or tree).body if scope is not None or not isinstance(each, _LOADED)]
    statements, _ = _sliced(deepcopy(body), row, there)
    fails = [each for each in statements if any(_holds(each, one) for one in failing)]
    statements = [each for each in statements if _holds(each, row) or each not in fails]
    if not statements:
        return None
    left_out = _LeftOut(there, _stored(statements))
    visited = [left_out.visit(each) for each in statements]
    kept = [each for each in visited if _holds(each, row) or not left_out.is_given(each)]
    rows = _ranges(sorted({each.lineno for each in kept}))
    lacking = [ast.arg(name) for name in _lacking(kept, there)]
    node = ast.FunctionDef(NAME, ast.arguments([], lacking, None, [], [], None, []), kept, [])
    ast.fix_missing_locations(ast.copy_location(node, statements[0]))
    return Part(node, _WithoutProbes().visit(deepcopy(node)), rows, left_out.spelled)


def _sliced(body: Sequence[ast.stmt], row: int, known: Collection[str]) -> tuple[list[ast.stmt], set[str]]:
    """The statements of a suite on which that at the row depends, and the names that they read beyond `known`."""
    held = [i for i, each in enumerate(body) if _holds(each, row)]
    if not held:
        return [], set()
    index, at = held[-1], body[held[-1]]  # a probe's statement may stand at the place of the one behind it
    inner = next((found for suite in _suites(at) if (found := _sliced(suite, row, known))[0]), None)
    snaps, head = filter(_is_snap, body[held[0] : index]), _head(at)
    kept, needed = inner or ([*snaps, head, *_result(at)], names_read(head).difference(known))
    match at:
        case ast.If(test=test) if inner is not None and names_read(test) & needed:
            taken = any(_holds(each, row) for each in at.body)
            met = test if taken else ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
            kept = [ast.copy_location(ast.If(met, kept, []), at)]
            needed = needed | names_read(test).difference(known)
        case ast.With(items=items) if inner is not None and not any(item.optional_vars for item in items):
            if set().union(*(names_read(item.context_expr) for item in items)) <= {*known}:
                kept = [ast.copy_location(ast.With(items, kept), at)]
    for statement in reversed(body[:index]):
        if _stored([statement]) & needed or (_guards(statement) and names_read(statement) & needed):
            kept.insert(0, statement)
            needed |= names_read(statement).difference(known)
    return kept, needed


def _holds(node: ast.stmt, row: int) -> bool:
    return node.lineno <= row <= (node.end_lineno or 0)


def _suites(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(node, _INNER):
        return
    yield from (getattr(node, name) for name in _SUITES if getattr(node, name, None))
    yield from (each.body for each in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())))


def _head(node: ast.stmt) -> ast.stmt:
    """A statement without its suites: what it evaluates first; of one without a result what is watched in it."""
    if isinstance(node, ast.Expr) and (watched := list(_watched(node.value))):
        return ast.copy_location(ast.Return(ast.Tuple(watched, ast.Load())), node)
    if not any(True for _ in _suites(node)):
        return node
    heads = [getattr(node, name, None) for name in ("test", "iter", "subject")]
    heads += [item.context_expr for item in getattr(node, "items", ())]
    evaluated = [each for each in heads if each is not None]
    return ast.copy_location(ast.Return(ast.Tuple(evaluated, ast.Load()) if evaluated else None), node)


def _watched(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions with a probe in a tree, or the scopes of their own that hold them."""
    if isinstance(node, ast.expr) and (_is_call_of(node, END) or isinstance(node, _SCOPES)):
        yield from [node] if any(_is_call_of(each, END) for each in ast.walk(node)) else ()
        return
    for child in ast.iter_child_nodes(node):
        yield from _watched(child)


def _is_call_of(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _is_snap(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and _is_call_of(node.value, SNAP)


def _result(node: ast.stmt) -> list[ast.stmt]:
    """A statement that returns what an assignment binds, for its gradient to be felt."""
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
        return []
    bound: list[ast.expr] = [ast.Name(name, ast.Load()) for name in sorted(_stored([node]) - {"self"})]
    return [ast.copy_location(ast.Return(ast.Tuple(bound, ast.Load())), node)]


def _guards(node: ast.stmt) -> bool:
    """Whether a statement keeps those behind it from some values."""
    return isinstance(node, ast.Assert) or (isinstance(node, ast.If) and isinstance(node.body[-1], _LEAVING))


def _walked(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree, but for what probes add to it."""
    yield node
    helper = isinstance(node, ast.Call) and _is_call_of(node, *HELPERS.values())
    for child in [node.args[-1]] if helper and isinstance(node, ast.Call) else ast.iter_child_nodes(node):
        yield from _walked(child)


def names_read(node: ast.AST) -> set[str]:
    """The names that are read in a tree, and bound nowhere in its own scopes."""
    nodes = list(_walked(node))
    own = {each.arg for each in nodes if isinstance(each, ast.arg)}
    own = own.union(*(names_in(each.target) for each in nodes if isinstance(each, ast.comprehension)))
    loaded = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    changed = (each.target for each in nodes if isinstance(each, ast.AugAssign))
    return (loaded | {each.id for each in changed if isinstance(each, ast.Name)}) - own


def _stored(body: Sequence[ast.AST]) -> set[str]:
    """The names that statements bind, or whose values they write into."""
    found: set[str] = set()
    for node in (each for statement in body for each in _walked(statement)):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add(other or name.partition(".")[0])
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Subscript(value=value, ctx=ast.Store()) | ast.Attribute(value=value, ctx=ast.Store()):
                found |= names_read(value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                found.add(name)  # a method whose result nobody takes
    return found


class _LeftOut(ast.NodeTransformer):
    """Takes what only the program can give for a name: what an object has, and what is called and not known."""

    def __init__(self, known: set[str], bound: set[str]) -> None:
        self._known = known
        self._bound = bound
        self._loops = 0

        self.spelled: dict[str, str] = {}

    def is_given(self, node: ast.stmt) -> bool:
        """Whether a statement only binds what is left out: the names that it binds are as good."""
        value = node.value if isinstance(node, ast.Assign | ast.Expr) else None
        return isinstance(value, ast.Name) and value.id in self.spelled

    def _named(self, name: str, place: ast.expr, context: ast.expr_context) -> ast.Name:
        name = f"own_{name}" if name in self._bound | self._known else name
        self.spelled[name] = ast.unparse(_WithoutProbes().visit(deepcopy(place)))
        return ast.copy_location(ast.Name(name, context), place)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        own = is_name(node.value, "self")
        return self._named(node.attr, node, node.ctx) if own else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        root: ast.expr = node.func
        while isinstance(root, ast.Attribute):
            root = root.value
        match node.func:
            case ast.Name(id=name) if name not in self._known | self._bound:
                return self._named(f"{name}_result", node, ast.Load())
            case ast.Attribute(value=value, attr=attr) if (
                isinstance(root, ast.Name) and root.id not in self._known
            ):
                if attr not in _METHODS or getattr(value, "id", "") == "self":
                    return self._named(attr, node, ast.Load())
        return self.generic_visit(node)

    def _loop(self, node: ast.For | ast.While) -> ast.AST:
        self._loops += 1
        found = self.generic_visit(node)
        self._loops -= 1
        return found

    def _left(self, node: ast.Continue | ast.Break) -> ast.AST:
        return node if self._loops else ast.copy_location(ast.Return(), node)

    def _value(self, node: ast.Yield | ast.YieldFrom | ast.Await) -> ast.AST:
        found: ast.AST = self.visit(node.value) if node.value is not None else ast.Constant(None)
        return found

    visit_For = visit_While = _loop  # noqa: N815
    visit_Continue = visit_Break = _left  # noqa: N815
    visit_Yield = visit_YieldFrom = visit_Await = _value  # noqa: N815


class _WithoutProbes(ast.NodeTransformer):
    """Takes probes away again."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        helper = _is_call_of(node, *HELPERS.values())
        return self.visit(node.args[-1]) if helper else self.generic_visit(node)


def _lacking(body: Sequence[ast.stmt], bound: set[str]) -> dict[str, None]:
    """The names that statements read before they bind them, in the order in which they are read.

    What they bind is added to `bound`.
    """
    found: dict[str, None] = {}
    for statement in body:
        suites = list(_suites(statement))
        inner = _stored([statement]) if isinstance(statement, _INNER) else set[str]()
        found |= dict.fromkeys(sorted(names_read(_head(statement)) - bound - inner))
        targets = [getattr(statement, "target", None)] if suites else [statement]
        targets += [item.optional_vars for item in getattr(statement, "items", ())]
        bound |= _stored([each for each in targets if each is not None])
        for suite in suites:
            found |= _lacking(suite, bound)
    return found


def _ranges(rows: Sequence[int]) -> str:
    """`lines 3, 5-7`."""
    runs = [[row for _, row in run] for _, run in groupby(enumerate(rows), lambda at: at[1] - at[0])]
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f"line{'s' if len(rows) > 1 else ''} {', '.join(texts)}"
