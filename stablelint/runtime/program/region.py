"""The stretch of user code that makes one step: found from the frame that steps, compiled to run once more.

A training loop offers no function that repeats a step. Its source does: the innermost loop body around the
instruction that calls the optimizer (or, without a loop, the function's body) is compiled again, at its own
rows and columns, as a function of the frame's names. It then runs with the frame's values, writes only its
own names, and reports the very positions the reader sees.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from types import CodeType
from typing import Any, TypeGuard

from stablelint.runtime.program.carried import carried_names, scope_contains, written_names
from stablelint.runtime.program.frames import parse_file, raw_position
from stablelint.runtime.program.nodes import FUNCTIONS, blocks_around, owner_of
from stablelint.syntax.names import is_name

_LOOPS = (ast.For, ast.While)
_SUSPENDING = (ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
FieldPath = tuple[tuple[str, int | None], ...]
"""From a node of syntax to one within it: fields, and places in those that are lists."""


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Statements that make a step, and the names whose earlier values they need."""

    code: CodeType  # of the frame the region was cut from
    tree: ast.Module  # of its file, of which body, loop and owner are nodes
    body: tuple[ast.stmt, ...]
    loop: ast.For | ast.While | None
    owner: ast.AST  # the function or module
    inside_class: str | None
    carried: frozenset[str]
    rebound: frozenset[str]  # names of the loop header or arguments that the body overwrites
    tail: tuple[ast.stmt, ...]  # after the step: what renews carried names for the next pass
    item: ast.expr | None = None  # what the body binds to the next item of an iterator
    chosen: bool = False  # single statements of the code, each of which is cut out by itself
    shown: FieldPath = ()  # of the expression in the last of them, beyond which nothing is to run

    @property
    def row(self) -> int:
        """Where the loop (or function) starts: names the region within its code."""
        return self.loop.lineno if self.loop is not None else 0

    @property
    def target(self) -> ast.expr | None:
        """What the loop's header binds, without the counter of `enumerate`, or what its body takes from an iterator."""
        if not isinstance(self.loop, ast.For) or self.item is not None:
            return self.item
        target, source = self.loop.target, self.loop.iter
        if not isinstance(source, ast.Call) or not isinstance(source.func, ast.Name):
            return target
        counted = source.func.id == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2
        return target.elts[1] if counted and isinstance(target, ast.Tuple) else target


@lru_cache(maxsize=4096)
def place_of(code: CodeType, offset: int) -> tuple[int, int]:
    """Row and column of an instruction."""
    row, _, column, _ = raw_position(code, offset)
    return row or code.co_firstlineno, column or 0


def region_at(code: CodeType, offset: int) -> Region | None:
    """The step's region around an instruction, or None where it has no source or cannot run apart."""
    return _region_in(code.co_filename, code, offset)


@lru_cache(maxsize=1024)
def _region_in(filename: str, code: CodeType, offset: int) -> Region | None:
    # Code of two files that read alike compares equal: the name tells them apart.
    row, _, column, _ = raw_position(code, offset)
    tree = parse_file(filename)
    if row is None or tree is None:
        return None
    found = owner_of(tree, code)
    if found is None:
        return None
    owner, inside_class = found
    loop, statement = _innermost_loop(owner, row, column or 0)
    if loop is None and isinstance(owner, ast.Module):
        return None
    body = loop.body if loop is not None else list(getattr(owner, "body", []))
    if not isinstance(body, list) or scope_contains(body, _SUSPENDING):
        return None
    taken = [node for one in body for node in ast.walk(one) if takes_next(node)]
    # An item that the body takes is as good as the header's.
    header = _header(loop, owner) | written_names(taken)
    rest = [by_itself(copy.deepcopy(one)) for one in body]
    return Region(
        code,
        tree,
        tuple(body),
        loop,
        owner,
        inside_class,
        carried=carried_names(rest, header),
        rebound=header & written_names(rest),
        tail=tuple(body[body.index(statement) + 1 :]) if statement and statement in body else (),
        item=taken[0].targets[0] if taken else None,
    )


def _header(loop: ast.For | ast.While | None, owner: ast.AST) -> frozenset[str]:
    """The names that are bound before the body starts."""
    if loop is None:
        return _arguments(owner)
    return written_names([loop.target]) if isinstance(loop, ast.For) else frozenset()


def takes_next(statement: ast.AST) -> TypeGuard[ast.Assign]:
    """Whether a statement binds names to the next item of an iterator, and does no more."""
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and is_name(statement.value.func, "next")
    )


