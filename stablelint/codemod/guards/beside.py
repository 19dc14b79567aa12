"""Bounds of the logarithm of a scale for all that reads it: where it is made, or behind what makes it.

In ``1 + logvar - logvar.exp()`` a bound of the exponential alone lets the sum grow with logvar for ever.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from stablelint.analysis.evidence import vocabulary as words
from stablelint.codemod.flow.definition import (
    Function,
    binds,
    definition,
    first_under_test,
    function_of,
    takes,
)
from stablelint.codemod.flow.nodes import (
    OF_SHAPE,
    VIEWS,
    is_product,
    is_sum,
    loads,
    readers,
    stores,
    unsigned,
)
from stablelint.codemod.guards.bound import (
    COMPUTED,
    TERM,
    applied,
    may_be_none,
    moved,
    operand_of_clamp,
    role_of,
)
from stablelint.codemod.guards.scales import (
    exponent_of,
    limits_of,
    makes_scale,
    of_logarithm,
)
from stablelint.codemod.templates.limits import widest
from stablelint.codemod.text.law import same
from stablelint.codemod.text.locate import Tree
from stablelint.diagnostic import Proposal
from stablelint.syntax.names import last_name, name_of
from stablelint.syntax.walk import SCOPES


def beside_exponential(tree: Tree, proposal: Proposal, node: ast.expr) -> Proposal | None:
    """The proposal as statements that bound the names in `node` for all that reads them; None where no sum does.

    In ``1 + logvar - logvar.exp()`` a bound of the exponential alone lets the sum grow with logvar for ever; in
    ``log_scale.exp() * x``, ``log_scale.sum()`` the determinant would be that of another map. The exponential may be one
    of half a name, of its negative, or of the difference of two.
    """
    operand = operand_of_clamp(proposal, node)
    exponent, names = _names_beside(tree, proposal, node)
    if operand is None or not names:
        return None
    places = [_place(tree, _scope(tree, node), one) for one in loads(exponent) if one.id in names]
    kind, anchor = places[0] or ("", None)
    if anchor is None or any(place is None or place[0] != kind for place in places):
        return None
    if kind == "insert-before":
        anchor = min((place[1] for place in places if place is not None), key=lambda one: one.lineno)
    elif any(place != places[0] for place in places):
        return None
    limits = limits_of(tree, exponent, proposal)
    text = "\n".join(f"{name} = ${name}{limits}" for name in names)
    bindings = {name: proposal.bindings[operand]._replace(text=name, span=None) for name in names}
    span = tree.source.span(tree.start(anchor), tree.end(anchor))
    return replace(proposal, template=text, kind=kind, anchor=span, bindings=bindings)


def disagrees(tree: Tree, proposal: Proposal, node: ast.expr) -> str | None:
    """What is wrong with a bound of `node` alone: a name or part in it is read beside it, and goes on without."""
    if operand_of_clamp(proposal, node) is None:
        return None
    exponent, names = _names_beside(tree, proposal, node)
    added = None if names else _added_up(tree, proposal, exponent)
    read = names[0] if names else "" if added is None else ast.unparse(added)
    return f"`{read}` is read without the bound, too" if read else None


def _added_up(tree: Tree, proposal: Proposal, exponent: ast.expr) -> ast.expr | None:
    """The exponent, its sign aside, where the function adds it up elsewhere: a determinant would be that of another map."""
    inner, operand = of_logarithm(exponent), operand_of_clamp(proposal, exponent)
    is_of_exponent = operand is not None and "math.log(" in proposal.template
    if not is_of_exponent or not isinstance(inner, ast.Name | ast.Subscript):
        return None
    within = set(ast.walk(exponent))
    read = (one for one in ast.walk(_scope(tree, exponent)) if isinstance(one, ast.Name | ast.Subscript))
    alike = (one for one in read if same(one, inner) and one not in within)
    above = ((one, tree.link(one).parent) for one in alike)
    signed = [up if isinstance(up, ast.UnaryOp) else one for one, up in above]
    adds = (
        one for one in signed if role_of(tree, one) == TERM or applied(tree, one, "sum", "mean") is not None
    )
    return inner if any(True for _ in adds) else None


def where_made(tree: Tree, proposal: Proposal, node: ast.expr) -> list[tuple[Proposal, ast.expr]]:
    """As `beside_exponential`, as a proposal for each value that a name is given, and that value."""
    operand = operand_of_clamp(proposal, node)
    exponent, names = _names_beside(tree, proposal, node)
    given = [definition(tree, one) for one in loads(exponent) if one.id in names]
    made = [one for one in given if one is not None and isinstance(one.value, COMPUTED | ast.Attribute)]
    if operand is None or len(made) < len(given) or any(may_be_none(tree, one) for one in made):
        return []
    return [
        (
            replace(
                moved(tree, proposal, operand, one.value),
                template=f"${operand}{limits_of(tree, exponent, proposal)}",
            ),
            one.value,
        )
        for one in made
    ]


def where_set(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[Proposal, ast.expr] | None:
    """As `where_made` for an attribute that the function itself sets, once: others read it too."""
    operand, function, inner = operand_of_clamp(proposal, node), function_of(tree, node), of_logarithm(node)
    is_widest = operand is not None and proposal.template == widest(operand)
    if not is_widest or operand is None or not isinstance(inner, ast.Attribute) or function is None:
        return None
    sets = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and sets_attribute(one, inner)]
    is_log = words.names_a_log_scale(inner.attr) or makes_scale(tree, node)
    if len(sets) != 1 or not is_log or tree.statement(node) not in tree.siblings(sets[0]):
        return None
    value = sets[0].value
    return replace(
        moved(tree, proposal, operand, value), template=f"${operand}{limits_of(tree, node, proposal)}"
    ), value


def sets_attribute(statement: ast.Assign, attribute: ast.Attribute) -> bool:
    """Whether a statement gives an attribute its value, and nothing else one."""
    return [ast.unparse(one) for one in statement.targets] == [ast.unparse(attribute)]


def _names_beside(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[ast.expr, list[str]]:
    """The exponent that a fix is for, and the names that it is made of, where a reader must agree with the exponential.

    The fix bounds the exponent itself, or the exponential from below.
    """
    exponent = _exponent(tree, proposal, node)
    if exponent is None:
        return node, []
    names = [] if any(map(words.names_a_log_share, _logarithms(exponent))) else _logarithms(exponent)
    read = [one for name in names for one in readers(_scope(tree, node), name)]
    is_log = any(map(words.names_a_log_scale, names)) or makes_scale(tree, exponent)
    is_log = is_log or any(_is_in_sum_with(tree, one, exponent) for one in read)
    within = set(ast.walk(exponent))
    # What is multiplied with as well is no logarithm: ``x * torch.exp(x + y)`` would have another x.
    is_beside = [_is_beside(tree, one, exponent) for one in read if is_log or one not in within]
    return exponent, names if (any if is_log else all)(is_beside) and any(is_beside) else []


def _scope(tree: Tree, node: ast.expr) -> Function | ast.Module:
    """The function around a node, or the file without its functions and classes: the names in them are others."""
    own = [one for one in tree.module.body if not isinstance(one, SCOPES)]
    return function_of(tree, node) or ast.Module(own, [])


def _exponent(tree: Tree, proposal: Proposal, node: ast.expr) -> ast.expr | None:
    """The exponent that a bound of `node` is for: itself, or that of the exponential which is kept from 0."""
    operand = operand_of_clamp(proposal, node)
    if operand is None:
        return None
    return node if proposal.template == widest(operand) else exponent_of(tree, node)


def attribute_beside(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[ast.Attribute, str] | None:
    """The attribute that a function reads beside its exponential, or beside that of a part of it, and its bounds."""
    exponent, function = _exponent(tree, proposal, node), function_of(tree, node)
    read = None if exponent is None or function is None else of_logarithm(exponent)
    read = read.value if isinstance(read, ast.Subscript) else read
    if not isinstance(read, ast.Attribute) or exponent is None or function is None:
        return None
    alike = (one for one in ast.walk(function) if isinstance(one, ast.Attribute) and same(one, read))
    return (
        (read, limits_of(tree, exponent, proposal))
        if any(_is_beside(tree, one, exponent) for one in alike)
        else None
    )


def _logarithms(node: ast.expr) -> list[str]:
    """The names of which an expression is one, half of one, or the difference of two, its sign aside."""
    node = unsigned(node)
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) else []
    names = [name_of(one) for one in parts or [of_logarithm(node)]]
    return names if all(names) else []


def _place(tree: Tree, scope: Function | ast.Module, reader: ast.Name) -> tuple[str, ast.stmt] | None:
    """Where a name has its last value: before what reads a parameter first, or behind what gives it one.

    A parameter that is compared with something may be None, and has another value behind that. Earlier values may be read by
    tests, and by what gives the name another.
    """
    name, assigned = reader.id, definition(tree, reader)
    if assigned is not None:
        return _behind(tree, assigned.statement, name)
    inside, bound = list(ast.walk(scope)), stores(scope, name)
    parameters = [one for one in inside if isinstance(one, ast.arg) and one.arg == name]
    if len(parameters) > (isinstance(scope, Function) and takes(scope, name)):
        return None  # a lambda's own
    tests = [one for one in inside if isinstance(one, ast.Compare) and any(True for _ in readers(one, name))]
    if parameters and not bound:
        body: list[ast.stmt] = getattr(scope, "body", [])
        reading = next((one for one in body if any(True for _ in readers(one, name))), None)
        return ("insert-before", reading) if not tests and reading is not None else None
    statement = tree.statement(reader)
    around = [
        statement,
        *(link.parent for link in tree.ancestors(statement) if isinstance(link.parent, ast.stmt)),
    ]
    suites = (tree.siblings(one) for one in around if one is not scope and one in inside)
    makers = (
        (suite, one)
        for suite in suites
        for one in reversed(suite)
        if binds(one, name) and one.lineno < statement.lineno
    )
    suite, maker = next(makers, ([], None))
    last = 0 if maker is None else maker.end_lineno or 0
    giving = (one for one in inside if isinstance(one, ast.Assign) and binds(one, name))
    unread = {one for part in (*tests, *giving) for one in ast.walk(part)}
    read = [one.lineno for one in readers(scope, name) if one not in unread]
    if maker is None or any(one.lineno > last for one in bound):
        return None
    is_read_there = all(last < row <= (suite[-1].end_lineno or 0) for row in read)
    return _behind(tree, maker, name) if is_read_there else None


def _behind(tree: Tree, maker: ast.stmt, name: str) -> tuple[str, ast.stmt]:
    """Behind what gives a name its value, or before the first reader where only one branch has any."""
    first = first_under_test(tree, maker, name)
    return ("insert-after", maker) if first is None else ("insert-before", first)


def _is_beside(tree: Tree, reader: ast.Name | ast.Attribute, exponent: ast.expr) -> bool:
    """Whether a reader has another use for a logarithm than an exponential, which must agree with that."""
    if not words.names_a_log_scale(last_name(reader)) and not makes_scale(tree, exponent):
        # Elsewhere it may be a score, of which another measure takes the exponential.
        is_near = tree.statement(reader) is tree.statement(exponent)
        return _is_added_up(tree, reader) or (is_near and _is_addend(tree, reader, exponent))
    tree.find(tree.source.span(tree.start(reader), tree.end(reader)))
    if any(one is reader for one in ast.walk(exponent)):
        return False
    above = [link.parent for link in tree.ancestors(reader) if isinstance(link.parent, ast.expr)]
    methods = {one.attr for one in above if isinstance(one, ast.Attribute)}
    called = {last_name(one.func) for one in above if isinstance(one, ast.Call)}
    return not methods & OF_SHAPE and not any(one.endswith("_like") for one in called)


def _is_added_up(tree: Tree, reader: ast.expr) -> bool:
    """Whether a sum is of a reader or view alone, its sign aside, as a map's determinant is of its scales' logarithms."""
    tree.find(tree.source.span(tree.start(reader), tree.end(reader)))
    parent = tree.link(reader).parent
    whole = parent if isinstance(parent, ast.UnaryOp) else reader
    while (view := applied(tree, whole, *VIEWS)) is not None:
        whole = view
    above = tree.link(whole).parent
    if isinstance(above, ast.AugAssign):
        return above.value is whole and isinstance(above.op, ast.Add | ast.Sub)
    return applied(tree, whole, "sum") is not None


def _is_addend(tree: Tree, reader: ast.expr, exponent: ast.expr) -> bool:
    """Whether a reader is a term of a sum, and not within the exponent itself."""
    tree.find(tree.source.span(tree.start(reader), tree.end(reader)))
    parent = tree.link(reader).parent
    if any(one is reader for one in ast.walk(exponent)) or not is_sum(parent):
        return False
    while is_sum(tree.link(parent).parent):
        parent = tree.link(parent).parent
    # ``log_p.exp() * (log_p - log_q)``: the logarithm of a share, and not of a scale.
    whole: ast.AST = parent
    while is_product(tree.link(whole).parent):
        whole = tree.link(whole).parent
    within = set(ast.walk(whole)) - set(ast.walk(parent))
    return exponent not in within


def _is_in_sum_with(tree: Tree, reader: ast.Name, exponent: ast.expr) -> bool:
    """Whether a sum is of an exponential less the bare name, or the reverse, as the divergence of normal distributions."""
    exponential = applied(tree, exponent, "exp", "expm1")
    if exponential is None:
        return False
    (one, sign), (other, opposite) = _sum_around(tree, reader), _sum_around(tree, exponential)
    return one is other and sign != opposite


def _sum_around(tree: Tree, term: ast.expr) -> tuple[ast.AST, bool]:
    """The whole sum that an expression is a term of, and whether it is taken away there."""
    tree.find(tree.source.span(tree.start(term), tree.end(term)))
    whole: ast.AST = term
    is_less = False
    while is_sum(above := tree.link(whole).parent) or isinstance(above, ast.UnaryOp):
        is_less ^= isinstance(above.op, ast.USub) or (
            isinstance(above, ast.BinOp) and isinstance(above.op, ast.Sub) and above.right is whole
        )
        whole = above
    return whole, is_less
