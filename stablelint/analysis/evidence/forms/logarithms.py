"""Logarithms of 1 plus something that may be small: the 1 rounds its digits away."""

from __future__ import annotations

import ast

from stablelint.analysis.evidence.forms.cancelling import is_size
from stablelint.analysis.matching.shadows import has_contract
from stablelint.analysis.matching.sites import Site, encloses
from stablelint.analysis.values.value import Kind
from stablelint.analysis.values.views import stripped
from stablelint.syntax.walk import descendants


def is_log_of_ratio(site: Site) -> bool:
    """The logarithm of 1 plus a quotient, which may be of any size: what is small of it is rounded away.

    Less a quotient it is as a rule a share of the whole, and near 1 the difference is exact.
    """
    taken = site.value.first
    if site.value.op != "log" or has_contract(site) or taken is None or stripped(taken).op != "add":
        return False
    if not any(part.constant() == 1 for part in stripped(taken).operands.values()):
        return False  # another constant guards the logarithm, or tries to
    quotients = (stripped(v) for v in site.match.bindings.values() if v.kind is not Kind.NUMBER)
    return any(v.op == "div" and not any(part.is_constant for part in v.operands.values()) for v in quotients)


def is_log_of_size(site: Site) -> bool:
    """The logarithm of 1 plus a size, a loss or a sum of squares, which may be small: what is small is rounded away.

    Where something is added to the logarithm the digits that it lacks are below those of the sum.
    """
    taken = site.value.first
    if site.value.op != "log" or has_contract(site) or taken is None or stripped(taken).op != "add":
        return False
    if taken.node is None or not encloses(site.node, taken.node):
        return False  # the 1 is added elsewhere, where others may need it
    terms = [v for v in site.match.bindings.values() if v.kind is not Kind.NUMBER]
    return bool(terms) and all(map(is_size, terms)) and not _is_term(site)


def _is_term(site: Site) -> bool:
    """Whether the site's result is a term of a sum or a difference."""
    sums = [n for n in descendants(site.statement or site.node) if isinstance(n, ast.BinOp)]
    terms = [side for n in sums if isinstance(n.op, ast.Add | ast.Sub) for side in (n.left, n.right)]
    return any(_factor(term, site.node) is site.node for term in terms if encloses(term, site.node))


def _factor(term: ast.expr, node: ast.AST) -> ast.expr:
    """What is left of a term that holds a node when signs and other factors are taken away."""
    while isinstance(term, ast.BinOp | ast.UnaryOp):
        if isinstance(term, ast.UnaryOp):
            term = term.operand
        elif isinstance(term.op, ast.Mult | ast.Div):
            term = term.left if encloses(term.left, node) else term.right
        else:
            break
    return term
