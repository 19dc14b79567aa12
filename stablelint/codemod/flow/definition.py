"""Where a local name got its value, by the text alone, and what runs between that and its use."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.codemod.flow.effects import evaluated_before
from stablelint.codemod.flow.nodes import readers
from stablelint.codemod.text.locate import Link, Tree
from stablelint.records import dataclass
from stablelint.syntax.names import bound_by
from stablelint.syntax.remembered import remembered
from stablelint.syntax.walk import descendants

_REPEATED = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_With = ast.With | ast.AsyncWith
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Definition:
    """The one assignment that gives a name its value at a place.

    `left` are the ``with`` blocks that end before the place, `entered` those that begin; `between` is all that may run
    in between, in any order.
    """

    name: str
    statement: ast.stmt
    value: ast.expr
    left: tuple[ast.AST, ...]
    entered: tuple[ast.AST, ...]
    between: tuple[ast.AST, ...]


def origin(tree: Tree, node: ast.expr) -> ast.expr:
    """What a name is given where one assignment is certain to give it; any other expression itself."""
    given = definition(tree, node)
    return node if given is None else given.value


@remembered
def definition(tree: Tree, reader: ast.AST) -> Definition | None:
    """The assignment that every path to a name goes through last; None where none is certain to be it.

    It stands in the reader's own suite or in one around it, of the same function and the same pass through a loop.
    """
    if not isinstance(reader, ast.Name) or any(
        isinstance(link.parent, _REPEATED) for link in _within_statement(tree, reader)
    ):
        return None
    function = function_of(tree, reader)
    if function is not None and reader.id in declared(function):
        return None
    statement = tree.statement(reader)
    between: list[ast.AST] = list(evaluated_before(tree, reader) or ())
    entered: list[ast.AST] = []
    while True:
        suite = tree.siblings(statement)
        found = _last(reader.id, suite[: suite.index(statement)], [], between)
        if found is not None:
            given, value, left = found
            if value is None:
                return None
            return Definition(reader.id, given, value, tuple(left), tuple(entered), tuple(between))
        parent = tree.link(statement).parent
        if isinstance(parent, _With):
            entered.append(parent)
        elif not isinstance(parent, ast.If | ast.Try) or tree.link(statement).field == "handlers":
            return None
        header = [one for one in ast.iter_child_nodes(parent) if isinstance(one, ast.expr | ast.withitem)]
        if any(binds(one, reader.id) for one in header):
            return None
        between += header
        assert isinstance(parent, ast.stmt)
        statement = parent


def _last(
    name: str, suite: list[ast.stmt], left: list[ast.AST], between: list[ast.AST]
) -> tuple[ast.stmt, ast.expr | None, list[ast.AST]] | None:
    """The last statement of a suite that binds a name, with the value where it is certain to be the one."""
    for statement in reversed(suite):
        if not binds(statement, name):
            between.append(statement)
            continue
        if isinstance(statement, _With):
            return _last(name, statement.body, [*left, statement], between) or (statement, None, left)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets = [statement.target]
        alone = len(targets) == 1 and isinstance(targets[0], ast.Name)
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) and alone else None
        return statement, value, left
    return None


def first_under_test(tree: Tree, given: ast.stmt, name: str) -> ast.stmt | None:
    """The first statement that reads a name, where a test stands between what gives it and all that read it: by another
    branch it may be None."""
    suite = tree.siblings(given)
    reading = _reading(suite[suite.index(given) + 1 :], name)
    found: ast.stmt | None = None
    while len(reading) == 1 and isinstance(choice := reading[0], ast.If):
        branches = [one for one in (_reading(choice.body, name), _reading(choice.orelse, name)) if one]
        if len(branches) != 1:
            break
        reading = branches[0]
        found = reading[0]
    return found


def _reading(suite: list[ast.stmt], name: str) -> list[ast.stmt]:
    return [one for one in suite if any(True for _ in readers(one, name))]


def binds(node: ast.AST, name: str) -> bool:
    """Whether something in `node` gives the name another value, or takes it away."""
    return name in bound_in(node)


@remembered
def bound_in(node: ast.AST) -> frozenset[str]:
    """The names that something in `node` gives another value, or takes away."""
    return frozenset(name for one in descendants(node) for name in bound_by(one))


def function_of(tree: Tree, node: ast.AST) -> Function | None:
    """The innermost function with statements around a node."""
    return next((link.parent for link in tree.ancestors(node) if isinstance(link.parent, Function)), None)


def scope_of(tree: Tree, node: ast.AST) -> ast.AST:
    """The innermost function with statements around a node, or the module."""
    return function_of(tree, node) or tree.module


def is_local(tree: Tree, node: ast.AST) -> bool:
    """Whether a name that is bound at a node is seen in a function alone: those of classes and files are attributes."""
    scopes = (
        link.parent for link in tree.ancestors(node) if isinstance(link.parent, Function | ast.ClassDef)
    )
    return isinstance(next(scopes, None), Function)


def in_loop(tree: Tree, node: ast.AST) -> bool:
    """Whether a loop of its own function, or code that runs at another time, comes back to a node."""
    around = (link.parent for link in tree.ancestors(node) if isinstance(link.parent, (*_FUNCTIONS, *_LOOPS)))
    return not isinstance(next(around, None), Function)


def takes(function: Function, name: str) -> bool:
    """Whether a name is a parameter of a function."""
    return any(isinstance(one, ast.arg) and one.arg == name for one in ast.walk(function.args))


def _within_statement(tree: Tree, node: ast.AST) -> Iterator[Link]:
    for link in tree.ancestors(node):
        if isinstance(link.parent, ast.stmt):
            return
        yield link


@remembered
def declared(function: ast.AST) -> frozenset[str]:
    """The names that a function, or one within it, takes from around it to set them."""
    statements = (one for one in descendants(function) if isinstance(one, ast.Global | ast.Nonlocal))
    return frozenset(name for one in statements for name in one.names)
