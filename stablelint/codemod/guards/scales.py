"""Bounds of logarithms of scales, and of what stands beside an offset: set where the value itself stands."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from stablelint.codemod.flow.definition import binds, definition, function_of
from stablelint.codemod.flow.nodes import VIEWS, loads, readers, stores, unsigned, viewed
from stablelint.codemod.guards.already import is_offset
from stablelint.codemod.guards.bound import COMPUTED, applied, moved, operand_of_clamp
from stablelint.codemod.guards.recurring import renamed, suite_around
from stablelint.codemod.templates.clamps import given_bounds, multiplied, number
from stablelint.codemod.templates.limits import widest
from stablelint.codemod.templates.spelling import File
from stablelint.codemod.text import draft
from stablelint.codemod.text.law import same
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Proposal
from stablelint.syntax.names import called_name, last_name

_OF_RATIO = ".clamp(max=20.0)"
_OF_VARIANCE = ".clamp(-30.0, 20.0)"  # others may divide by the exponential
_OF_STD = ".clamp(-20.0, 20.0)"  # and by the cube of a standard deviation
_OF_SOFTPLUS = " + 1e-5"
_OF_DENOMINATOR = ".clamp_min(-40.0)"  # the square of the exponential is still a normal number
_OF_BOX = ".clamp(max=4.135)"  # detectors let a box be 1000 / 16 times as large as its anchor
_CALLED_LOG = re.compile(
    r"(\b|_)l(og|n)(_\w+?)?_?(var(iance)?|std|sigma|scale|gamma|delta|tau|prec(ision)?|temp(erature)?)s?(?![a-z])"
    r"|\blog_?s(_[a-z])?\b",
    re.IGNORECASE,
)
_CALLED_STD = re.compile(r"std|sigma|scale|\blog_?s(_[a-z])?\b", re.IGNORECASE)
_CALLED_BOX = re.compile(
    r"(^|_)(anchor|prior|width|height|box|[wh]a|d[xyz]a|wh)(e?s)?(_|\d|$)", re.IGNORECASE
)
_LOG_OF_SHARE = re.compile(r"(^|_)log_?(p|pi|probs?)(_|\d|$|s$)", re.IGNORECASE)
_REDUCED = (*VIEWS, "sum", "detach")
_OF_SHAPE = frozenset("shape size device dtype ndim dim".split())
_NOISE = ("randn_like", "randn")
_OF_SCALES = ("Normal", "LogNormal", "Laplace")


def of_scale(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[Proposal, ast.expr] | None:
    """The proposal, where it clamps `node`, as one for the part of it that is to be bounded, and that part.

    ``exp(0.5 * logvar)`` bounds logvar, as ``exp(logvar)`` and ``Normal(mu, exp(x))`` do, ``sqrt(var + eps)`` var.
    Raises Withheld where a bound would hide that the logarithm of a scale is passed for the scale.
    """
    operand = operand_of_clamp(proposal, node)
    if operand is None:
        return None
    if proposal.template == widest(operand):
        inner = _of_logarithm(node)
        if _makes_scale(tree, node) or _halved(node) is not None or _CALLED_LOG.search(ast.unparse(node)):
            limits = _OF_RATIO if _is_bounded_below(tree, inner) else _limits(node)
            return replace(moved(tree, proposal, operand, inner), template=f"${operand}{limits}"), inner
        if _is_log_ratio(node):
            return replace(proposal, template=f"${operand}{_OF_RATIO}"), node
        if _sizes_box(tree, node):
            return replace(proposal, template=f"${operand}{_OF_BOX}"), node
    if proposal.template.startswith(f"${operand}.clamp_min("):
        if _CALLED_LOG.search(ast.unparse(node)) and _is_scale(tree, node):
            raise Withheld(
                f"`{ast.unparse(node)}` is called the logarithm of a scale: the scale is its exponential"
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and is_offset(tree, node.right):
            return replace(
                moved(tree, proposal, operand, node.left), template=f"${operand}.clamp_min(0)"
            ), node.left
        taken = _taken_from_one(node)
        if taken is not None:
            return _with_expm1(tree, proposal, operand, taken), node
        softened = _softplus(tree, node) if _is_scale(tree, node) else None
        if softened is not None:
            return replace(
                moved(tree, proposal, operand, softened), template=f"${operand}{_OF_SOFTPLUS}"
            ), softened
        exponent = _exponent(tree, node)
        if exponent is not None:
            if _is_bounded_below(tree, exponent):
                raise Withheld(f"there is a lower bound already, in `{ast.unparse(exponent)}`")
            inner, limits = exponent, _OF_DENOMINATOR
            if _is_scale(tree, node) or _CALLED_LOG.search(ast.unparse(exponent)):
                inner, limits = _of_logarithm(exponent), _limits(exponent)
            return replace(moved(tree, proposal, operand, inner), template=f"${operand}{limits}"), inner
    return None


def _limits(exponent: ast.expr) -> str:
    """The bounds of the logarithm of a variance, of which half is exponentiated, or of a standard deviation."""
    is_std = _halved(exponent) is None and "var" not in ast.unparse(exponent)
    return _OF_STD if is_std else _OF_VARIANCE


def of_factor(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[Proposal, ast.expr]:
    """A lower bound of a product with numbers as one of its one factor that is none, and that factor."""
    operand, factor = operand_of_clamp(proposal, node), multiplied(node)
    if operand is None or factor is None or not proposal.template.startswith(f"${operand}.clamp_min("):
        return proposal, node
    return moved(tree, proposal, operand, factor), factor


def beside_exponential(tree: Tree, proposal: Proposal, node: ast.expr) -> Proposal | None:
    """The proposal as statements that bound the names in `node` for all that reads them; None where no sum does.

    In ``1 + logvar - logvar.exp()`` a bound of the exponential alone lets the sum grow with logvar for ever; in
    ``log_scale.exp() * x``, ``log_scale.sum()`` the determinant would be that of another map. The exponential may be one
    of half a name, of its negative, or of the difference of two.
    """
    operand, function = operand_of_clamp(proposal, node), function_of(tree, node)
    exponent, names = _names_beside(tree, proposal, node)
    if operand is None or function is None or not names:
        return None
    places = [_place(tree, function, one) for one in loads(exponent) if one.id in names]
    kind, anchor = places[0] or ("", None)
    if anchor is None or any(place is None or place[0] != kind for place in places):
        return None
    if kind == "insert-before":
        anchor = min((place[1] for place in places if place is not None), key=lambda one: one.lineno)
    elif any(place != places[0] for place in places):
        return None
    text = "\n".join(f"{name} = ${name}{_limits_of_name(name)}" for name in names)
    bindings = {name: proposal.bindings[operand]._replace(text=name, span=None) for name in names}
    span = tree.source.span(tree.start(anchor), tree.end(anchor))
    return replace(proposal, template=text, kind=kind, anchor=span, bindings=bindings)


def where_made(tree: Tree, proposal: Proposal, node: ast.expr) -> list[tuple[Proposal, ast.expr]]:
    """As `beside_exponential`, as a proposal for each value that a name is given, and that value."""
    operand = operand_of_clamp(proposal, node)
    exponent, names = _names_beside(tree, proposal, node)
    given = [definition(tree, one) for one in loads(exponent) if one.id in names]
    made = [one for one in given if one is not None and isinstance(one.value, COMPUTED)]
    if operand is None or len(made) < len(given):
        return []
    return [
        (
            replace(
                moved(tree, proposal, operand, one.value), template=f"${operand}{_limits_of_name(one.name)}"
            ),
            one.value,
        )
        for one in made
    ]


def where_set(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[Proposal, ast.expr] | None:
    """As `where_made` for an attribute that the function itself sets, once: others read it too."""
    operand, function, inner = operand_of_clamp(proposal, node), function_of(tree, node), _of_logarithm(node)
    is_widest = operand is not None and proposal.template == widest(operand)
    if not is_widest or operand is None or not isinstance(inner, ast.Attribute) or function is None:
        return None
    sets = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and _sets(one, inner)]
    is_log = _CALLED_LOG.search(inner.attr) or _halved(node) is not None or _makes_scale(tree, node)
    if len(sets) != 1 or not is_log or tree.statement(node) not in tree.siblings(sets[0]):
        return None
    value = sets[0].value
    return replace(
        moved(tree, proposal, operand, value), template=f"${operand}{_limits_of_name(inner.attr)}"
    ), value


def _sets(statement: ast.Assign, attribute: ast.Attribute) -> bool:
    return [ast.unparse(one) for one in statement.targets] == [ast.unparse(attribute)]


def _limits_of_name(name: str) -> str:
    return _OF_STD if _CALLED_STD.search(name) else _OF_VARIANCE


def _names_beside(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[ast.expr, list[str]]:
    """The exponent that a fix is for, and the names that it is made of, where a reader must agree with the exponential.

    The fix bounds the exponent itself, or the exponential from below.
    """
    operand, function = operand_of_clamp(proposal, node), function_of(tree, node)
    is_widest = operand is not None and proposal.template == widest(operand)
    exponent = node if is_widest or operand is None else _exponent(tree, node)
    if operand is None or function is None or exponent is None:
        return node, []
    names = [] if any(map(_is_log_of_share, _logarithms(exponent))) else _logarithms(exponent)
    is_beside = any(_is_beside(tree, one, exponent) for name in names for one in readers(function, name))
    return exponent, names if is_beside else []


def attribute_beside(file: File, proposal: Proposal, node: ast.expr) -> list[draft.Change] | None:
    """As `beside_exponential` for an attribute: it is bounded under a name, which its readers take instead."""
    tree, function = file.tree, function_of(file.tree, node)
    operand, exponent = operand_of_clamp(proposal, node), node
    node = _of_logarithm(node)
    is_widest = operand is not None and proposal.template == widest(operand)
    if not is_widest or not isinstance(node, ast.Attribute) or function is None:
        return None
    reads = [one for one in ast.walk(function) if isinstance(one, ast.Attribute) and same(one, node)]
    if any(not isinstance(one.ctx, ast.Load) for one in reads) or not any(
        _is_beside(tree, one, exponent) for one in reads
    ):
        return None
    suite = suite_around(tree, reads)
    reading = next(one for one in suite if set(ast.walk(one)) & set(reads))
    name = file.scope.fresh(node.attr.strip("_"), node)
    line = f"{name} = {tree.text(node)}{_limits_of_name(node.attr)}"
    return renamed(tree, suite, (node, reads), name, [(reading, line)])


def _logarithms(node: ast.expr) -> list[str]:
    """The names of which an expression is one, half of one, or the difference of two, its sign aside."""
    node = unsigned(node)
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) else []
    names = parts or [_of_logarithm(node)]
    return [one.id for one in names if isinstance(one, ast.Name)] if all(map(_is_name, names)) else []


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def _place(tree: Tree, function: ast.AST, reader: ast.Name) -> tuple[str, ast.stmt] | None:
    """Where a name has its one value: before what reads a parameter first, or behind what gives it to a local.

    A parameter that is compared with something may be None.
    """
    name, assigned = reader.id, definition(tree, reader)
    if assigned is not None:
        return "insert-after", assigned.statement
    inside, bound = list(ast.walk(function)), stores(function, name)
    if any(isinstance(one, ast.arg) and one.arg == name for one in inside):
        body: list[ast.stmt] = getattr(function, "body", [])
        tests = (one for one in inside if isinstance(one, ast.Compare))
        if any(True for test in tests for _ in readers(test, name)):
            return None
        reading = next((one for one in body if any(True for _ in readers(one, name))), None)
        return ("insert-before", reading) if not bound and reading is not None else None
    suite = tree.siblings(tree.statement(reader))
    maker = next((one for one in suite if binds(one, name)), None)
    if maker is None or not set(bound) <= set(ast.walk(maker)):
        return None
    is_behind = all(one.lineno > (maker.end_lineno or 0) for one in readers(function, name))
    return ("insert-after", maker) if is_behind else None


def _of_logarithm(node: ast.expr) -> ast.expr:
    """What an expression is, its sign aside, or is half of or twice, as a variance's logarithm is a deviation's."""
    node = unsigned(node)
    if isinstance(node, ast.BinOp) and _is_product(node):
        for factor, other in ((node.left, node.right), (node.right, node.left)):
            if number(unsigned(factor)) == 2:
                return other
    return _halved(node) or node


def _halved(node: ast.expr) -> ast.expr | None:
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


def _taken_from_one(node: ast.expr) -> ast.expr | None:
    """The exponent in ``1 - torch.exp(x)``."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub) or number(node.left) != 1:
        return None
    is_function = isinstance(node.right, ast.Call) and ast.unparse(node.right.func) == "torch.exp"
    return (
        node.right.args[0] if is_function and isinstance(node.right, ast.Call) and node.right.args else None
    )


