"""A template that begins with a minus, behind a minus in the code: both go.

``-(y * log(h) + ...).mean()`` becomes ``binary_cross_entropy(h, y)``, not ``-(-binary_cross_entropy(h, y,
reduction='none')).mean()``.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

import libcst as cst

from stablelint.catalog.pattern import PREFIX
from stablelint.codemod import forms
from stablelint.codemod.locate import Tree
from stablelint.codemod.operand import Operand, bare

_REDUCTIONS = ("mean", "sum")


@dataclass(frozen=True, slots=True)
class _Reduction:
    """A mean or sum of an expression, with its further arguments."""

    call: ast.Call
    name: str
    arguments: list[ast.expr]


def without_signs(
    tree: Tree, node: ast.expr, expression: cst.BaseExpression, operands: dict[str, Operand]
) -> tuple[ast.expr, cst.BaseExpression]:
    """The expression to replace, and what replaces it.

    A minus above `node` is taken along where the template has one as well, and a mean or sum in between
    becomes the loss's own reduction where it has one.
    """
    if not (isinstance(expression, cst.UnaryOperation) and isinstance(expression.operator, cst.Minus)):
        return node, expression
    reduction = _reduction(tree, node)
    parent = tree.link(node if reduction is None else reduction.call).parent
    if not (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub)):
        return node, expression
    inner = expression.expression.with_changes(lpar=[], rpar=[])
    return parent, inner if reduction is None else _reduced(tree, reduction, inner, operands)


def _reduction(tree: Tree, node: ast.expr) -> _Reduction | None:
    """The reduction right around `node`: ``node.mean(...)`` or ``torch.mean(node, ...)``."""
    link = tree.link(node)
    above = link.parent
    if isinstance(above, ast.Attribute):
        call = tree.link(above).parent
        if isinstance(call, ast.Call) and call.func is above and above.attr in _REDUCTIONS:
            return _Reduction(call, above.attr, list(call.args))
    elif isinstance(above, ast.Call) and link.field == "args" and link.index == 0:
        function = above.func
        if isinstance(function, ast.Attribute) and function.attr in _REDUCTIONS:
            return _Reduction(above, function.attr, list(above.args[1:]))
    return None


def _reduced(
    tree: Tree, reduction: _Reduction, inner: cst.BaseExpression, operands: dict[str, Operand]
) -> cst.BaseExpression:
    keywords = reduction.call.keywords
    if not reduction.arguments and not keywords:
        own = _with_own(inner, reduction.name)
        if own is not None:
            return own
    arguments: list[str] = []
    given: list[tuple[str | None, ast.expr]] = [(None, value) for value in reduction.arguments]
    given += [(keyword.arg, keyword.value) for keyword in keywords]
    for index, (keyword, value) in enumerate(given):
        name = f"{PREFIX}_reduction{index}"
        operands[name] = Operand(name, bare(tree.text(value)), value, value)
        arguments.append(f"{keyword}={name}" if keyword else name)
    return cst.parse_expression(f"{forms.code(inner)}.{reduction.name}({', '.join(arguments)})")


def _with_own(loss: cst.BaseExpression, reduction: str) -> cst.BaseExpression | None:
    """The loss with ``reduction='none'`` replaced by the reduction, which is left out where it is the default."""
    if not isinstance(loss, cst.Call):
        return None
    kept = [
        argument for argument in loss.args if not (argument.keyword and argument.keyword.value == "reduction")
    ]
    if len(kept) == len(loss.args):
        return None
    if reduction != "mean":
        kept.append(forms.argument(f"'{reduction}'", "reduction"))
    return loss.with_changes(args=forms.joined(kept))
