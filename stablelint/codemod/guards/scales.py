"""Bounds of logarithms of scales, and of what stands beside an offset: set where the value itself stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from stablelint.analysis.evidence import vocabulary as words
from stablelint.codemod.flow.definition import binds, definition, function_of, origin, scope_of
from stablelint.codemod.flow.nodes import (
    VIEWS,
    calls,
    is_product,
    is_sum,
    readers,
    root_name,
    title,
    unsigned,
    viewed,
    whole,
)
from stablelint.codemod.guards.already import is_offset, is_square
from stablelint.codemod.guards.bound import (
    QUOTIENTS,
    applied,
    by_name,
    moved,
    operand_of_clamp,
    role_of,
)
from stablelint.codemod.guards.boxes import OF_EXTENT, scaled_extent
from stablelint.codemod.templates.clamps import given_bounds, multiplied, number
from stablelint.codemod.templates.forms import parse_template
from stablelint.codemod.templates.limits import may_be_half, roomy, widest
from stablelint.codemod.text.law import same
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.text.source import SourceText
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Edit, Proposal
from stablelint.syntax import operations
from stablelint.syntax.names import called_name, is_literal, is_name, last_name
from stablelint.syntax.operations import having

_OF_RATIO = ".clamp(max=20.0)"
_OF_HALF = ".clamp(max=10.0)"
_OF_BASE = ".clamp(max=44.0)"  # the square of the exponential is still finite
# No data have a variance of exp(20). Below stand the least whose reciprocal is finite, and that of whose square is: a
# smaller variance than latent diffusion allows, exp(-30), can be meant.
_OF_VARIANCE = ".clamp(-80.0, 20.0)"
_OF_STD = ".clamp(-40.0, 20.0)"
# The gradient of a quotient divides by the square of its divisor.
_OF_DIVISOR = {_OF_VARIANCE: ".clamp(-40.0, 20.0)", _OF_STD: ".clamp(-20.0, 20.0)"}
_UNDER_SCALE = ".clamp_min(1e-18)"  # of whose root the reciprocal's square is finite
_OF_DENOMINATOR = ".clamp_min(-44.0)"  # the reciprocal of the exponential's square is still finite
_LEAST = {
    "div": _OF_DENOMINATOR,
    "reciprocal": _OF_DENOMINATOR,
    "rsqrt": ".clamp_min(-58.0)",  # that of its root's cube is
}
_SMALL = 10.0  # beside a logarithm that is bounded at 20
_OF_RADICAND = ".clamp_min(-87.0)"  # the exponential is still a normal number
_PROMISES = {
    _OF_VARIANCE: "keep the logarithm of the variance between -80 and 20, where it and its reciprocal are finite",
    _OF_STD: "keep the logarithm of the scale or variance between -40 and 20, where the squared reciprocal is finite",
    ".clamp(-20.0, 20.0)": "keep the logarithm of the scale between -20 and 20, where its density's gradient is finite",
    _OF_RATIO: "keep the argument below 20, where the exponential is 5e8",
    _OF_BASE: "keep the argument below 44, where the square of the exponential is finite",
    ".clamp_min(-80.0)": "keep the logarithm of the variance above -80, where its reciprocal is finite",
    ".clamp_min(-40.0)": "keep the logarithm of the scale or variance above -40, where the squared reciprocal is finite",
    ".clamp_min(-20.0)": "keep the logarithm of the scale above -20, where its density's gradient is finite",
    _OF_DENOMINATOR: "keep the exponent above -44, where the square of the reciprocal is finite",
    _LEAST["rsqrt"]: "keep the exponent above -58, where the gradient of the reciprocal root is finite",
    _OF_RADICAND: "keep the exponent above -87, where the exponential is a normal number",
    ".clamp(max=88.0)": "keep the argument below 88, which float32 bears",
    ".clamp(min=-88.0)": "keep the argument above -88, which float32 bears",
    ".clamp(max=80.0)": "keep the argument below 80, which leaves sums and products of the exponential room in float32",
    ".clamp(min=-80.0)": "keep the argument above -80, which leaves sums and products of the exponential room in float32",
    _OF_HALF: "keep the argument below 10, where the exponential is finite in half precision, too",
    OF_EXTENT: "keep the extent of a box within 62.5 times that of its anchor, as detectors do",
    ".clamp_min(0)": "keep the argument from falling below 0 by rounding",
    " == 0, 1)": "divide by 1 in place of 0",
    ".clamp_min(1)": "divide by 1 where nothing is counted",
    ".tiny)": "keep the denominator above 0",
}
_STRICT = re.compile(r"\s*(>|<=|gt\(|le\()\s*0(\.0*)?\)?")
_CLOSING = re.compile(r"\s+(?=\))")
_REDUCED = (*VIEWS, "sum", "detach")
_OF_TWO = {"max": "min", "maximum": "min", "min": "max", "minimum": "max"}
_EXPONENTIALS = having("exponential")
_SPREADS = having("spread")
_GROWING = having("grow")
_NOISE = ("randn_like", "randn")
_MOVES = having("copy", "device", "cast")
_DENSITIES = ("Normal", "LogNormal", "Laplace")
_OF_SCALES = (*_DENSITIES, "normal")


def promise(source: SourceText, proposal: Proposal, edits: Sequence[Edit]) -> str:
    """What a fix does: what the page of its rule says, or which bound it writes in place of that of the page."""
    own = [edit for edit in edits if edit.filename is None]
    if any(_STRICT.fullmatch(edit.content) for edit in own):
        return "let the test that is there leave out 0"
    made = "\n".join(_CLOSING.sub("", edit.content) for edit in own)
    before = "\n".join(source.text[slice(*map(source.offset, edit.span))] for edit in own)
    others = {bound: said for bound, said in _PROMISES.items() if bound not in proposal.template}
    added = (said for bound, said in others.items() if made.count(bound) > before.count(bound))
    return next(added, proposal.message)


def of_scale(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[Proposal, ast.expr] | None:
    """The proposal, where it clamps `node`, as one for the part of it that is to be bounded, and that part.

    ``exp(0.5 * logvar)`` bounds logvar, as ``exp(logvar)`` and ``Normal(mu, exp(x))`` do, ``sqrt(var + eps)`` var.
    Raises Withheld where a bound would hide that the logarithm of a scale is passed for the scale.
    """
    operand = operand_of_clamp(proposal, node)
    if operand is None:
        return None
    if proposal.template == widest(operand):
        inner = of_logarithm(node)
        kept = _kept_logarithm(tree, origin(tree, inner))
        if kept is not None:
            raise Withheld(f"`{kept}` is a logarithm, whose exponential is what it was taken of")
        is_shown = makes_scale(tree, node)
        if (is_shown or _is_called_log_scale(node)) and not _is_cut_off(tree, node):
            behind = (applied(tree, one, "clamp_min", "clamp", "clip") for one in _exponentials(tree, node))
            is_bounded = any(one is not None for one in behind)
            limits = _OF_RATIO if is_bounded else limits_of(tree, node, proposal)
            made = replace(moved(tree, proposal, operand, inner), template=f"${operand}{limits}")
            return made if is_shown else by_name(made, inner, "the logarithm of a scale"), inner
        extent = scaled_extent(tree, node, _exponentials(tree, node))
        if extent is not None:
            return by_name(
                replace(proposal, template=f"${operand}{OF_EXTENT}"), extent, "the size of boxes"
            ), node
        if _is_log_ratio(node):
            bound = _OF_HALF if may_be_half(proposal.bindings[operand].dtype) else _OF_RATIO
            made = replace(proposal, template=f"${operand}{bound}")
            return by_name(made, node, "the logarithm of a ratio of probabilities"), node
        is_double = proposal.bindings[operand].dtype == "float64"
        if (
            not is_double
            and _is_alone(tree, node)
            and any(_is_squared(tree, one) for one in _exponentials(tree, node))
        ):
            return replace(proposal, template=f"${operand}{_OF_BASE}"), node
        if any(_grows(tree, one) for one in _exponentials(tree, node)):
            return replace(proposal, template=roomy(operand)), node
    if proposal.template.startswith(f"${operand}.clamp_min("):
        if _is_part_of_deviation(tree, node):
            return replace(proposal, template=f"${operand}.masked_fill(${operand} == 0, 1)"), node
        spread = _divided_by(tree, node)
        if spread is not None:
            made = moved(tree, proposal, operand, spread)
            return replace(made, template=f"${operand}.masked_fill(${operand} == 0, 1)"), spread
        if words.names_a_log_scale(title(node)) and _is_scale(tree, node):
            raise Withheld(
                f"`{ast.unparse(node)}` is called the logarithm of a scale: the scale is its exponential"
            )
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Add)
            and is_offset(tree, node.right)
            and _is_near_zero(proposal.template)
        ):
            return replace(
                moved(tree, proposal, operand, node.left), template=f"${operand}.clamp_min(0)"
            ), node.left
        root, exponent = applied(tree, node, "sqrt", "pow"), exponent_of(tree, node)
        if exponent is None and root is not None and _is_scale(tree, root):
            return replace(proposal, template=f"${operand}{_UNDER_SCALE}"), node
        radicand = _radicand(node)
        if exponent is None and radicand is not None and _is_scale(tree, node):
            # Behind the root its gradient would stay infinite.
            made = moved(tree, proposal, operand, radicand)
            return replace(made, template=f"${operand}{_UNDER_SCALE}"), radicand
        if exponent is not None:
            if _is_bounded_below(tree, exponent):
                raise Withheld(f"there is a lower bound already, in `{ast.unparse(exponent)}`")
            inner, limits = exponent, _LEAST.get(role_of(tree, node) or "", _OF_RADICAND)
            if _is_scale(tree, root or node) or _is_called_log_scale(exponent):
                inner, limits = of_logarithm(exponent), limits_of(tree, exponent, proposal)
            return replace(moved(tree, proposal, operand, inner), template=f"${operand}{limits}"), inner
    return None


def _is_negative(node: ast.expr) -> bool:
    """Whether an expression is the negative of something, or a multiple of that."""
    return any(isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.USub) for one in ast.walk(node))


def _author_sides(tree: Tree, node: ast.expr, depth: int = 8) -> Iterator[str]:
    """The sides on which a value, or what it is a view or a part of, was bounded where it got its name, or before."""
    value = viewed(origin(tree, node))
    bounds = given_bounds(value)
    inner: ast.expr | None = value if isinstance(value, ast.Name) else None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        operands = [value.func.value, *value.args][root_name(value.func) == "torch" :]
        side = _OF_TWO.get(value.func.attr) if len(operands) == 2 and not is_literal(operands[1]) else None
        yield from bounds or ([side] if side else [])
        inner = operands[0] if bounds and operands else None
    if depth and inner is not None and inner is not node:
        yield from _author_sides(tree, inner, depth - 1)


def _divided_by(tree: Tree, node: ast.expr) -> ast.expr | None:
    """The deviation or variance that a node is, or is the root of, where it, or its root, is a divisor, or is logged.

    What is divided is rounded, and no smaller for it: by anything near 0 its rounding is what is left.
    """
    given = definition(tree, node)
    value = node if given is None else given.value
    spread = whole(_radicand(whole(value)) or value)
    if not _is_spread(spread):
        return None
    roots = (applied(tree, one, "sqrt") or one for one in _read(tree, value))
    divisors = [one for root in roots for one in _read(tree, root)]
    roles = {role_of(tree, one) for one in divisors}
    is_unit = any(_is_of_difference(tree, one) or _is_of_own(tree, one, spread) for one in divisors)
    is_unit = is_unit or all(_is_factor(tree, one) for one in divisors)
    if None in roles and given is not None:  # others see it as it is
        roles, spread = roles - {None}, node
    return spread if roles <= {*QUOTIENTS, "log"} and is_unit else None


def _is_part_of_deviation(tree: Tree, node: ast.expr) -> bool:
    """Whether a difference is divided by a part of a deviation or variance: `(x[:, i] - mean[i]) / std[i]`."""
    given = definition(tree, whole(node)) if isinstance(node, ast.Subscript) else None
    return given is not None and _is_spread(whole(given.value)) and _is_of_difference(tree, node)


def _is_of_own(tree: Tree, divisor: ast.AST, spread: ast.expr) -> bool:
    """Whether values are divided by their own deviation: where they are all equal, 1 leaves them as they are."""
    dividend = _dividend(tree, divisor)
    if dividend is None or not isinstance(spread, ast.Call):
        return False
    operands = [getattr(spread.func, "value", None), *spread.args][root_name(spread.func) == "torch" :]
    return same(dividend, operands[0])


def _dividend(tree: Tree, divisor: ast.AST) -> ast.expr | None:
    """What is divided by a node."""
    match tree.link(divisor).parent:
        case ast.BinOp(left=dividend, op=ast.Div(), right=right) if right is divisor:
            return dividend
    return None


def _is_factor(tree: Tree, divisor: ast.AST) -> bool:
    """Whether a number, or another deviation, is divided, as to scale by that: a factor of 1 leaves things as they are."""
    dividend = _dividend(tree, divisor)
    value = None if dividend is None else origin(tree, dividend)
    return value is not None and (number(value) is not None or _is_spread(value))


def _is_of_difference(tree: Tree, divisor: ast.AST) -> bool:
    """Whether a difference is divided, as of values and their mean: what is constant leaves nothing of it but rounding."""
    above = tree.link(divisor).parent
    if isinstance(above, ast.BinOp):
        parts = [one for one in (above.left, above.right) if one is not divisor]
    elif isinstance(above, ast.Call) and divisor in above.args:
        parts = [
            one for one in (*above.args, getattr(above.func, "value", None)) if one not in (divisor, None)
        ]
    else:  # its root, or what is cast
        return isinstance(above, ast.Attribute | ast.Call) and _is_of_difference(tree, above)
    return any(isinstance(one, ast.Sub) for part in parts for one in ast.walk(origin(tree, part)))


def _is_spread(node: ast.expr) -> bool:
    """Whether a call is torch's, of a deviation or variance, and no other object's: ``process.std(t, x)``."""
    known = operations.canonical(called_name(node)) if isinstance(node, ast.Call) else None
    if known is None or known.name not in _SPREADS or not isinstance(node, ast.Call):
        return False
    rest = node.args[root_name(node.func) == "torch" :]
    return all(map(is_literal, rest)) and all(one.arg in known.parameters for one in node.keywords)


def _kept_logarithm(tree: Tree, value: ast.expr) -> str | None:
    """What a value is taken of that is a logarithm wherever the file makes it: itself, or an attribute of any object."""
    if called_name(value) == "log":
        return ast.unparse(value)
    read = {one.attr for one in ast.walk(value) if isinstance(one, ast.Attribute)}
    made: dict[str, list[str]] = {}
    for one in ast.walk(tree.module) if read else ():
        for target in one.targets if isinstance(one, ast.Assign) else ():
            if isinstance(target, ast.Attribute) and isinstance(one, ast.Assign):
                made.setdefault(target.attr, []).append(called_name(viewed(one.value)))
    return next((name for name in sorted(read & made.keys()) if set(made[name]) == {"log"}), None)


def _is_called_log_scale(node: ast.expr) -> bool:
    """Whether what an expression is, is half of or twice, is called a logarithm of a scale, and no sum with one."""
    inner = of_logarithm(node)
    return words.names_a_log_scale(title(inner))


def _is_near_zero(template: str) -> bool:
    """Whether a template bounds its operand by hardly more than 0, and not by 1 as for `acosh`."""
    clamp = parse_template(template)
    bound = number(clamp.args[0]) if isinstance(clamp, ast.Call) and clamp.args else None
    return bound is None or bound < 1


def limits_of(tree: Tree, exponent: ast.expr, proposal: Proposal) -> str:
    """The bounds of a logarithm: wider ones where it is a variance's, narrower ones where a scale divides.

    One that has the same name in the same class or function is taken for the same. A side that the author has bounded
    stays as it is. Raises Withheld where that is the side which the proposal is for.
    """
    inner = of_logarithm(exponent)
    exponents = [exponent, *_named_alike(tree, inner)]
    is_variance = any(_is_of_variance(tree, one) for one in exponents)
    limits = _OF_VARIANCE if is_variance else _OF_STD
    limits = _OF_DIVISOR[limits] if any(_divides(tree, one) for one in exponents) else limits
    other = _exponentiated_by(tree, inner)
    if other is not None:
        raise Withheld(
            f"`{other}` takes the exponential of the same attribute, and would go on without the bound"
        )
    sides = {*_author_sides(tree, inner), *(["min"] if _is_bounded_below(tree, inner) else [])}
    overflows = ".clamp(max=" in proposal.template
    if sides >= {"min", "max"} or ("max" if overflows != _is_negative(exponent) else "min") in sides:
        raise Withheld(f"there is a bound already, of `{ast.unparse(inner)}`")
    least, greatest = limits.removeprefix(".clamp(").removesuffix(")").split(", ")
    return (
        f".clamp_min({least})" if "max" in sides else f".clamp(max={greatest})" if "min" in sides else limits
    )


def _named_alike(tree: Tree, inner: ast.expr) -> Iterator[ast.expr]:
    """What else is exponentiated, in the class or function around a logarithm, of which that has the same name."""
    classes = (link.parent for link in tree.ancestors(inner) if isinstance(link.parent, ast.ClassDef))
    around = next(classes, None) or scope_of(tree, inner)
    name = ast.unparse(inner)
    for one in ast.walk(around) if not isinstance(around, ast.Module) else ():
        if calls(one, *_EXPONENTIALS):
            exponent = one.args[0] if one.args else getattr(one.func, "value", None)
            if exponent is not None and ast.unparse(of_logarithm(exponent)) == name:
                yield exponent


def _is_of_variance(tree: Tree, exponent: ast.expr) -> bool:
    """Whether the exponential is a variance: it is called one, a root of it is taken, or it stands with a square.

    A root of its sum with something, as of `v + eps`, or a square that is divided by that, is one of it.
    """
    if halved(exponent) is not None or words.names_a_variance(title(of_logarithm(exponent))):
        return True
    for made in _exponentials(tree, exponent):
        above = tree.link(made).parent
        terms = [above.left, above.right] if is_sum(above) else []
        sums = [made, above] if is_sum(above) else [made]
        is_divided = any(_divides_square(tree, one) for one in sums)
        if is_divided or any(map(is_square, terms)) or any(applied(tree, one, "sqrt") for one in sums):
            return True
    return False


def _divides_square(tree: Tree, node: ast.expr) -> bool:
    """Whether a square, or a sum or product with one, is divided by a node."""
    dividend = _dividend(tree, node)
    divided = () if dividend is None else ast.walk(dividend)
    return any(isinstance(one, ast.expr) and is_square(one) for one in divided)


def _exponentiated_by(tree: Tree, inner: ast.expr) -> str | None:
    """Another method that takes an exponential and reads the attribute of `self` which a name may stand for."""
    function = function_of(tree, inner)
    owner = tree.link(function).parent if function is not None else None
    if function is None or not isinstance(owner, ast.ClassDef) or not isinstance(inner, ast.Name):
        return None
    given = [one.value for one in ast.walk(function) if isinstance(one, ast.Assign) and binds(one, inner.id)]
    read = {name for value in given for name in _attributes_of_self(tree, value)}
    methods = (one for one in owner.body if isinstance(one, ast.FunctionDef) and one is not function)
    for method in methods if read else ():
        calls = (one for one in ast.walk(method) if isinstance(one, ast.Call))
        if read & _attributes_of_self(tree, method) and any(
            called_name(one) in _EXPONENTIALS for one in calls
        ):
            return method.name
    return None


def _attributes_of_self(tree: Tree, node: ast.AST) -> set[str]:
    """The attributes of `self` that are read in a node, and not called."""
    read = (one for one in ast.walk(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load))
    own = [one for one in read if is_name(one.value, "self")]
    above = [tree.link(one).parent for one in own]
    return {
        one.attr
        for one, parent in zip(own, above, strict=True)
        if not (isinstance(parent, ast.Call) and parent.func is one)
    }


def _divides(tree: Tree, exponent: ast.expr) -> bool:
    """Whether an exponential of it is a divisor, or the scale of a distribution, whose density divides by its square."""
    inner, function = of_logarithm(exponent), function_of(tree, exponent)
    read = readers(function, inner.id) if isinstance(inner, ast.Name) and function is not None else []
    exponents = [exponent, *(above for one in read for above in _multiples(tree, one))]
    made = [applied(tree, one, "sqrt") or one for each in exponents for one in _exponentials(tree, each)]
    return any(role_of(tree, one) in QUOTIENTS or _is_scale(tree, one, _DENSITIES) for one in made)


def _multiples(tree: Tree, node: ast.expr) -> Iterator[ast.expr]:
    """A node, and the sums and products around it."""
    yield node
    for link in tree.ancestors(node):
        if not isinstance(link.parent, ast.BinOp | ast.UnaryOp):
            break
        yield link.parent


def of_factor(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[Proposal, ast.expr]:
    """A lower bound of a product with numbers as one of its one factor that is none, and that factor."""
    operand, factor = operand_of_clamp(proposal, node), multiplied(node)
    if operand is None or factor is None or not proposal.template.startswith(f"${operand}.clamp_min("):
        return proposal, node
    return moved(tree, proposal, operand, factor), factor


def of_logarithm(node: ast.expr) -> ast.expr:
    """What an expression is, its sign and a small number beside it aside, or is half of or twice, as a variance's logarithm
    is a deviation's."""
    node = unsigned(node)
    pairs = ((node.left, node.right), (node.right, node.left)) if isinstance(node, ast.BinOp) else ()
    for one, other in pairs:
        size = number(unsigned(one))
        if size is not None and (size == 2 if is_product(node) else is_sum(node) and abs(size) < _SMALL):
            return of_logarithm(other) if is_sum(node) else other
    return halved(node) or node


