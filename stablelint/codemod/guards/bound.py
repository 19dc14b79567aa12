"""Bounding a value where it got its name, instead of where the name is read.

``d = d.clamp(min=0)`` and, as its only reader, ``d.sqrt()``: the fix for ``d`` is another bound in the first line.
``n = mask.sum()`` and, as its only readers, ``x / n`` and ``y / n``: one bound for both stands in the first line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import replace

from stablelint.analysis.evidence import vocabulary as words
from stablelint.codemod.flow.definition import (
    Definition,
    declared,
    definition,
    first_under_test,
    function_of,
    in_loop,
    origin,
)
from stablelint.codemod.flow.effects import is_cheap
from stablelint.codemod.flow.nodes import is_product, loads, power_of, root_name, title, viewed
from stablelint.codemod.templates.clamps import given_bounds, multiplied
from stablelint.codemod.templates.limits import roomy, widest
from stablelint.codemod.text.locate import Tree
from stablelint.diagnostic import Proposal
from stablelint.syntax import operations
from stablelint.syntax.names import called_name, is_name, last_name
from stablelint.syntax.operations import SELECTIONS, having
from stablelint.syntax.walk import functions_below

_LOWER = ("clamp_min", "clamp", "clip")
_UPPER = ("clamp_max", "clamp", "clip")
TINIEST = ".tiny"
_OF_OTHERS = re.compile(r"(min\(6e-8, )?(torch\.finfo\(\$\w+\.dtype\)\.tiny)(?(1)\))(?=\))")
_OF_QUOTIENT = re.compile(r"(torch\.finfo\(\$\w+\.dtype\)\.tiny) \*\* 0\.5")
TERM = "term"
COMPUTED = ast.Call | ast.BinOp | ast.Subscript
QUOTIENTS = frozenset(("div", "rsqrt", "reciprocal", "digamma"))
_SINGULAR = having("singular")
OF_POSITIVE = _SINGULAR - {"reciprocal"}
_SHARES = ("softmax", "sigmoid", "exp")
ONE = re.compile(r"^\$(\w+)\.masked_fill\(\$\1 == 0, 1\)$")
REPLACED = re.compile(r"^\$(\w+)\.masked_fill\(\$\1\.abs\(\) < (.+), \2\)$")  # near 0, of either sign
FILLED = ".masked_fill("
_PARTS = having("layout", "copy") | SELECTIONS  # of the same type
_BOUNDED = re.compile(r"^\$(\w+)\.clamp\w*\([^$]*(\$\1\.dtype[^$]*)*\)$")


def at_clamp(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[Proposal, ast.expr] | None:
    """The proposal for a part of what a clamp makes, or for its name, as one for that clamp, and the clamp.

    None where the name stands for something else, may stand for something else, or has other readers.
    """
    operand = operand_of_clamp(proposal, node)
    if operand is None:
        return None
    value = _clamp_of(tree, node) if isinstance(node, ast.Name) else _clamp_within(node)
    given = given_bounds(value) if value is not None else None
    if value is None or not given or not given.keys() & _sides(proposal.template):
        return None
    return moved(tree, proposal, operand, value), value


def of_count(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[Proposal, ast.expr]:
    """The proposal with a bound by what is divided by means: 1 for the sum of what is called a mask, a count of elements.

    What is called a count, a length, a width or a height is positive, and what a mask leaves of shares is not negative.
    What a sigmoid or softmax makes, or is called soft, may add up to less than 1. The bound of a count's power is one of
    the count.
    """
    bounded = replace(proposal, template=REPLACED.sub(r"$\1.clamp_min(\2)", proposal.template))
    is_one = ONE.match(proposal.template) is not None
    if is_one:
        bounded = replace(proposal, template=ONE.sub(r"$\1.clamp_min(1)", proposal.template))
    operand = None if proposal.template.startswith("max(") else operand_of_clamp(bounded, node)
    if operand is None or _sides(bounded.template) != {"min"} or role_of(tree, node) != "div":
        return proposal, node
    base = (power_of(node) or [node])[0]
    if _is_count(tree, base):
        return _counted(moved(tree, bounded, operand, base), operand, base), base
    summed = _summed(tree, node)
    if summed is None:
        called = title(node)
        is_size = words.names_a_length(called) or words.names_an_extent(called)
        is_positive = bounded != proposal and is_size and not is_one
        return (by_name(bounded, node, "positive") if is_positive else proposal), node
    named = definition(tree, summed)
    is_share = not is_one and named is not None and _is_masked_share(named.value)
    return (bounded if is_share else proposal), node


def _is_count(tree: Tree, node: ast.expr) -> bool:
    """Whether a node is called a count, or a sum of such, or is the sum of what is called a mask and holds no weights."""
    summed = None if _is_sum_of_counts(node) else _summed(tree, node)
    if summed is None:
        return _is_sum_of_counts(node)
    named = definition(tree, summed)
    made_of = "" if named is None else ast.unparse(named.value)
    is_mask = words.names_a_mask(last_name(summed)) and not words.names_a_soft_value(
        last_name(summed) + made_of
    )
    return is_mask and (named is None or not _is_weighted(named.value))


def _is_weighted(value: ast.expr) -> bool:
    """Whether a value holds the product of a mask with what is called none, and compares nothing."""
    products = (one for one in ast.walk(value) if is_product(one))
    factors = [viewed(side) for one in products for side in (one.left, one.right)]
    return any(
        not isinstance(one, ast.Compare | ast.BinOp) and not words.names_a_mask(last_name(one))
        for one in factors
    )


def _counted(proposal: Proposal, operand: str, node: ast.expr) -> Proposal:
    """The proposal as one for a count, of which none is between 0 and 1."""
    return by_name(replace(proposal, template=f"${operand}.clamp_min(1)"), node, "a count, or 0")


def by_name(proposal: Proposal, node: ast.expr, kind: str) -> Proposal:
    """The proposal, with the caveat that its name alone says what a node is."""
    return replace(proposal, caveats=(f"nothing but its name says that `{ast.unparse(node)}` is {kind}",))


def _is_sum_of_counts(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add) and all(map(_is_sum_of_counts, (node.left, node.right)))
    return words.names_a_count(title(node))


def _is_masked_share(node: ast.expr) -> bool:
    """Whether a product is of what a softmax, sigmoid or exponential makes and what is called a mask: none is below 0."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    return all(
        called_name(one) in _SHARES or words.names_a_mask(last_name(viewed(one)))
        for one in (node.left, node.right)
    )


