"""A template that begins with a minus, behind a minus in the code: both go.

``-(y * log(h) + ...).mean()`` becomes ``binary_cross_entropy(h, y)``, not ``-(-binary_cross_entropy(h, y,
reduction='none')).mean()``.
"""

from __future__ import annotations

import ast

from stablelint.catalog.pattern import PREFIX
from stablelint.codemod.templates import forms
from stablelint.codemod.templates.operand import Operand, bare
from stablelint.codemod.text.locate import Tree

_REDUCTIONS = ("mean", "sum")


# A mean or sum of an expression: its name, its further arguments.
_Reduction = tuple[ast.Call, str, list[ast.expr]]


def without_signs(
    tree: Tree, node: ast.expr, expression: ast.expr, operands: dict[str, Operand]
) -> tuple[ast.expr, ast.expr]:
    """The expression to replace, and what replaces it.

    A minus above `node` is taken along where the template has one as well. Means and sums in between stay; one
    alone becomes the loss's own reduction where it has one.
    """
    if not (isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub)):
        return node, expression
    reductions = _reductions(tree, node)
    parent = tree.link(reductions[-1][0] if reductions else node).parent
    if not (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub)):
        return node, expression
    inner = expression.operand
    own = None
    if len(reductions) == 1:
        call, name, arguments = reductions[0]
        own = None if arguments or call.keywords else _with_own(inner, name)
    return parent, own or _reduced(tree, reductions, inner, operands)


def _reductions(tree: Tree, node: ast.expr) -> list[_Reduction]:
    """The means and sums around `node`, from the innermost out."""
    found: list[_Reduction] = []
    while (reduction := _reduction(tree, found[-1][0] if found else node)) is not None:
        found.append(reduction)
    return found


def _reduction(tree: Tree, node: ast.expr) -> _Reduction | None:
    """The reduction right around `node`: ``node.mean(...)`` or ``torch.mean(node, ...)``."""
    link = tree.link(node)
    above = link.parent
    if isinstance(above, ast.Attribute):
        call = tree.link(above).parent
        if isinstance(call, ast.Call) and call.func is above and above.attr in _REDUCTIONS:
            return call, above.attr, list(call.args)
    elif isinstance(above, ast.Call) and link.field == "args" and link.index == 0:
        function = above.func
        if isinstance(function, ast.Attribute) and function.attr in _REDUCTIONS:
            return above, function.attr, list(above.args[1:])
    return None


def _reduced(
    tree: Tree, reductions: list[_Reduction], inner: ast.expr, operands: dict[str, Operand]
) -> ast.expr:
    for depth, (around, name, arguments) in enumerate(reductions):
        call = forms.called(inner, method=name)
        given = [(None, value) for value in arguments] + [(one.arg, one.value) for one in around.keywords]
        for index, (keyword, value) in enumerate(given):
            placeholder = f"{PREFIX}_reduction{depth}_{index}"
            operands[placeholder] = Operand(placeholder, bare(tree.text(value)), value, value)
            put = ast.Name(placeholder, ast.Load())
            if keyword:
                call.keywords.append(ast.keyword(keyword, put))
            else:
                call.args.append(put)
        inner = call
    return inner


def _with_own(loss: ast.expr, reduction: str) -> ast.expr | None:
    """The loss with ``reduction='none'`` replaced by the reduction, which is left out where it is the default."""
    if not isinstance(loss, ast.Call):
        return None
    kept = [one for one in loss.keywords if one.arg != "reduction"]
    if len(kept) == len(loss.keywords):
        return None
    if reduction != "mean":
        kept.append(ast.keyword("reduction", ast.Constant(reduction)))
    return ast.Call(loss.func, loss.args, kept)
