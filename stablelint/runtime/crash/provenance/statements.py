"""The statements that give names and attributes their values, found in the source."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any

from stablelint.diagnostic import Span
from stablelint.runtime.crash.expression import UNKNOWN, decided, value_of
from stablelint.runtime.program.frames import is_library, parse_file
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import FUNCTIONS, SCOPES, owner_of
from stablelint.syntax.names import names_in
from stablelint.syntax.signatures import defaults_of

END = 1 << 30  # a row behind all others
_REGISTERS = ("register_buffer", "register_parameter", "add_module")


def assigned(code: CodeType, name: str, before: int) -> Location | None:
    """The last assignment to `name` or `self.name` in a function (or module) above row `before`."""
    found = assignment(code, name, before)
    return located(found, code.co_filename) if found is not None else None


def assignment(
    code: CodeType, name: str, before: int = END, names: dict[str, Any] | None = None
) -> ast.AST | None:
    """The same as syntax; with the values of `names`, none in a branch that was not, or may not have been, taken."""
    tree = parse_file(code.co_filename)
    scope = scope_of(tree, code) if tree is not None else ast.Module([], [])
    for one in _all_in(scope, name, before):
        was_run = _was_run(scope, one, name, before, names) if names is not None else True
        if was_run is not False:
            return one if was_run else None
    return None


def _was_run(
    scope: ast.AST, statement: ast.AST, name: str, before: int, names: dict[str, Any]
) -> bool | None:
    """Whether a statement was run, by the conditions around it; None where another one may have been in its place."""
    row = getattr(statement, "lineno", 0)
    for node in (one for one in inside(scope) if isinstance(one, ast.If)):
        for branch, other in ((node.body, node.orelse), (node.orelse, node.body)):
            if _holds(branch, row) and not _holds(branch, before):
                read = [one.id for one in ast.walk(node.test) if isinstance(one, ast.Name)]
                later = (one for text in read for one in _all_in(scope, text, before))
                still = all(getattr(one, "lineno", 0) <= node.lineno for one in later)
                taken = decided(node.test, names) if still else None
                if taken is (branch is node.orelse):
                    return False
                if taken is None and _all_in(ast.Module(other, []), name):
                    return None
    return True


def is_carried(
    code: CodeType, name: str, before: int, statement: ast.AST | None, names: dict[str, Any]
) -> bool:
    """Whether a name may hold what an earlier turn of a loop around a row gave it below, and not what a statement did."""
    tree, given = parse_file(code.co_filename), getattr(statement, "lineno", 0)
    scope = scope_of(tree, code) if tree is not None else ast.Module([], [])
    loops = [
        one for one in inside(scope) if isinstance(one, ast.For | ast.While) and _holds(one.body, before)
    ]
    for loop in (one for one in loops if given < one.lineno):
        later = [one for one in _all_in(loop, name) if getattr(one, "lineno", 0) >= before]
        renewed = any(not isinstance(one, ast.AugAssign) and one is not loop for one in later)
        if renewed and not _is_first_turn(loop, before, names):
            return True
    return False


def _is_first_turn(loop: ast.For | ast.While, before: int, names: dict[str, Any]) -> bool:
    """Whether no turn of a loop has come to its end: it counts none, or a name that each gives below a row has no value."""
    if not isinstance(loop, ast.For) or any(one not in names for one in names_in(loop.target, ast.Store)):
        return False
    match loop.target, loop.iter:
        case ast.Name(count), ast.Call(ast.Name("range"), [_]):
            return bool(names[count] == 0)
        case ast.Tuple([ast.Name(count), _]), ast.Call(ast.Name("enumerate"), [_]):
            return bool(names[count] == 0)
    below = [one for one in loop.body if isinstance(one, ast.Assign) and one.lineno > before]
    return any(one not in names for each in below for to in each.targets for one in names_in(to, ast.Store))


def _holds(block: list[ast.stmt], row: int) -> bool:
    return bool(block) and block[0].lineno <= row <= (block[-1].end_lineno or 0)


def last_in(scope: ast.AST, name: str, before: int = END) -> ast.AST | None:
    """The last assignment to a name in a scope, and not in a function or a class within it."""
    return next(iter(_all_in(scope, name, before)), None)


def _all_in(scope: ast.AST, name: str, before: int = END) -> list[ast.AST]:
    """All such assignments, the last first."""
    found = [(row, node) for node in inside(scope) for row in _rows_of(node, name, before)]
    return [node for _, node in sorted(found, key=lambda one: -one[0])]


def inside(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without those of the functions and classes within it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        if not isinstance(node, SCOPES):
            waiting.extend(ast.iter_child_nodes(node))
        yield node


def scope_of(tree: ast.Module, code: CodeType) -> ast.AST:
    """The function that `code` is that of; of a comprehension or a lambda what it stands in."""
    owner = owner_of(tree, code)
    if owner is not None:
        return owner[0]
    first = code.co_firstlineno
    around = [
        one
        for one in ast.walk(tree)
        if isinstance(one, FUNCTIONS) and one.lineno <= first <= (one.end_lineno or 0)
    ]
    return max(around, key=lambda one: one.lineno, default=tree)


def default_of(tree: ast.Module, code: CodeType, name: str) -> ast.expr | None:
    """The default of a parameter of a function."""
    function = scope_of(tree, code)
    return default_in(function, name) if isinstance(function, FUNCTIONS) else None


def default_in(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str) -> ast.expr | None:
    """The same of a function as syntax."""
    return next((default for one, default in defaults_of(function) if one.arg == name), None)


def in_class(owner: object, name: str) -> tuple[ast.AST, CodeType] | None:
    """The last statement `self.name = …` in the methods of an object's class, or of the class that it is.

    Of several in a method the last that makes an object of the kind that the attribute is; none that gives nothing yet.
    """
    held = value_of(ast.Attribute(ast.Name("self"), name), {"self": owner})
    kind = owner if isinstance(owner, type) else type(owner)
    given: tuple[ast.AST, CodeType] | None = None
    for one in kind.__mro__ if given is None else ():
        methods = sorted(vars(one).items(), key=lambda item: item[0] != "__init__")
        for _, method in methods:
            if isinstance(method, FunctionType) and not is_library(method.__code__.co_filename):
                tree = parse_file(method.__code__.co_filename)
                scope = scope_of(tree, method.__code__) if tree is not None else ast.Module([], [])
                found = [node for node in _all_in(scope, name) if _of_self(node, name)]
                made = (node for node in found if _class_of(node, method.__globals__) is type(held))
                if found and (given is None or is_nothing_yet(value_for(given[0], name))):
                    given = next(made, found[0]), method.__code__
    return given


def is_given_by_others(owner: object, name: str, code: CodeType) -> bool:
    """Whether another method of an object than the one of `code` gives an attribute a value, too."""
    kind = owner if isinstance(owner, type) else type(owner)
    for method in (each for one in kind.__mro__ for each in vars(one).values()):
        if isinstance(method, FunctionType) and method.__code__ is not code:
            filename = method.__code__.co_filename
            tree = None if is_library(filename) else parse_file(filename)
            found = _all_in(scope_of(tree, method.__code__), name) if tree is not None else []
            if any(_of_self(one, name) and not is_nothing_yet(value_for(one, name)) for one in found):
                return True
    return False


def is_nothing_yet(node: ast.AST | None) -> bool:
    """Whether an expression is None, or a list or a dict without anything in it, to which others add."""
    match node:
        case ast.Constant(None) | ast.List([]) | ast.Dict([]):
            return True
    return False


def _class_of(statement: ast.AST, names: dict[str, Any]) -> Any:
    """What is called for the value that a statement assigns."""
    value = getattr(statement, "value", None)
    return value_of(value.func, names) if isinstance(value, ast.Call) else None


def made_in_class(owner: object, name: str) -> Location | None:
    """Where that statement stands."""
    found = in_class(owner, name)
    return located(found[0], found[1].co_filename) if found is not None else None


def callee(node: ast.expr, names: dict[str, Any]) -> tuple[FunctionType, object] | None:
    """The function of the program that a call of this expression runs, and the object whose method it is."""
    called, owner = value_of(node, names), None
    if called is UNKNOWN and isinstance(node, ast.Attribute):
        owner = value_of(node.value, names)
        kind = owner if isinstance(owner, type) else type(owner)
        called = inspect.getattr_static(kind, node.attr, None) if owner is not UNKNOWN else None
    if isinstance(called, staticmethod | classmethod):
        called = called.__func__
    if not isinstance(called, FunctionType | type) and callable(called):
        found = inspect.getattr_static(type(called), "forward", None)
        owner, called = called, found or inspect.getattr_static(type(called), "__call__", None)
    called = inspect.unwrap(called) if isinstance(called, FunctionType) else called
    if isinstance(called, FunctionType) and not is_library(called.__code__.co_filename):
        return called, owner
    return None


def located(node: ast.AST, filename: str) -> Location:
    """The place of a statement; of a loop what it goes over, without its body."""
    if isinstance(node, ast.For | ast.comprehension):
        start, end = Location.of(node.target, filename), Location.of(node.iter, filename)
        if isinstance(node, ast.For):
            start = Location.of(node, filename)
        span = Span(start.span.start, end.span.end) if start.span and end.span else None
        text = f"for {ast.unparse(node.target)} in {end.expression}"
        return replace(start, span=span, expression=text)
    assert isinstance(node, ast.stmt)
    return Location.of(node, filename)


def path_in(target: ast.expr, name: str) -> tuple[int, ...] | None:
    """At which places of nested tuples a name stands in the target of an assignment; None where it does not."""
    if _is(target, name):
        return ()
    for place, part in enumerate(target.elts if isinstance(target, ast.Tuple | ast.List) else ()):
        if (rest := path_in(part, name)) is not None:
            return (place, *rest)
    return None


def value_for(statement: ast.AST, name: str) -> ast.expr | None:
    """What a statement assigns to a name: of a tuple that is written out the part."""
    value = getattr(statement, "value", None)
    for target in statement.targets if isinstance(statement, ast.Assign) else ():
        for place in path_in(target, name) or ():
            value = value.elts[place] if isinstance(value, ast.Tuple) else value
    return value


def _rows_of(node: ast.AST, name: str, before: int) -> Iterator[int]:
    """The row of a statement above another row that gives a name its value."""
    match node:
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.For():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if node.lineno < before and any(_is(one, name) for one in _flat(targets)):
                yield node.lineno
        case ast.comprehension(target, source):
            if source.lineno <= before <= (source.end_lineno or 0) and any(
                _is(one, name) for one in _flat([target])
            ):
                yield source.lineno
        case ast.Expr(ast.Call(ast.Attribute(ast.Name("self"), method), [ast.Constant(given), *_])):
            if method in _REGISTERS and given == name and node.lineno < before:
                yield node.lineno
        case ast.Expr(ast.Call(ast.Attribute(target, "append"), [_])) if _is(target, name):
            if node.lineno < before:
                yield node.lineno


def _of_self(statement: ast.AST, name: str) -> bool:
    """Whether a statement gives an attribute of `self` its value, and no name alone."""
    match statement:
        case ast.Expr():
            return True
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.For():
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            return any(isinstance(one, ast.Attribute) and _is(one, name) for one in _flat(targets))
    return False


def _flat(targets: list[ast.expr]) -> Iterator[ast.expr]:
    waiting = list(targets)
    while waiting:
        one = waiting.pop()
        if isinstance(one, (ast.Tuple, ast.List)):
            waiting.extend(one.elts)
        else:
            yield one.value if isinstance(one, ast.Starred) else one


def _is(target: ast.expr, name: str) -> bool:
    match target:
        case ast.Name(found) | ast.Attribute(ast.Name("self"), found):
            return found == name
    return False
