"""Operands of another kind than a rewrite is made for, by what stands around it: sparse tensors, what goes into a table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

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
_OF_OPERAND = re.compile(r"\$\w+(\.| \+ )")
_TABLES = ("numpy.", "pandas.", "scipy.")
_USUAL = {"is_floating_point": "integer"}


def check_kind(file: File, site: ast.expr, template: str, operands: Mapping[str, Operand]) -> None:
    """Raise Withheld where what stands around `site` speaks of operands, or results, that the template is not for.

    That is so where a test lets an operand through because it is sparse, integer or complex, and where a function of NumPy's
    or of a table's is given the result.
    """
    tree = file.tree
    if called_name(site) in ("var_mean", "std_mean"):
        raise Withheld("it gives two results, and the rewrite one")
    table = _table(file, site)
    if table is not None and _OF_OPERAND.search(template):
        raise Withheld(f"it goes into `{table}`, and may be no tensor")
    trees = [operand.tree for operand in operands.values()]
    for link in tree.ancestors(site):
        if isinstance(link.parent, ast.If | ast.IfExp) and link.field in ("body", "orelse"):
            for owner, kind in _let_through(link.parent.test, link.field == "body"):
                if any(same(owner, one) for one in trees):
                    raise Withheld(f"the branch is one for {kind} tensors")


def _table(file: File, node: ast.expr) -> str | None:
    """The function of NumPy's, or of a table's, that an expression is an argument of; None where it is of none.

    A call in between makes something else of it: ``np.array(p.numpy())``.
    """
    for link in file.tree.ancestors(node):
        if isinstance(link.parent, ast.Call) and link.field in ("args", "keywords"):
            name = file.qualified(link.parent.func) or ""
            return name if name.startswith(_TABLES) else None
        if isinstance(link.parent, ast.Call | ast.stmt):
            return None
    return None


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