def _with_expm1(tree: Tree, proposal: Proposal, operand: str, exponent: ast.expr) -> Proposal:
    """The proposal for ``1 - torch.exp(x)`` as one for ``-torch.expm1(x)``, which loses no digits near 0."""
    span = tree.source.span(tree.start(exponent), tree.end(exponent))
    inner = proposal.bindings[operand]._replace(text=tree.text(exponent), span=span)
    template = proposal.template.replace(f"${operand}.dtype", "$exponent.dtype")
    template = template.replace(f"${operand}.", "(-torch.expm1($exponent)).", 1)
    others = {name: given for name, given in proposal.bindings.items() if name != operand}
    return replace(proposal, template=template, bindings={**others, "exponent": inner})


def _exponent(tree: Tree, node: ast.expr) -> ast.expr | None:
    """The exponent, still without a lower bound, of the exponential that an expression is, by name or not."""
    given = definition(tree, node) if isinstance(node, ast.Name) else None
    value = viewed(node if given is None else given.value)
    if not isinstance(value, ast.Call) or called_name(value) != "exp":
        return None
    exponent = value.args[0] if value.args else getattr(value.func, "value", None)
    return None if exponent is None or "min" in (given_bounds(exponent) or ()) else exponent


def _softplus(tree: Tree, node: ast.expr) -> ast.expr | None:
    """What a softplus makes of which an expression is a view, by name or not: itself, or multiplied with something."""
    given = definition(tree, node) if isinstance(node, ast.Name) else None
    value = viewed(node if given is None else given.value)
    factors = (value.left, value.right) if isinstance(value, ast.BinOp) and _is_product(value) else (value,)
    return (
        value
        if any(isinstance(one, ast.Call) and called_name(one) == "softplus" for one in factors)
        else None
    )


