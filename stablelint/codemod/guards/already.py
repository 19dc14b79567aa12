"""Guards that the code has already, by a number that the text does not settle: a second one adds nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stablelint.analysis.evidence import vocabulary as words
from stablelint.codemod.flow.definition import Function, bound_in, definition, function_of, origin
from stablelint.codemod.flow.nodes import loads, power_of, viewed
from stablelint.codemod.guards.bound import QUOTIENTS, applied, operand_of_guard, role_of
from stablelint.codemod.templates.clamps import factors, given_bounds, number
from stablelint.codemod.text.draft import Change
from stablelint.codemod.text.law import same
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Proposal
from stablelint.numerics.formats import FLOAT32
from stablelint.syntax.names import called_name, last_name, shortened
from stablelint.syntax.operations import having
from stablelint.syntax.remembered import remembered
from stablelint.syntax.signatures import defaults_in, defaults_of
from stablelint.syntax.walk import nodes_below

_SMALL, _SMOOTH = 0.01, 1.0
_OFF = re.compile(r"\b(no_grad|inference_mode)\b")
_STRICT = {">=": ">", "<": "<=", "ge": "gt", "lt": "le"}
_WAVES = having("wave")
_LARGER = ("max", "maximum")
_ENDS = ("item", "tolist", "detach", "data")


def check_unguarded(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """Raise Withheld where a lower bound is proposed for what a clamp makes, an offset for what has one, or either for a
    cosine, or its root, that divides: next to a pole the quotient is of no ordinary size."""
    value = viewed(origin(tree, node))
    side = "max" if ".clamp(max=" in proposal.template else "min"
    is_bound = any(one in proposal.template for one in (".clamp_min(", ".clamp(max=", ".masked_fill("))
    result = applied(tree, node, "sqrt", "exp")
    behind = None if result is None else applied(tree, result, "clamp", "clip", f"clamp_{side}")
    if is_bound and behind is not None and side in (given_bounds(behind) or ()):
        name = last_name(result.func) if result is not None else ""
        raise Withheld(f"`{shortened(tree.text(behind))}` has a bound: it belongs in front of `{name}`")
    for one in (value, *_values(tree, node)) if is_bound else ():
        bound = (given_bounds(one) or {}).get(side)
        limit = None if bound is None else number(bound)
        if bound is not None and limit is None:
            raise Withheld(f"there is a clamp already, by `{tree.text(bound)}`")
        if (
            bound is not None
            and "finfo" not in ast.unparse(bound)
            and 0 < (limit or 0) < FLOAT32.smallest_subnormal
        ):
            raise Withheld(f"the clamp by `{tree.text(bound)}` is one for double precision")
    for bound in (given_bounds(value) or {}).values() if ".clamp" in proposal.template else ():
        if 0 < 1 - abs(number(bound) or 0) < FLOAT32.eps / 4:
            raise Withheld(
                f"there is a clamp already, by `{tree.text(bound)}`, which single precision rounds to 1"
            )
    offsets = (one for one in _addends(value) if (number(one) or 0) > 0 or is_offset(tree, one, _SMOOTH))
    if ".masked_fill(" in proposal.template and (offset := next(offsets, None)) is not None:
        raise Withheld(f"there is an offset already, by `{tree.text(offset)}`")
    divisor = node if proposal.template.startswith("($") else result if is_bound else None
    if divisor is not None and called_name(value) in _WAVES and role_of(tree, divisor) == "div":
        raise Withheld(
            f"the quotient has a pole or a limit where `{ast.unparse(value)}` is 0: keep the angle from there"
        )
    others = value.args if isinstance(value, ast.Call) and called_name(value) in _LARGER else []
    least = next((one for each in others for one in loads(each) if is_offset(tree, one)), None)
    if is_bound and side == "min" and least is not None:
        raise Withheld(f"there is a bound already, by `{least.id}`")
    setting = next((one for one in _addends(value) if _is_set_to_zero(tree, one)), None)
    if " == 0, 1)" in proposal.template and setting is not None:
        raise Withheld(f"`{tree.text(setting)}`, which is 0, is there to keep the sum above that")
    if is_bound and role_of(tree, node) in QUOTIENTS and is_square(value):
        raise Withheld(
            f"the bound of `{shortened(tree.text(value))}` is met by the squares of what is not small"
        )


def _is_set_to_zero(tree: Tree, node: ast.expr) -> bool:
    """Whether a name is given 0, or is a parameter whose default is that."""
    given, function = definition(tree, node), function_of(tree, node)
    defaults = defaults_of(function) if function is not None and given is None else ()
    values = (
        [value for one, value in defaults if one.arg == last_name(node)] if given is None else [given.value]
    )
    return isinstance(node, ast.Name) and any(number(value) == 0 for value in values)


def without_equality(tree: Tree, proposal: Proposal, node: ast.expr) -> Change | None:
    """The change of a test that is to keep 0 from a divisor and lets it through: ``torch.where(d >= 0, x / d, 1)``.

    Where `where` passes gradients on, the branch that it does not take has one, too, and a test is no guard.
    """
    if role_of(tree, node) != "div" or operand_of_guard(proposal) is None:
        return None
    for link in tree.ancestors(node):
        match link.parent:
            case ast.IfExp(test=test):
                is_kept = link.field == "body"
            case ast.Call(func=ast.Attribute(attr="where"), args=[test, _, _]) as choice:
                if link.index == 0 or not _is_without_gradient(tree, choice):
                    return None
                is_kept = link.index == 1
            case ast.expr():
                continue
            case _:
                return None
        return _strict(tree, test, node, is_kept)
    return None


def _strict(tree: Tree, test: ast.expr, node: ast.expr, is_kept: bool) -> Change | None:
    """The change of a test by which 0 is taken for what is kept to one by which it is not."""
    of, asks = re.escape(tree.text(node)), ">=|ge" if is_kept else "<|lt"
    found = re.fullmatch(rf"{of}(?:\s*|\.)({asks})((?:\s*|\()0(?:\.0*)?\)?)", tree.text(test))
    if found is None:
        return None
    return tree.start(test) + found.start(1), tree.end(test), _STRICT[found[1]] + found[2]


def _is_without_gradient(tree: Tree, node: ast.expr) -> bool:
    """Whether no gradient comes back to an expression: by what is read of it, or what stands around it."""
    for one in (link.parent for link in tree.ancestors(node)):
        if isinstance(one, ast.Attribute) and one.attr in _ENDS:
            return True
        heads: list[ast.AST] = [*getattr(one, "decorator_list", ())]
        heads += one.items if isinstance(one, ast.With) else ()
        if any(_OFF.search(ast.unparse(head)) for head in heads):
            return True
    return False


def is_square(node: ast.expr) -> bool:
    """Whether an expression is a square, or a product of three factors or more that are no numbers."""
    power = power_of(node)
    match node:
        case _ if power is not None:
            return isinstance(power[1], ast.Constant) and power[1].value == 2
        case ast.Call(func=ast.Attribute(attr="square")):
            return True
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            unknown = [one for one in factors(node) if not isinstance(one, ast.Constant)]
            return same(left, right) or len(unknown) > 2
    return False


def _values(tree: Tree, node: ast.expr) -> Iterator[ast.expr]:
    """All that the function gives a name, or an attribute, before a node, on one path or another."""
    function = function_of(tree, node)
    if function is None or not isinstance(node, ast.Name | ast.Attribute):
        return
    text = ast.unparse(node)
    for one, given in _assignments(function):
        if one.lineno < node.lineno and text in given:
            yield viewed(one.value)


@remembered
def _assignments(function: Function) -> list[tuple[ast.Assign, frozenset[str]]]:
    """The assignments of a function, each with the names that it binds and the texts of its targets."""
    found = (one for one in ast.walk(function) if isinstance(one, ast.Assign))
    return [(one, bound_in(one).union(map(ast.unparse, one.targets))) for one in found]


def is_offset(tree: Tree, node: ast.expr, largest: float = _SMALL) -> bool:
    """Whether a number is a small positive one, or what has one up to `largest` by default."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float) and 0 < node.value < _SMALL
    assigned = nodes_below(tree.module, ast.Assign)
    if isinstance(node, ast.Attribute):
        text = ast.unparse(node)
        sets = [one for one in assigned if ast.unparse(one.targets[0]) == text]
        of_base = [] if sets else words.kinds_of_argument(node.attr)  # a base in another file sets it
        return "small" in of_base or any(_is_small(tree, one.value, largest) for one in sets)
    named_here = [one for one in assigned if [ast.unparse(t) for t in one.targets] == [last_name(node)]]
    if any(isinstance(one.value, ast.Constant) and _is_small(tree, one.value, largest) for one in named_here):
        return True
    given = nodes_below(tree.module, ast.arguments)
    named = (pair for one in given for pair in defaults_in(one))
    return any(name.arg == last_name(node) and _is_small(tree, value, largest) for name, value in named)


def _is_small(tree: Tree, value: ast.expr, largest: float) -> bool:
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
        return 0 < value.value <= largest
    return not isinstance(value, ast.Attribute) and is_offset(tree, value, largest)


def _addends(node: ast.expr) -> Iterator[ast.expr]:
    """The terms of a sum, under a power or multiplied with something, too; the factors of terms that are products."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from (*_addends(left), *_addends(right))
            yield from (one for term in (left, right) for one in factors(term))
        case ast.BinOp(left=base, op=ast.Pow()):
            yield from _addends(base)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            yield from (*_addends(left), *_addends(right))
        case ast.Call(func=ast.Attribute(value=left, attr="add"), args=[right]):
            yield from (*_addends(left), *_addends(right), right)