def of_view(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[Proposal, ast.expr]:
    """The guard of a view of a name as one of the name."""
    operand, inner = operand_of_guard(proposal), viewed(node)
    binding = proposal.bindings.get(operand or "")
    if operand is None or binding is None or binding.span != proposal.span or not is_cheap(inner):
        return proposal, node
    return moved(tree, proposal, operand, inner), inner


def _summed(tree: Tree, node: ast.expr) -> ast.expr | None:
    """What a sum, or the sum that a name stands for, is taken of, without the views, casts and parts that are summed."""
    total = viewed(origin(tree, node))
    if not isinstance(total, ast.Call) or last_name(total.func) != "sum":
        return None
    inner: ast.expr = total
    while isinstance(inner, ast.Call | ast.Subscript):
        if isinstance(inner, ast.Subscript):
            inner = inner.value
        elif isinstance(inner.func, ast.Attribute) and root_name(inner.func) != "torch":
            inner = inner.func.value
        elif inner is total and inner.args:
            inner = inner.args[0]
        else:
            return None
    return inner


def at_definition(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[Proposal, ast.expr] | None:
    """The proposal for the name `node` as one for the value that it was given, and that value.

    None where the name may be given another value, where fewer than two readers are quotients, roots or logarithms, or
    where one is no arithmetic: a test for 0 would be changed by the bound. A sum or product bears the smallest of bounds,
    and not a count of 1 for 0. Where one reader is a quotient the bound is that of a quotient, and where one is a logarithm
    that of a logarithm, so that it is of what is divided by; where one is a root or logarithm, what a quotient takes for a
    number of either sign is one above 0. An upper bound is one for two exponentials or more, and nothing else; a 1 for 0 is
    for quotients alone.
    """
    bounded = replace(proposal, template=REPLACED.sub(r"$\1.clamp_min(\2)", proposal.template))
    one = ONE.match(proposal.template)
    operand = operand_of_clamp(bounded, node) if one is None else one[1]
    is_widest = operand is not None and proposal.template in (widest(operand), roomy(operand))
    if (
        operand is None
        or not isinstance(node, ast.Name)
        or not (is_widest or one or _sides(bounded.template) == {"min"})
    ):
        return None
    function = _function_without_loop(tree, node)
    if function is None:
        return None
    given = definition(tree, node)
    value = given.value if given is not None and isinstance(given.value, COMPUTED) else None
    if given is None or value is None or may_be_none(tree, given):
        return None
    last = given.statement.end_lineno or 0
    made = {
        read: definition(tree, read) for read in loads(function) if read.id == node.id and read.lineno > last
    }
    readers = [read for read, of in made.items() if of is not None and of.statement is given.statement]
    if None in made.values():
        return None
    if is_widest:
        is_exponent = len(readers) > 1 and all(applied(tree, read, "exp") for read in readers)
        return (moved(tree, proposal, operand, value), value) if is_exponent else None
    roles = [
        role_of(tree, read) if _function_without_loop(tree, read) is function else None for read in readers
    ]
    if one is not None:  # what is handed on is what was divided by
        pairs = zip(readers, roles, strict=True)
        roles = [role for read, role in pairs if role is not None or not _is_handed_on(tree, read)]
    terms = roles.count(TERM)
    if one is not None and not QUOTIENTS.issuperset(roles):
        return None
    if None in roles or len(roles) - terms < 2 or (terms and TINIEST not in bounded.template):
        return None
    if bounded != proposal and not OF_POSITIVE.intersection(roles):
        bounded = proposal
    return moved(tree, replace(bounded, template=for_all(bounded.template, roles)), operand, value), value


def _is_handed_on(tree: Tree, reader: ast.expr) -> bool:
    """Whether a name is returned, or given to a function of the file."""
    above = tree.link(reader).parent
    if isinstance(above, ast.Tuple):
        above = tree.link(above).parent
    defined = (one.name for one in functions_below(tree.module))
    return isinstance(above, ast.Return) or (isinstance(above, ast.Call) and called_name(above) in defined)


def may_be_none(tree: Tree, given: Definition) -> bool:
    """Whether a call of the program gives a name its value, and a test stands before all that read it."""
    value = given.value
    name = called_name(value)
    is_known = isinstance(value, ast.BinOp) or (operations.method(name) or operations.canonical(name))
    return not is_known and first_under_test(tree, given.statement, given.name) is not None


def divided_beside(tree: Tree, proposal: Proposal, node: ast.expr) -> str | None:
    """What is wrong with a bound of the name under a logarithm or root alone: its statement divides by it as well."""
    function = function_of(tree, node)
    is_bound = operand_of_clamp(proposal, node) is not None and role_of(tree, node) in OF_POSITIVE - QUOTIENTS
    if not isinstance(node, ast.Name) or function is None or not is_bound:
        return None
    statement = tree.statement(node)
    beside = (one for one in loads(statement) if one.id == node.id and one is not node)
    divides = any(role_of(tree, one) == "div" for one in beside)
    return f"`{node.id}` is divided by without the bound, too" if divides else None


def for_all(template: str, roles: Iterable[str | None]) -> str:
    """A template that bounds what is read in several roles: a logarithm's, which moves no number that has one, or, where
    none is taken, a quotient's."""
    taken = set(roles)
    if "log" in taken:
        return _OF_QUOTIENT.sub(r"\1", template)
    return _OF_OTHERS.sub(r"\2 ** 0.5", template) if QUOTIENTS & taken else template


def applied(tree: Tree, node: ast.expr, *names: str) -> ast.Call | None:
    """The call of one of the operations, as a method or function, that `node` goes into as its first operand."""
    link = tree.link(node)
    call = tree.link(link.parent).parent if isinstance(link.parent, ast.Attribute) else link.parent
    is_first = isinstance(link.parent, ast.Attribute) or (link.field == "args" and link.index == 0)
    named = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in names
    return call if named and is_first and isinstance(call, ast.Call) else None


def behind_definition(tree: Tree, proposal: Proposal, node: ast.expr, value: ast.expr) -> Proposal:
    """The proposal for the name `node` as a statement that gives it anew, behind the one that gives it `value`."""
    operand = next(name for name, given in proposal.bindings.items() if given.span == proposal.span)
    given = tree.statement(value)
    span = tree.source.span(tree.start(given), tree.end(given))
    binding = proposal.bindings[operand]._replace(text=ast.unparse(node), span=None)
    bindings = {**proposal.bindings, operand: binding}
    template = f"{ast.unparse(node)} = {proposal.template}"
    return replace(proposal, template=template, kind="insert-after", anchor=span, bindings=bindings)


def apart(tree: Tree, proposal: Proposal, node: ast.expr) -> Proposal | None:
    """As `behind_definition`, where `node` is the only reader of a local name that is given once."""
    given, function = definition(tree, node), function_of(tree, node)
    whole = any(one.span == proposal.span for one in proposal.bindings.values())
    if given is None or function is None or not whole or given.name in declared(function):
        return None
    if given_bounds(given.value) or may_be_none(tree, given):
        return None  # a second clamp behind it would say that the first does not suffice
    named = [one for one in ast.walk(function) if is_name(one, given.name)]
    return behind_definition(tree, proposal, node, given.value) if len(named) == 2 else None


def role_of(tree: Tree, reader: ast.expr) -> str | None:
    """The operation for which a name is read: one that divides by it, takes its root or logarithm, or a term of a sum.

    A function of the name may stand in between, as in ``x.sinh().log()``. None for a reader that is no arithmetic.
    """
    child: ast.AST = reader
    for link in tree.ancestors(reader):
        parent = link.parent
        if isinstance(parent, ast.BinOp):
            if multiplied(parent) is not reader:
                return _role_in(parent, child)
        elif isinstance(parent, ast.Call):
            name = parent.func.attr if isinstance(parent.func, ast.Attribute) else ""
            if name in _SINGULAR:
                return name
            if len(parent.args) != (0 if parent.func is child else 1) or parent.keywords:
                return None
        elif isinstance(parent, ast.AugAssign):
            return "div" if isinstance(parent.op, ast.Div) else None
        elif not isinstance(parent, ast.Attribute) and getattr(parent, "value", None) is not child:
            return None
        elif isinstance(parent, ast.stmt):
            return None
        child = parent
    return None


def _role_in(parent: ast.BinOp, child: ast.AST) -> str | None:
    """As `role_of`, of an operand: a denominator, the base of a power that need not be whole, or a term or factor."""
    if isinstance(parent.op, ast.Div) and parent.right is child:
        return "div"
    is_whole = isinstance(parent.right, ast.Constant) and isinstance(parent.right.value, int)
    if isinstance(parent.op, ast.Pow):
        return "pow" if parent.left is child and not is_whole else None
    return TERM


def moved(tree: Tree, proposal: Proposal, operand: str, value: ast.expr) -> Proposal:
    """The proposal for `value` in place of the operand's name."""
    span = tree.source.span(tree.start(value), tree.end(value))
    binding = proposal.bindings[operand]._replace(text=tree.text(value), span=span)
    others = {name: given._replace(span=None) for name, given in proposal.bindings.items()}
    return replace(proposal, span=span, bindings={**others, operand: binding})


def operand_of_clamp(proposal: Proposal, node: ast.expr) -> str | None:
    """The metavariable that the template clamps, where it does nothing else, and where that is `node`."""
    for name, binding in proposal.bindings.items():
        clamps = proposal.template.startswith((f"${name}.clamp", f"max(${name}, "))
        if clamps and binding.span == proposal.span:
            return name
    return None


def operand_of_guard(proposal: Proposal) -> str | None:
    """The metavariable that the template bounds, on one side or near 0, where it does nothing else."""
    found = next(filter(None, (one.match(proposal.template) for one in (ONE, REPLACED, _BOUNDED))), None)
    return found[1] if found is not None else None


def _sides(template: str) -> frozenset[str]:
    """The bounds that a template sets, by the name of its method."""
    if template.startswith("max("):
        return frozenset(("min",))
    method = template.partition(".")[2].partition("(")[0]
    return frozenset(("min", "max")) if method == "clamp" else frozenset((method.removeprefix("clamp_"),))


def _clamp_of(tree: Tree, node: ast.Name) -> ast.Call | None:
    """The call whose result the name is; `node` its only reader."""
    function, given = _function_without_loop(tree, node), definition(tree, node)
    if function is None or given is None or not isinstance(given.value, ast.Call):
        return None
    first, own = given.statement.lineno, set(ast.walk(given.statement))
    named = (one for one in ast.walk(function) if is_name(one, node.id) and one.lineno >= first)
    return None if any(one is not node and one not in own for one in named) else given.value


def _clamp_within(node: ast.expr) -> ast.Call | None:
    """The call of whose result an expression takes a part, or is a view."""
    part = node
    while isinstance(part, ast.Subscript | ast.Call):
        if isinstance(part, ast.Subscript):
            part = part.value
            continue
        if given_bounds(part) is not None:
            return part if part is not node else None
        found = operations.method(called_name(part))
        if found is None or found[0].name not in _PARTS or not isinstance(part.func, ast.Attribute):
            return None
        is_function = root_name(part.func) == "torch" and bool(part.args)
        part = part.args[0] if is_function else part.func.value
    return None


def _function_without_loop(tree: Tree, node: ast.expr) -> ast.AST | None:
    """The function around a node, unless a loop stands between them or the function shares its names."""
    function = None if in_loop(tree, node) else function_of(tree, node)
    return None if function is None or declared(function) else function