def _sizes_box(tree: Tree, node: ast.expr) -> bool:
    """Whether the size of an anchor is multiplied by the exponential of a node."""
    exponential = applied(tree, node, "exp")
    above = None if exponential is None else tree.link(exponential).parent
    factors = list(ast.iter_child_nodes(above)) if above is not None and _is_product(above) else []
    named = (
        one.value if isinstance(one, ast.Subscript) else one for one in factors if one is not exponential
    )
    return any(isinstance(one, ast.expr) and _CALLED_BOX.search(last_name(one)) for one in named)


def _is_log_ratio(node: ast.expr) -> bool:
    """Whether a difference is of logarithms of probabilities: that of old and new policies is bounded near 20."""
    sides = [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) else []
    names = [called_name(one) for one in map(_reduced, sides)]
    return any(one == "log" or _is_log_of_share(one) for one in names) or _is_update(names)


def _is_update(names: list[str]) -> bool:
    """Whether two names tell the new of a value from the old: ``LL_new``, ``LL_old``."""
    parts = [sorted(one.lower().strip("_").split("_")) for one in names]
    kinds = {"new", "old", "current", "prev", "previous"}
    marks = [kinds.intersection(one) for one in parts]
    return (
        len(parts) == 2
        and bool(marks[0] or marks[1])
        and marks[0] != marks[1]
        and (set(parts[0]) - kinds == set(parts[1]) - kinds)
    )


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


