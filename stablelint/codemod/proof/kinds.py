"""Operands of another kind than a rewrite is made for: sparse, integer or complex tensors, numbers of Python's."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from stablelint.catalog.pattern import PREFIX
from stablelint.codemod.flow.sorts import goes_into_table, is_array, is_complex, is_item, is_python_number
from stablelint.codemod.templates.operand import Operand
from stablelint.codemod.templates.spelling import File
from stablelint.codemod.text.law import same
from stablelint.codemod.withheld import Withheld
from stablelint.syntax.names import called_name

# Asked of a tensor: what is true of one that rewrites are not made for, and what is false of it.
_OTHER = {
    "is_sparse": "sparse",
    "is_sparse_csr": "sparse",
    "is_quantized": "quantized",
    "is_nested": "nested",
    "is_complex": "complex",
}
_USUAL = {"is_floating_point": "integer"}


def check_kind(file: File, site: ast.expr, template: str, operands: Mapping[str, Operand]) -> None:
    """Raise Withheld where an operand is of a kind that the template's functions raise for, or have no gradient for.

    That is so where a test around `site` lets it through because it is sparse, integer, …; where it is a number of Python's,
    which has no methods of a tensor; and where it is complex, which no bound is for.
    """
    tree = file.tree
    if called_name(site) in ("var_mean", "std_mean"):
        raise Withheld("it gives two results, and the rewrite one")
    table = goes_into_table(site, tree, file.qualified)
    for name, operand in operands.items():
        uses = f"${name.removeprefix(PREFIX)}"
        if operand.node is None or (f"{uses}." not in template and not template.startswith(f"{uses} + ")):
            continue
        if is_python_number(operand.node, tree):
            raise Withheld(f"`{operand.shown}` is a number of Python's, and no tensor")
        if table is not None:
            raise Withheld(f"`{operand.shown}` goes into `{table}`, and may be no tensor")
        if is_array(operand.node, tree, file.qualified):
            raise Withheld(f"`{operand.shown}` is an array or a table, and no tensor")
        if is_item(operand.node, tree):
            raise Withheld(f"`{operand.shown}` is an item of a dictionary, and no selection by a mask")
        if ".clamp" in template and is_complex(operand.node, tree):
            raise Withheld(f"`{operand.shown}` is complex")
    trees = [operand.tree for operand in operands.values()]
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
