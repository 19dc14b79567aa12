"""Bounds of logarithms of scales, and of what stands beside an offset: set where the value itself stands."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from stablelint.codemod.flow.definition import binds, function_of, readers
from stablelint.codemod.guards.bound import moved, operand_of_clamp
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Proposal

_WIDEST = ".clamp(max=80.0)"  # what an exponential bears; its square, one operation later, does not
_LOG_SCALE = ".clamp(max=20.0)"
_BOTH_SIDES = ".clamp(-30.0, 20.0)"  # others may divide by the exponential
_CALLED_LOG = re.compile(r"(^|[_.])log_?(var|std|sigma|scale)", re.IGNORECASE)
_OF_SCALES = ("Normal", "LogNormal", "Laplace")


def of_scale(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[Proposal, ast.expr] | None:
    """The proposal, where it clamps `node`, as one for the part of it that is to be bounded, and that part.

    ``exp(0.5 * logvar)`` bounds logvar, ``sqrt(var + eps)`` var. Raises Withheld where a bound would hide that the
    logarithm of a scale is passed for the scale.
    """
    operand = operand_of_clamp(proposal, node)
    if operand is None:
        return None
    if proposal.template == f"${operand}{_WIDEST}":
        inner = _halved(node)
        if inner is not None:
            return replace(moved(tree, proposal, operand, inner), template=f"${operand}{_LOG_SCALE}"), inner
    if proposal.template.startswith(f"${operand}.clamp_min("):
        if _CALLED_LOG.search(ast.unparse(node)) and _is_scale(tree, node):
            raise Withheld(
                f"`{ast.unparse(node)}` is called the logarithm of a scale: the scale is its exponential"
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_offset(node.right):
            return replace(
                moved(tree, proposal, operand, node.left), template=f"${operand}.clamp_min(0)"
            ), node.left
    return None


def beside_exponential(tree: Tree, proposal: Proposal, node: ast.expr) -> Proposal | None:
    """The proposal as a statement that bounds the name `node` for all that reads it; None where it is read once.

    In ``1 + logvar - logvar.exp()`` a bound of the exponential alone lets the sum grow with logvar for ever.
    """
    operand = operand_of_clamp(proposal, node)
    function = function_of(tree, node)
    if operand is None or not isinstance(node, ast.Name) or proposal.template != f"${operand}{_WIDEST}":
        return None
    if function is None or not any(_is_addend(tree, one) for one in readers(function, node.id)):
        return None
    binders = [one for one in function.body if binds(one, node.id)]
    reading = [one for one in function.body if any(True for _ in readers(one, node.id))]
    is_parameter = any(one.arg == node.id for one in ast.walk(function.args) if isinstance(one, ast.arg))
    if len(binders) == (0 if is_parameter else 1) and reading:
        anchor = reading[0] if is_parameter else binders[0]
        text = f"{node.id} = ${operand}{_BOTH_SIDES}"
        binding = replace(proposal.bindings[operand], text=node.id, span=None)
        kind = "insert-before" if is_parameter else "insert-after"
        place = tree.source.span(tree.start(anchor), tree.end(anchor))
        return replace(proposal, template=text, kind=kind, anchor=place, bindings={operand: binding})
    return None


def _halved(node: ast.expr) -> ast.expr | None:
    """What an expression is half of, as a standard deviation's logarithm is of a variance's."""
    if not isinstance(node, ast.BinOp):
        return None
    left, right = node.left, node.right
    if isinstance(node.op, ast.Mult):
        for factor, other in ((left, right), (right, left)):
            if isinstance(factor, ast.Constant) and factor.value == 0.5:
                return other
    if isinstance(node.op, ast.Div) and isinstance(right, ast.Constant) and right.value == 2:
        return left
    return None


def _is_offset(node: ast.expr) -> bool:
    """Whether a number is a small positive one; one that has a name may be set to 0."""
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value < 0.01


def _is_addend(tree: Tree, reader: ast.Name) -> bool:
    tree.find(tree.source.span(tree.start(reader), tree.end(reader)))
    parent = tree.link(reader).parent
    return isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub)


def _is_scale(tree: Tree, node: ast.expr) -> bool:
    for link in list(tree.ancestors(node))[:2]:
        if isinstance(link.parent, ast.Call):
            return ast.unparse(link.parent.func).rpartition(".")[2] in _OF_SCALES
    return False