def _is_log_of_share(name: str) -> bool:
    return bool(_LOG_OF_SHARE.search(name)) and not _CALLED_LOG.search(name)


def _is_beside(tree: Tree, reader: ast.Name | ast.Attribute, exponent: ast.expr) -> bool:
    """Whether a reader has another use for a logarithm than an exponential, which must agree with that."""
    is_log = _CALLED_LOG.search(last_name(reader)) or _halved(exponent) is not None
    if not is_log and not _makes_scale(tree, exponent):
        # Elsewhere it may be a score, of which another measure takes the exponential.
        is_near = tree.statement(reader) is tree.statement(exponent)
        return _is_added_up(tree, reader) or (is_near and _is_addend(tree, reader, exponent))
    tree.find(tree.source.span(tree.start(reader), tree.end(reader)))
    if any(one is reader for one in ast.walk(exponent)):
        return False
    above = [link.parent for link in tree.ancestors(reader) if isinstance(link.parent, ast.expr)]
    methods = {one.attr for one in above if isinstance(one, ast.Attribute)}
    called = {last_name(one.func) for one in above if isinstance(one, ast.Call)}
    return not methods & _OF_SHAPE and not any(one.endswith("_like") for one in called)


def _is_added_up(tree: Tree, reader: ast.expr) -> bool:
    """Whether a sum is of a reader alone, its sign aside, as a map's determinant is of the logarithms of its scales."""
    tree.find(tree.source.span(tree.start(reader), tree.end(reader)))
    parent = tree.link(reader).parent
    whole = parent if isinstance(parent, ast.UnaryOp) else reader
    above = tree.link(whole).parent
    if isinstance(above, ast.AugAssign):
        return above.value is whole and isinstance(above.op, ast.Add | ast.Sub)
    return applied(tree, whole, "sum") is not None


