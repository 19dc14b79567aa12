"""Branches that are taken for tensors of another kind than a rewrite is made for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from stablelint.codemod.templates.operand import Operand
from stablelint.codemod.text.law import same
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.withheld import Withheld

# Asked of a tensor: what is true of one that rewrites are not made for, and what is false of it.
_OTHER = {
    "is_sparse": "sparse",
    "is_sparse_csr": "sparse",
    "is_quantized": "quantized",
    "is_nested": "nested",
    "is_complex": "complex",
}
_USUAL = {"is_floating_point": "integer"}


def check_kind(tree: Tree, site: ast.expr, operands: Iterable[Operand]) -> None:
    """Raise Withheld where a test around `site` lets an operand through because it is sparse, integer, ….

    The functions that rewrites call raise for such tensors, or have no gradient for them.
    """
    trees = [operand.tree for operand in operands]
    for link in tree.ancestors(site):
        if isinstance(link.parent, ast.If | ast.IfExp) and link.field in ("body", "orelse"):
            for owner, kind in _let_through(link.parent.test, link.field == "body"):
                if any(same(owner, one) for one in trees):
                    raise Withheld(f"the branch is one for {kind} tensors")


def _let_through(test: ast.expr, holds: bool) -> Iterator[tuple[ast.expr, str]]:
    """Tensors, with their kind, for which a test may come out as `holds` because they are of that kind."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _let_through(value, holds)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _let_through(test.operand, not holds)
    else:
        asked = test.func if isinstance(test, ast.Call) else test
        if isinstance(asked, ast.Attribute):
            kind = (_OTHER if holds else _USUAL).get(asked.attr)
            if kind is not None:
                is_function = isinstance(test, ast.Call) and bool(test.args)
                yield (test.args[0] if is_function and isinstance(test, ast.Call) else asked.value), kind
