"""Bounds that would be idle, or hide what they do not cure: each raises Withheld with what stands against it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice

from stablelint.codemod.flow.definition import binds, definition, function_of, scope_of, takes
from stablelint.codemod.flow.nodes import calls, is_number, is_product, loads, root_name
from stablelint.codemod.text.law import same
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Proposal
from stablelint.numerics.formats import FLOAT16, FLOAT32
from stablelint.syntax.names import called_name, is_name
from stablelint.syntax.operations import having
from stablelint.syntax.walk import descendants, functions_below, nodes_below

_LOGARITHMS = ("log", "log2", "log10")
_LOWEST = re.compile(r"torch\.finfo\(\$\w+\.dtype\)\.(min|max)")
_CAUGHT = ("Exception", "BaseException", "ArithmeticError", "ZeroDivisionError")
_EXPONENTIALS = having("exponential")
_ENDS = ("exit", "_exit", "quit")
_NEAR = 12  # parts of an expression, of which the first are its own


def check_log_of_quotient(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """The logarithm of a quotient is infinite where what is divided is 0, too; that of ``1 / x`` may be meant to be."""
    quotient = tree.link(node).parent
    if not isinstance(quotient, ast.BinOp) or not isinstance(quotient.op, ast.Div) or quotient.left is node:
        return
    left, above = quotient.left, tree.link(quotient).parent
    call = tree.link(above).parent if isinstance(above, ast.Attribute) else above
    if not isinstance(call, ast.Call) or called_name(call) not in _LOGARITHMS:
        return
    if " == 0, 1)" in proposal.template or any(
        called_name(one) in _EXPONENTIALS for one in parts_of(tree, left)
    ):
        raise Withheld(f"where `{ast.unparse(node)}` is 0 the logarithm may be -inf all the same")
    if is_number(left):
        raise Withheld(f"`{ast.unparse(call)}` is infinite by its meaning where `{ast.unparse(node)}` is 0")


def check_caught(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """A division of Python's numbers raises: who catches that has seen to it, and what divides by it again would raise."""
    if not proposal.template.startswith(("max($", "($")):
        return
    function, given = function_of(tree, node), next(reversed(loads(node)), None)
    is_setting = isinstance(node, ast.Name) or called_name(node) == "float"
    if is_setting and function and given and takes(function, given.id) and proposal.template.startswith("("):
        raise Withheld(f"a `{given.id}` of 0 is refused where it is divided by, and would no longer be")
    for other in nodes_below(tree.module, ast.BinOp) if isinstance(node, ast.Attribute) else ():
        if isinstance(other.op, ast.Div) and other.right is not node and same(other.right, node):
            raise Withheld(f"line {other.lineno} divides by `{ast.unparse(node)}`, too, and would raise")
    for block in nodes_below(tree.module, ast.Try):
        used = [each for each in block.handlers if not _only_ends(tree, block, each)]
        named = [one for each in used for one in descendants(each.type or ast.Name("Exception"))]
        if not any(isinstance(one, ast.Name) and one.id in _CAUGHT for one in named):
            continue
        body = [one for statement in block.body for one in descendants(statement)]
        called = {called_name(one) for one in body if isinstance(one, ast.Call)}
        within = [one for one in functions_below(tree.module) if one.name in called]
        called |= {called_name(one) for each in within for one in nodes_below(each, ast.Call)}
        if node in body or getattr(function, "name", None) in called:
            raise Withheld(f"line {block.lineno} sees to the error that a division by 0 raises")


def _only_ends(tree: Tree, block: ast.Try, handler: ast.ExceptHandler) -> bool:
    """Whether a caught error ends the program all the same: nothing follows, or it is raised again."""
    body = tree.module.body
    body = body[-1].body if isinstance(body[-1], ast.If) else body
    last = handler.body[-1]
    call = last.value if isinstance(last, ast.Expr) else None
    is_exit = calls(call, *_ENDS)
    return block is body[-1] or is_exit or (isinstance(last, ast.Raise) and last.exc is None)