def _is_addend(tree: Tree, reader: ast.expr, exponent: ast.expr) -> bool:
    """Whether a reader is a term of a sum, and not within the exponent itself."""
    tree.find(tree.source.span(tree.start(reader), tree.end(reader)))
    parent = tree.link(reader).parent
    if any(one is reader for one in ast.walk(exponent)) or not _is_sum(parent):
        return False
    while _is_sum(tree.link(parent).parent):
        parent = tree.link(parent).parent
    # ``log_p.exp() * (log_p - log_q)``: the logarithm of a share, and not of a scale.
    whole: ast.AST = parent
    while _is_product(tree.link(whole).parent):
        whole = tree.link(whole).parent
    within = set(ast.walk(whole)) - set(ast.walk(parent))
    return exponent not in within


def _is_sum(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def _is_product(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _makes_scale(tree: Tree, node: ast.expr) -> bool:
    """Whether a distribution takes the exponential of a node for its scale, or noise is multiplied by it."""
    exponential = applied(tree, node, "exp")
    if exponential is None:
        return False
    above, function = tree.link(exponential).parent, function_of(tree, node)
    places: list[ast.expr] = [exponential]
    if isinstance(above, ast.Assign) and function is not None:
        names = [one.id for one in above.targets if isinstance(one, ast.Name)]
        places += [one for name in names for one in readers(function, name)]
    return any(_scales_noise(tree, one) or _is_scale(tree, one) for one in places)


def _scales_noise(tree: Tree, node: ast.expr) -> bool:
    above = tree.link(node).parent
    factors = ast.iter_child_nodes(above) if _is_product(above) else ()
    return any(isinstance(one, ast.Call) and last_name(one.func) in _NOISE for one in factors)


def _is_scale(tree: Tree, node: ast.expr) -> bool:
    for link in list(tree.ancestors(node))[:2]:
        if isinstance(link.parent, ast.Call):
            return ast.unparse(link.parent.func).rpartition(".")[2] in _OF_SCALES
    return False