def halved(node: ast.expr) -> ast.expr | None:
    """What an expression is half of, as a standard deviation's logarithm is of a variance's."""
    match node:
        case (
            ast.BinOp(left=left, op=ast.Mult(), right=right)
            | ast.Call(func=ast.Attribute(value=left, attr="mul"), args=[right])
        ):
            pairs = ((left, right), (right, left))
        case (
            ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=2))
            | ast.Call(func=ast.Attribute(value=left, attr="div"), args=[ast.Constant(value=2)])
        ):
            return unsigned(left)
        case _:
            return None
    return next((other for factor, other in pairs if number(unsigned(factor)) == 0.5), None)


def _is_bounded_below(tree: Tree, node: ast.expr) -> bool:
    """Whether a clamp with a lower bound is all that a name is given."""
    function = function_of(tree, node)
    if function is None or not isinstance(node, ast.Name):
        return False
    given = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and binds(one, node.id)]
    bounds = [given_bounds(one.value) for one in given]
    return bool(bounds) and all(one is not None and "min" in one for one in bounds)


def exponent_of(tree: Tree, node: ast.expr) -> ast.expr | None:
    """The exponent, still without a lower bound, of an exponential, or of the root of one, by name or not."""
    value = viewed(origin(tree, node))
    radicand = _radicand(value)
    if radicand is not None:
        return exponent_of(tree, radicand)
    if not isinstance(value, ast.Call) or called_name(value) != "exp":
        return None
    exponent = value.args[0] if value.args else getattr(value.func, "value", None)
    return None if exponent is None or "min" in (given_bounds(exponent) or ()) else exponent


