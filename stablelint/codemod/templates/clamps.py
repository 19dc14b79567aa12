"""Tightening a clamp that is there, instead of putting another one behind it."""

from __future__ import annotations

import ast
import contextlib
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping

from stablelint.catalog.contract import BINARY
from stablelint.catalog.pattern import PREFIX
from stablelint.codemod.flow.definition import definition
from stablelint.codemod.templates import forms
from stablelint.codemod.templates.instantiate import uses
from stablelint.codemod.templates.operand import Operand, bare
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.withheld import Withheld
from stablelint.numerics.formats import FORMATS
from stablelint.syntax import operations
from stablelint.syntax.names import last_name, name_of

_LOWER, _UPPER = "min", "max"
_LIMITS: dict[str, Callable[[list[float]], float]] = {"min": min, "max": max}
_NAMES = {"clamp": (_LOWER, _UPPER), "clamp_min": (_LOWER,), "clamp_max": (_UPPER,)}
# Stand-ins for the constants of an element type, good enough to see which of two bounds is the tighter.
_CONSTANTS = {
    "tiny": sys.float_info.min,
    "eps": 1e-7,
    "max": sys.float_info.max,
    "min": -sys.float_info.max,
}


def merged(tree: Tree, node: ast.expr, expression: ast.expr, operands: dict[str, Operand]) -> ast.expr:
    """``y.clamp(min=0)`` with the bounds of the template ``$x.clamp_min(...)``, where `node`, the value of
    ``$x``, is a clamp one of whose bounds is a number that a new one makes idle; else `expression` as it is.
    Raises Withheld where a bound is no number: a second clamp behind it would say that it does not suffice.
    """
    wanted = _template_bounds(expression, operands, node)
    given = given_bounds(node)
    if wanted is None or given is None or not isinstance(node, ast.Call):
        return expression
    for side, argument in given.items():
        old = number(argument)
        if side in wanted and old is None:
            raise Withheld(f"there is a clamp already, by `{tree.text(argument)}`")
    shared = given.keys() & wanted.keys()
    sizes = {side: (wanted[side][1], number(given[side]) or 0.0) for side in shared}
    idle = {side for side, (new, old) in sizes.items() if (new < old if side == _LOWER else new > old)}
    if shared and idle == wanted.keys():
        return expression
    wanted = {side: bound for side, bound in wanted.items() if side not in idle}
    texts = {side: text for side, (text, _) in wanted.items()}
    return _written(tree, node, texts, given, operands, _receiver(expression))


def of_tested(expression: ast.expr, operands: Mapping[str, Operand]) -> ast.expr:
    """``x.clamp(max=0)`` for ``torch.where(x >= 0, 0, x)``: what is kept stays, the rest lies at the end of that.

    The end is the number that the template puts there, or keeps what is put under a logarithm or root above 0.
    """
    match expression:
        case ast.Call(func=ast.Attribute(attr="where"), args=[ast.Name(id=test), first, second]):
            kept, other = (first, second) if isinstance(first, ast.Name) else (second, first)
        case _:
            return expression
    match operands[test].tree if test in operands else None:
        case ast.Compare(
            left=left, ops=[ast.Gt() | ast.GtE() | ast.Lt() | ast.LtE() as asked], comparators=[end]
        ):
            at, put = number(end), number(other)
        case _:
            return expression
    above = isinstance(asked, ast.Gt | ast.GtE) is (kept is first)
    if at is None or not (at == put or (put == 1 and at > 0 and above)) or not isinstance(kept, ast.Name):
        return expression
    if kept.id not in operands or ast.unparse(operands[kept.id].tree) != ast.unparse(left):
        return expression
    call = forms.called(kept, method="clamp")
    call.keywords.append(ast.keyword(_LOWER if above else _UPPER, end))
    return call


def without_second(tree: Tree, expression: ast.expr, operands: Mapping[str, Operand]) -> ast.expr:
    """A template without the lower bounds, within it, of operands that have one where they are made."""

    def bounded(node: ast.expr) -> ast.expr | None:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name) as inner, attr=attr)) if (
                name in operands and node is not expression and _LOWER in _NAMES.get(attr, ())
            ):
                operand = operands[name]
                made = None if operand.node is None else definition(tree, operand.node)
                value = operand.tree if made is None else made.value
                return inner if _LOWER in (given_bounds(value) or ()) else None
        return None

    return forms.transform(expression, bounded)


def _receiver(expression: ast.expr) -> str:
    """The placeholder of what the template clamps."""
    assert isinstance(expression, ast.Call)
    assert isinstance(expression.func, ast.Attribute)
    return name_of(expression.func.value)