def replacement_tree(region: Region, source: ast.Module | None = None) -> list[ast.stmt]:
    """A private copy of the region's statements, or of the same stretch in a rewritten parse of the file."""
    if region.chosen:
        found = [one for statement in region.body for one in _rewritten(region, statement, source)]
        return copy.deepcopy([*map(as_expression, found[:-1]), _shown_by(found[-1], region.shown)])
    body: list[ast.stmt] = list(region.body)
    if source is not None:
        owner = _counterpart(region.tree, source, region.owner)
        node = owner if region.loop is None else _counterpart(region.owner, owner, region.loop)
        body = list(getattr(node, "body", body))
    return copy.deepcopy(body)


def as_expression(statement: ast.stmt) -> ast.stmt:
    """What a `return`, a test or a loop's header computes, and no more; other statements as they are."""
    value: ast.expr | None = None
    if isinstance(statement, ast.Return):
        value = statement.value
    elif isinstance(statement, (ast.If, ast.While, ast.Assert)):
        value = statement.test
    elif isinstance(statement, ast.For):
        value = statement.iter
    return statement if value is None else ast.copy_location(ast.Expr(value), statement)


def _shown_by(statement: ast.stmt, path: FieldPath) -> ast.stmt:
    """The expression at `path` of a statement, or as far along it as the statement goes; of a `yield` its value."""
    found: Any = None
    node: Any = statement
    for name, index in path:
        node = getattr(node, name, None)
        if index is not None:
            node = node[index] if isinstance(node, list) and index < len(node) else None
        if isinstance(node, ast.expr):
            found = node
    if found is None:
        return as_expression(statement)
    handed_out = found.value if isinstance(found, ast.Yield) else found
    return ast.copy_location(ast.Return(handed_out), statement)


def _rewritten(region: Region, statement: ast.stmt, source: ast.Module | None) -> list[ast.stmt]:
    """What stands for a statement in a rewritten parse of its file: itself, or what a fix made of it."""
    if source is None:
        return [statement]
    old, new = _plain_statements(region.tree), _plain_statements(source)
    place = next((index for index, one in enumerate(old) if one is statement), None)
    if place is None:  # a compound one, of which only the header runs
        found = _counterpart(region.tree, source, statement)
        return [found] if isinstance(found, ast.stmt) else [statement]
    changes = SequenceMatcher(None, [*map(ast.dump, old)], [*map(ast.dump, new)], autojunk=False)
    for tag, start, end, first, last in changes.get_opcodes():
        if start <= place < end:
            return [new[first + place - start]] if tag == "equal" else new[first:last]
    return [statement]


def _plain_statements(tree: ast.Module) -> list[ast.stmt]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not hasattr(node, "body")]
    return sorted(found, key=lambda one: (one.lineno, one.col_offset))


def by_itself(statement: ast.stmt) -> ast.stmt:
    """A statement that hands nothing to a generator's caller, and takes nothing from an iterator."""
    found: ast.stmt = _HandedToNobody().visit(statement)
    return found


class _HandedToNobody(ast.NodeTransformer):
    """A generator's replay hands out nothing, and nothing is sent to it: a `yield` is None after its value.

    Nor does it take anything: names that were bound to an iterator's next item keep it.
    """

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        return ast.copy_location(ast.Pass(), node) if takes_next(node) else node

    def visit_Yield(self, node: ast.Yield) -> ast.expr:
        both = ast.Tuple([node.value or ast.Constant(None), ast.Constant(None)], ast.Load())
        return ast.copy_location(ast.Subscript(both, ast.Constant(1), ast.Load()), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node


def _innermost_loop(
    owner: ast.AST, row: int, column: int
) -> tuple[ast.For | ast.While | None, ast.stmt | None]:
    """The innermost loop whose body holds the place, and the statement of that body that does."""
    blocks = blocks_around(owner, row, column)
    loop: ast.For | ast.While | None = None
    statement = blocks[0][0][blocks[0][1]] if blocks else None
    for (outer, index), (inner, within) in pairwise(blocks):
        around = outer[index]
        if isinstance(around, _LOOPS) and inner is around.body:
            loop, statement = around, inner[within]
    return loop, statement


def _counterpart(tree: ast.AST, other: ast.AST, node: ast.AST) -> ast.AST:
    """The node of a rewritten tree that stands where `node` stands: the same in order among its kind."""
    alike = [one for one in ast.walk(tree) if type(one) is type(node)]
    others = [one for one in ast.walk(other) if type(one) is type(node)]
    place = next(index for index, one in enumerate(alike) if one is node)
    return others[place] if len(others) == len(alike) else node


def _arguments(owner: ast.AST) -> frozenset[str]:
    if not isinstance(owner, FUNCTIONS):
        return frozenset()
    return frozenset(node.arg for node in ast.walk(owner.args) if isinstance(node, ast.arg))