def _radicand(node: ast.expr) -> ast.expr | None:
    """What an expression is the square root of."""
    match node:
        case (
            ast.BinOp(left=inner, op=ast.Pow(), right=ast.Constant(value=0.5))
            | ast.Call(func=ast.Attribute(value=inner, attr="pow"), args=[ast.Constant(value=0.5)])
            | ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="sqrt"), args=[inner])
            | ast.Call(func=ast.Attribute(value=inner, attr="sqrt"), args=[])
        ):
            return inner
    return None


def _is_log_ratio(node: ast.expr) -> bool:
    """Whether a difference is of logarithms of probabilities under new and old policies: their ratio is bounded near 20.

    The ratio of two other densities has no such limit.
    """
    sides = [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) else []
    return bool(sides) and words.tells_new_from_old(*(called_name(one) for one in map(_reduced, sides)))


def _reduced(node: ast.expr) -> ast.expr:
    """What a sum along a dimension, a part or a view is taken of."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _REDUCED
        ):
            node = node.func.value
        else:
            return node


def makes_scale(tree: Tree, node: ast.expr) -> bool:
    """Whether the exponential of a node is a scale: of a distribution, or of noise."""
    return any(_scales_noise(tree, one) or _is_scale(tree, one) for one in _exponentials(tree, node))


def _exponentials(tree: Tree, node: ast.expr) -> list[ast.expr]:
    """The exponential of a node, and the places that read the name which it is given."""
    exponential = applied(tree, node, "exp", "expm1")
    return [] if exponential is None else _read(tree, exponential)


def _read(tree: Tree, made: ast.expr) -> list[ast.expr]:
    """A value, or the places that read the name which it is given, behind its own."""
    above = tree.link(made).parent
    if not isinstance(above, ast.Assign):
        return [made]
    names = [one.id for one in above.targets if isinstance(one, ast.Name)]
    return [one for name in names for one in readers(scope_of(tree, made), name)]


def _is_cut_off(tree: Tree, node: ast.expr) -> bool:
    """Whether what is drawn by the exponential of a node is clamped: then a scale of any size gives what is meant."""
    for made in _exponentials(tree, node):
        drawn = made
        for link in tree.ancestors(made):
            if not isinstance(link.parent, ast.BinOp | ast.Call | ast.keyword):
                break
            if isinstance(link.parent, ast.Call) and last_name(link.parent.func) in _OF_SCALES:
                samples = (applied(tree, one, "sample", "rsample") for one in _read(tree, link.parent))
                return any(one is not None and _is_clamped(tree, one) for one in samples)
            drawn = link.parent if isinstance(link.parent, ast.BinOp) else drawn
        if _scales_noise(tree, made) and _is_clamped(tree, drawn):
            return True
    return False


def _is_clamped(tree: Tree, value: ast.expr) -> bool:
    return any(applied(tree, one, "clamp", "clip") is not None for one in _read(tree, value))


def _is_alone(tree: Tree, node: ast.expr) -> bool:
    """Whether no other exponential stands in the function: the quotient of two needs bounds of one kind."""
    calls = (one for one in ast.walk(scope_of(tree, node)) if isinstance(one, ast.Call))
    return sum(called_name(one) in _EXPONENTIALS for one in calls) == 1


def _is_squared(tree: Tree, node: ast.expr) -> bool:
    """Whether a square or higher power is taken of a node."""
    above, power = tree.link(node).parent, applied(tree, node, "pow")
    exponents = [above.right] if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Pow) else []
    exponents += [] if power is None else power.args[-1:]
    is_higher = any(one is not node and (number(one) or 0) >= 2 for one in exponents)
    return is_higher or applied(tree, node, "square") is not None


def _grows(tree: Tree, node: ast.expr) -> bool:
    """Whether a node is added up, or multiplied with something that is no number: large ones give what is too large."""
    above = tree.link(node).parent
    if isinstance(above, ast.BinOp):
        other = above.left if above.right is node else above.right
        return isinstance(above.op, ast.Mult | ast.MatMult) and number(unsigned(other)) is None
    return applied(tree, node, *_GROWING) is not None


def _scales_noise(tree: Tree, node: ast.expr) -> bool:
    above = tree.link(node).parent
    factors = list(ast.iter_child_nodes(above)) if is_product(above) else []
    made = (definition(tree, one) for one in factors)
    drawn = (*factors, *(one.value for one in made if one is not None))
    return any(isinstance(one, ast.expr) and _is_noise(one) for one in drawn)


def _is_noise(node: ast.expr) -> bool:
    """Whether a call draws from a normal distribution, wherever it puts what is drawn: `torch.randn(n).to(device)`."""
    if not isinstance(node, ast.Call):
        return False
    moved = isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES
    return last_name(node.func) in _NOISE or (moved and _is_noise(getattr(node.func, "value", node)))


def _is_scale(tree: Tree, node: ast.expr, of: Sequence[str] = _OF_SCALES) -> bool:
    """Whether a node is the scale of a distribution, or a factor of it: any argument but the first, which is its mean."""
    for link in list(tree.ancestors(node))[:2]:
        if isinstance(link.parent, ast.Call):
            is_mean = link.field == "args" and link.index == 0
            return last_name(link.parent.func) in of and not is_mean
        if isinstance(link.parent, ast.BinOp) and isinstance(link.parent.op, ast.Pow):
            break
    return False