def check_zeros(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """What is set to 0 has a logarithm of -inf, which may be meant; a bound is for the product of both, `p * p.log()`."""
    around = (one for one in (link.parent for link in tree.ancestors(node)) if isinstance(one, ast.Call))
    call, function = next(around, None), function_of(tree, node)
    if call is None or called_name(call) not in _LOGARITHMS or ".clamp_min(" not in proposal.template:
        return
    parts, product = list(islice(parts_of(tree, node), _NEAR)), tree.link(call).parent
    sides = (product.left, product.right) if isinstance(product, ast.BinOp) else ()
    names = {one.id for part in parts for one in loads(part)}
    for one in nodes_below(function, ast.Assign) if function is not None else ():
        is_zero = is_number(one.value) and not ast.literal_eval(one.value) and one.lineno < node.lineno
        cleared = {root_name(each.value) for each in one.targets if isinstance(each, ast.Subscript)}
        is_share = any(same(side, part) for side in sides for part in parts)
        if is_zero and cleared & names and not is_share:
            raise Withheld(
                f"`{ast.unparse(one)}` on line {one.lineno} makes zeros, whose logarithm may be meant"
            )


def check_sentinel(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """The lowest number in place of one of several that a file, or an object, keeps gives them another order."""
    if not _LOWEST.fullmatch(proposal.template):
        return
    call = next(
        (one for one in (link.parent for link in tree.ancestors(node)) if isinstance(one, ast.Call)), None
    )
    filled = call.func.value if call is not None and isinstance(call.func, ast.Attribute) else None
    if isinstance(filled, ast.Attribute) and called_name(call or node).endswith("_"):
        raise Withheld(
            f"`{ast.unparse(filled)}` keeps it, and may be compared with what other places fill in"
        )
    size = abs(ast.literal_eval(node)) if is_number(node) else 0
    for one in nodes_below(tree.module, ast.Constant):
        if isinstance(one.value, int | float) and FLOAT16.max < one.value < FLOAT32.max and one.value != size:
            if isinstance(tree.link(one).parent, ast.UnaryOp):
                raise Withheld(f"`-{tree.text(one)}` on line {one.lineno} stands in an order with it")


def check_index(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """Behind a loop that counts from 0 its index is one less than its turns: 1 in place of 0 is right for one turn alone."""
    if not isinstance(node, ast.Name) or not proposal.template.startswith(("max($", "($")):
        return
    for loop in nodes_below(scope_of(tree, node), ast.For):
        several = isinstance(loop.target, ast.Tuple)
        counter = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
        counted = loop.iter if called_name(loop.iter) == ("enumerate" if several else "range") else None
        is_from_0 = isinstance(counted, ast.Call) and len(counted.args) == 1 and not counted.keywords
        if is_from_0 and is_name(counter, node.id) and (loop.end_lineno or 0) < node.lineno:
            raise Withheld(
                f"`{node.id}` is the last index, one less than the count: divide by `{node.id} + 1`"
            )


def check_masked_maximum(tree: Tree, proposal: Proposal, node: ast.expr) -> None:
    """A sum of exponentials below the largest is 0 where a mask takes that one out of it: all others underflow."""
    above = [link.parent for link in tree.ancestors(node)][:2]
    is_logged = any(calls(one, *_LOGARITHMS) for one in above)
    parts = list(parts_of(tree, node)) if is_logged and ".clamp_min(" in proposal.template else []
    products = (one for one in parts if is_product(one))
    masked = (one for one in products if {*map(called_name, (one.left, one.right))} & _EXPONENTIALS)
    for one in masked if any(called_name(one) in ("max", "amax") for one in parts) else ():
        text = ast.unparse(one)
        raise Withheld(f"the largest exponent may be one that `{text}` leaves out: mask before its maximum")


def parts_of(tree: Tree, node: ast.expr) -> Iterator[ast.expr]:
    """The parts of an expression, of what its names were given last, or of what gave several or was appended, and so on."""
    made, function = [node], function_of(tree, node) or tree.module
    several = [one for one in nodes_below(function, ast.Assign) if isinstance(one.targets[0], ast.Tuple)]
    added = [one for one in nodes_below(function, ast.Call) if called_name(one) == "append" and one.args]
    for whole in made:
        yield from (one for one in descendants(whole) if isinstance(one, ast.expr))
        for name in loads(whole):
            last = definition(tree, name)
            values = [last.value] if last else [one.value for one in several if binds(one, name.id)]
            values += [one.args[0] for one in added if root_name(one.func) == name.id]
            made += [one for one in values if one not in made]
