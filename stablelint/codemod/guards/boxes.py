"""Extents of boxes, which a detector predicts as the logarithm of their ratio to those of an anchor."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stablelint.analysis.evidence import vocabulary as words
from stablelint.codemod.flow.definition import definition
from stablelint.codemod.flow.nodes import is_product, title, viewed
from stablelint.codemod.text.locate import Tree

# A side of 16 pixels, grown to 1000: the bound of the detectors that are in use.
OF_EXTENT = ".clamp(max=math.log(1000 / 16))"
_EXTENTS = (2, 3)  # behind the two coordinates of the centre


def scaled_extent(tree: Tree, exponent: ast.expr, exponentials: Sequence[ast.expr]) -> ast.expr | None:
    """The extents of an anchor of which an exponential is a factor: `priors[:, 2:] * torch.exp(t)`.

    Or the name of both, where the exponential is of what stands behind a centre: `wh = torch.exp(t[..., 2:4])`.
    """
    is_of_extents = any(map(_is_of_extents, ast.walk(_made(tree, exponent))))
    for made in exponentials:
        if is_of_extents and isinstance(made, ast.Name) and words.names_two_extents(made.id):
            return made
        for one in _factors_beside(tree, made):
            name = title(viewed(one))
            is_of_box = words.names_a_box(name) and (is_of_extents or _is_of_extents(viewed(one)))
            if is_of_box or words.names_an_extent(name):
                return one
    return None


def _made(tree: Tree, exponent: ast.expr) -> ast.expr:
    given = definition(tree, viewed(exponent))
    return exponent if given is None else given.value


def _factors_beside(tree: Tree, factor: ast.expr) -> Iterator[ast.expr]:
    above = tree.link(factor).parent
    if is_product(above):
        yield from _factors(above.right if above.left is factor else above.left)
        yield from _factors_beside(tree, above)


def _factors(product: ast.expr) -> Iterator[ast.expr]:
    if is_product(product):
        yield from _factors(product.left)
        yield from _factors(product.right)
    else:
        yield product


def _is_of_extents(node: ast.AST) -> bool:
    """Whether a part begins behind the two coordinates of a centre: `x[..., 2:4]`, `x[:, 3]`."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return False
    last = node.slice.elts[-1]
    first = last.lower if isinstance(last, ast.Slice) else last
    return isinstance(first, ast.Constant) and first.value in _EXTENTS
