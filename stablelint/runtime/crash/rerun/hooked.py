"""Programs whose expressions tell what they give before it is used, so that it may be edited."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import Any

from stablelint.runtime.crash.rerun.slices import Part, expressions, last_name

VALUE, CALL, PASSED = "__stablelint_value__", "__stablelint_call__", "__stablelint_passed__"
_SIZES = ("size", "dim", "numel")  # what is asked of a tensor without its numbers
METHOD = "."  # in place of an argument's name: the method that is called
_LONGEST = 100
_READS_ITS_FRAME = (
    "super",
    "locals",
    "globals",
    "vars",
    "dir",
    "eval",
    "exec",
    "input",
    "breakpoint",
    "print",
)
_WRITTEN = ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop
_EDITED = ast.Name | ast.Attribute | ast.Subscript | ast.Constant | ast.Call | ast.BinOp | ast.Compare


@dataclass(frozen=True)
class Place:
    """An expression of a program that may be edited."""

    part: Part
    nodes: list[ast.expr]  # the same name several times, or one expression
    is_along: bool  # the dimension along which something is computed
    is_given: bool  # an argument of a call, or written out: not merely what something else is called

    @property
    def node(self) -> ast.expr:
        """The expression, where it stands first."""
        return self.nodes[0]

    @property
    def is_written(self) -> bool:
        """Whether it is a number that is written out, or made of such numbers alone."""
        return all(isinstance(one, _WRITTEN) for one in ast.walk(self.node))

    @property
    def row(self) -> int:
        """The row in which it stands."""
        return self.node.lineno

    def with_text(self, text: str) -> str:
        """Its statement with other text in its place, `{}` for its own."""
        atoms = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Constant

        def new(node: ast.expr) -> str:
            own = ast.unparse(node)
            return text.replace("{}", own if isinstance(node, atoms) else f"({own})")

        return self._written(new)

    def with_arguments(self, changes: list[tuple[int | str, str]], behind: str) -> str:
        """Its statement with other arguments of the call that it is, or another method."""

        def new(node: ast.expr) -> str:
            assert isinstance(node, ast.Call)
            old = [ast.unparse(one) for one in node.args]
            call = ast.Call(node.func, list(node.args), list(node.keywords))
            for which, text in changes:
                if isinstance(which, int):
                    call.args[which] = _parsed(text.replace("{}", old[which]).format(*old))
                elif which == METHOD and isinstance(node.func, ast.Attribute):
                    call.func = ast.Attribute(node.func.value, text, ast.Load())
                else:
                    others = [one for one in call.keywords if one.arg != which]
                    call.keywords = [*others, ast.keyword(which, _parsed(text))]
            return ast.unparse(call) + behind

        return self._written(new)

    def with_less(self, of_owner: bool) -> str:
        """Its statement with what the call that it is was asked of, or its argument, in its place."""

        def new(node: ast.expr) -> str:
            assert isinstance(node, ast.Call)
            owner = of_owner and isinstance(node.func, ast.Attribute)
            return ast.unparse(
                node.func.value if owner and isinstance(node.func, ast.Attribute) else node.args[0]
            )

        return self._written(new)

    def _written(self, new: Callable[[ast.expr], str]) -> str:
        """The whole statement, or as much around the expression as fits on a line."""
        known: dict[int, Any] = {id(one): _parsed(new(one)) for one in self.nodes}
        around = [
            one
            for one in ast.walk(self.part.statement)
            if isinstance(one, ast.expr) and _holds(one, self.node)
        ]
        whole = _header(copy.deepcopy(self.part.statement, dict(known)))
        texts = [whole, *(ast.unparse(copy.deepcopy(one, dict(known))) for one in around)]
        return next((text for text in texts if len(text) <= _LONGEST), texts[-1])


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _holds(one: ast.expr, node: ast.expr) -> bool:
    return any(inner is node for inner in ast.walk(one))


def _header(statement: ast.stmt) -> str:
    match statement:
        case ast.For(target, inner):
            return f"for {ast.unparse(target)} in {ast.unparse(inner)}"
        case ast.FunctionDef(name, args):
            return f"def {name}({ast.unparse(args)})"
        case ast.If(test=inner) | ast.While(test=inner):
            return ast.unparse(inner)
        case ast.With(items=items):
            return f"with {', '.join(map(ast.unparse, items))}"
    return ast.unparse(statement)


def places_of(parts: list[Part], trees: dict[str, ast.Module]) -> list[Place]:
    """The expressions of some statements that may be edited."""
    imported = {name: None for tree in trees.values() for name in _imported(tree)}
    found: dict[object, Place] = {}
    for part in parts:
        for whole in expressions(part.statement):
            along = {
                id(one.value) for one in ast.walk(whole) if isinstance(one, ast.keyword) and one.arg == "dim"
            }
            for node, is_given in _edited(whole):
                if not (isinstance(node, ast.Name) and node.id in (*imported, "self", "cls")):
                    named = _shared_name(node, imported)
                    for key in (id(node), *([(id(part.statement), type(node), named)] if named else [])):
                        place = found.setdefault(key, Place(part, [], id(node) in along, is_given))
                        place.nodes.append(node)
    return [one for key, one in found.items() if len(one.nodes) > 1 or isinstance(key, int)]


def _shared_name(node: ast.expr, imported: Container[str]) -> str:
    """What an expression has in common with its like in a statement, which an edit is meant for as well: names, and calls
    of one function.
    """
    match node:
        case ast.Name() | ast.Attribute() | ast.Constant(int()):
            return ast.unparse(node)
        case ast.Call(ast.Name(name)) if not hasattr(builtins, name):
            return name
        case ast.Call(ast.Attribute(ast.Name(base)) as function) if base in imported:
            return ast.unparse(function)
    return ""


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((one.asname or one.name).partition(".")[0] for one in node.names)


def _edited(node: ast.AST, is_given: bool = False) -> Iterator[tuple[ast.expr, bool]]:
    """The expressions within one, without functions that are called and texts, and whether each is given to a call."""
    if isinstance(node, ast.JoinedStr):
        return
    if (
        isinstance(node, _EDITED)
        and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        and _is_value(node)
    ):
        yield node, is_given or isinstance(node, ast.Constant)
    match node:
        case ast.Subscript(value, index):
            yield from _edited(value)
            yield from () if isinstance(index, ast.Constant) else _edited(index)
        case ast.Call(function, arguments, keywords):
            for one in (*arguments, *(each.value for each in keywords)):
                yield from _edited(one, True)
            if isinstance(function, ast.Attribute | ast.Call) and last_name(function) not in _SIZES:
                yield from _edited(function.value if isinstance(function, ast.Attribute) else function)
        case ast.Lambda(body=body):
            yield from _edited(body)
        case ast.BinOp(left, ast.Pow(), _):  # no exponent is a size
            yield from _edited(left)
        case _:
            for inner in ast.iter_child_nodes(node):
                yield from _edited(inner)


def _is_value(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, bool)
    return not (isinstance(node, ast.Call) and last_name(node.func) in _READS_ITS_FRAME)


class Hooks(ast.NodeTransformer):
    """Puts a call of a hook in the place of each expression that may be edited, and around what failed."""

    def __init__(self, numbers: dict[int, list[int]], failed: ast.AST | None) -> None:
        self._numbers, self._failed = numbers, failed  # of the expressions, by identity

    def visit(self, node: ast.AST) -> Any:
        """The node, hooked."""
        new: Any = super().visit(node)
        numbers = ast.Tuple([ast.Constant(one) for one in self._numbers.get(id(node), ())], ast.Load())
        if numbers.elts and isinstance(new, ast.Call):
            new = _called(CALL, new, numbers, new.func, *new.args, keywords=new.keywords)
        elif numbers.elts and isinstance(new, ast.expr):
            new = _called(VALUE, new, numbers, new)
        if node is self._failed and isinstance(new, ast.expr):
            new = _called(PASSED, new, new)
        elif node is self._failed and isinstance(new, ast.For):
            new.body.insert(0, ast.copy_location(ast.Expr(_called(PASSED, new.body[0])), new.body[0]))
        elif (
            node is self._failed and isinstance(new, ast.stmt) and not isinstance(new, ast.Return | ast.Raise)
        ):
            return [new, ast.copy_location(ast.Expr(_called(PASSED, new)), new)]
        return new


def _called(name: str, at: ast.AST, *given: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.Call:
    call = ast.Call(ast.Name(name, ast.Load()), list(given), keywords or [])
    for one in (call, call.func, *(given if isinstance(given[:1], list) else ())):
        ast.copy_location(one, at)
    return call
