"""Where the values of names and attributes came from: the statements of the program that gave them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import CodeType

from torch import nn

from stablelint.diagnostic import Span
from stablelint.runtime.crash.expression import given_by_name, node_at, value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.program.frames import parse_file, resolve
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import FUNCTIONS, SCOPES, owner_of

Origin = tuple[str | None, Location | None]  # in words, and the statement

_NOWHERE: Origin = (None, None)
_REGISTERS = ("register_buffer", "register_parameter", "add_module")


@dataclass(frozen=True, slots=True)
class Origins:
    """What the frames of a traceback tell of where values came from."""

    frames: list[Frame]  # outermost first

    def of(self, frame: Frame, whole: ast.expr) -> Origin:
        """The last statement that gave a name, or an attribute of `self`, within an expression its value."""
        match whole:
            case ast.Name(name):
                return self.of_name(frame, name)
            case ast.Attribute(ast.Name("self"), name):
                return in_class(frame.names.get("self"), name)
            case ast.Attribute(inner) | ast.Subscript(inner) | ast.UnaryOp(_, inner):
                return self.of(frame, inner)
            case ast.Call(inner) if not callable(value_of(inner, frame.names)):
                return self.of(frame, inner)
            case ast.BinOp(left, _, right) | ast.Compare(left, _, [right]):
                found = (self.of(frame, one) for one in (left, right) if not isinstance(one, ast.Constant))
                return next((one for one in found if one[1] is not None), _NOWHERE)
        return _NOWHERE  # made by the call itself

    def of_name(self, frame: Frame, name: str) -> Origin:
        """The last statement before the failing line that gives a name of a frame its value."""
        code = frame.site.code
        found = assigned(code, name, resolve(frame.site).row)
        if found is not None:
            return f"{name} = …", found
        if name in inspect.getargs(code).args:
            return f"argument of {code.co_name}", self._passed(frame, name)
        outer = self._outer(frame)
        if name in code.co_freevars and outer is not None:
            return self.of_name(outer, name)
        tree = parse_file(code.co_filename)
        if tree is not None and name not in frame.frame.f_locals and name in frame.frame.f_globals:
            found = _last(tree, code.co_filename, name, 1 << 30)
        return (f"{name} = …", found) if found is not None else _NOWHERE

    def of_module(self, module: nn.Module) -> Origin:
        """The statement `self.name = …` in the class of the module that holds `module`, or that made the whole model."""
        for one in self.frames:
            owner = one.frame.f_locals.get("self")
            for name, child in owner._modules.items() if isinstance(owner, nn.Module) else ():
                if child is module:
                    return in_class(owner, name)
        held = [
            (frame, *each) for frame in reversed(self.frames) if frame.mine for each in frame.names.items()
        ]
        for frame, name, value in held:
            if (
                isinstance(value, nn.Module)
                and name != "self"
                and any(one is module for one in value.modules())
            ):
                return self.of_name(frame, name)
        return _NOWHERE

    def _outer(self, frame: Frame) -> Frame | None:
        """The innermost frame of the program around another."""
        return next((one for one in reversed(self.frames[: self.frames.index(frame)]) if one.mine), None)

    def _passed(self, frame: Frame, name: str) -> Location | None:
        """The statement that gave its value to what a caller of a frame passed as its argument `name`."""
        value, outer = frame.frame.f_locals.get(name), self._outer(frame)
        if outer is None:
            return None
        same = next((key for key, held in outer.frame.f_locals.items() if held is value), None)
        if same is not None:
            return self.of_name(outer, same)[1]
        node = node_at(outer.site)
        given = given_by_name(node, outer.names).get(name) if isinstance(node, ast.Call) else None
        return self.of(outer, given)[1] if given is not None else None


def in_class(owner: object, name: str) -> Origin:
    """The statement `self.name = …` in the class of an object."""
    code = getattr(type(owner).__init__, "__code__", None)
    at = assigned(code, name, 1 << 30) if code else None
    return (f"made in {type(owner).__name__}", at) if at is not None else _NOWHERE


def assigned(code: CodeType, name: str, before: int) -> Location | None:
    """The last assignment to `name` or `self.name` in a function (or module) above row `before`."""
    tree = parse_file(code.co_filename)
    scope = _scope_of(tree, code) if tree is not None else None
    return _last(scope, code.co_filename, name, before) if scope is not None else None


def _last(scope: ast.AST, filename: str, name: str, before: int) -> Location | None:
    """The last assignment to a name in a scope, and not in a function or a class within it."""
    best: tuple[int, ast.AST] | None = None
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        if not isinstance(node, SCOPES):
            waiting.extend(ast.iter_child_nodes(node))
        for row in _rows_of(node, name, before):
            if best is None or row > best[0]:
                best = row, node
    return located(best[1], filename) if best is not None else None


def _scope_of(tree: ast.Module, code: CodeType) -> ast.AST:
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