def _template_bounds(
    expression: ast.expr, operands: Mapping[str, Operand], node: ast.expr
) -> dict[str, tuple[str, float]] | None:
    """Text and size of the bounds that the template sets on the operand that is `node`."""
    if not isinstance(expression, ast.Call) or not isinstance(expression.func, ast.Attribute):
        return None
    receiver = operands.get(name_of(expression.func.value))
    sides = _NAMES.get(expression.func.attr)
    if receiver is None or receiver.node is not node or sides is None:
        return None
    bounds: dict[str, tuple[str, float]] = {}
    positional = dict(zip(sides, expression.args, strict=False))
    for side, value in (*positional.items(), *((one.arg or "", one.value) for one in expression.keywords)):
        size = number(value)
        if size is None or side not in (_LOWER, _UPPER):
            return None
        bounds[side] = forms.code(value), size
    return bounds


def given_bounds(node: ast.expr) -> dict[str, ast.expr] | None:
    """The bounds of a clamp in the code, by side; None for any other call."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    name = operations.method(node.func.attr)
    sides = _NAMES.get(name[0].name) if name is not None and not name[1] else None
    if sides is None:
        return None
    positional = node.args[1:] if _is_function(node) else node.args
    bounds = dict(zip(sides, positional, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in sides:
            return None
        bounds[keyword.arg] = keyword.value
    return bounds


def _is_function(node: ast.Call) -> bool:
    function = node.func
    return isinstance(function, ast.Attribute) and ast.unparse(function.value) in ("torch", "th")


def _written(
    tree: Tree,
    node: ast.Call,
    wanted: dict[str, str],
    given: dict[str, ast.expr],
    operands: dict[str, Operand],
    clamped: str,
) -> ast.expr:
    """The call in the code with the wanted bounds, spelled as it was.

    Bounds that ask `clamped`, the clamp's result, for its element type ask what goes into the clamp instead.
    """
    placeholders: dict[int, str] = {}

    def placed(value: ast.expr) -> str:
        name = placeholders.setdefault(id(value), f"{PREFIX}_clamp{len(placeholders)}")
        span = tree.source.span(tree.start(value), tree.end(value))
        operands[name] = Operand(name, bare(tree.text(value)), value, value, span)
        return name

    function = node.func
    assert isinstance(function, ast.Attribute)
    subject = node.args[0] if _is_function(node) and node.args else function.value
    pending = {
        side: re.sub(rf"\b{clamped}\b", placed(subject), text) if clamped in uses(text) else text
        for side, text in wanted.items()
    }
    side_of = {id(value): side for side, value in given.items()}
    parts: list[str] = []
    for argument in node.args:
        side = side_of.get(id(argument))
        parts.append(pending.pop(side) if side is not None and side in pending else placed(argument))
    named = {one.arg or "": pending.get(one.arg or "") or placed(one.value) for one in node.keywords}
    new = pending.keys() - named.keys()
    bounds = {side: pending[side] for side in new & {_LOWER}} | named | pending
    follows = node.args and not node.keywords and side_of.get(id(node.args[-1])) == _LOWER
    parts += [text if follows else f"{side}={text}" for side, text in bounds.items()]
    owner = ast.unparse(function.value) if _is_function(node) else placed(function.value)
    name = "clamp" if new else function.attr
    return forms.parse_code(f"{owner}.{name}({', '.join(parts)})")


def number(node: ast.AST) -> float | None:
    """A bound's value: numbers, their sums and powers, and constants of an element type."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Attribute) and "finfo" in (asked := ast.unparse(node.value)):
        form = FORMATS.get(asked.removesuffix(")").rpartition("torch.")[2])
        known = (
            {} if form is None else {"tiny": form.tiny, "eps": form.eps, "max": form.max, "min": -form.max}
        )
        return known.get(node.attr, _CONSTANTS.get(node.attr))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _LIMITS:
        sizes = [size for size in map(number, node.args) if size is not None]
        return _LIMITS[node.func.id](sizes) if len(sizes) == len(node.args) > 0 else None
    sides = (number(node.left), number(node.right)) if isinstance(node, ast.BinOp) else ()
    if isinstance(node, ast.BinOp) and type(node.op) in BINARY and None not in sides:
        with contextlib.suppress(ArithmeticError):
            result = BINARY[type(node.op)](*(side for side in sides if side is not None))
            return result if isinstance(result, float) else None  # the root of a negative number is complex
    return None


def multiplied(node: ast.expr) -> ast.expr | None:
    """The one factor of a product that is no number, where those that are make it no smaller."""
    parts = list(factors(node))
    numbers = [math.pi if last_name(one) == "pi" else number(one) for one in parts]
    others = [factor for factor, size in zip(parts, numbers, strict=True) if size is None]
    grows = math.prod(size for size in numbers if size is not None) >= 1
    return others[0] if len(others) == 1 < len(parts) and grows else None


def factors(node: ast.expr) -> Iterator[ast.expr]:
    """The factors of a product, or an expression that is none."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            yield from factors(left)
            yield from factors(right)
        case _:
            yield node
