"""Correlations of Python numbers: a quotient by the roots of two variances."""

from __future__ import annotations

import ast
import re

from stablelint.analysis.matching.shadows import has_contract
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import stripped
from stablelint.syntax.walk import descendants

_SPREAD = re.compile(r"(^|[_.])(std|var|variance|norm)s?$")


def is_correlation(site: Site) -> bool:
    """Python numbers: a quotient by the roots of two variances, each of which is 0 for constant data."""
    if site.value.op != "div" or not has_contract(site):
        return False
    divisor = stripped(site.value.operands["other"])
    if divisor.kind is not Kind.NUMBER or divisor.op != "mul":
        return False
    return all(map(_is_root_of_spread, divisor.operands.values())) and not _is_asked_about(site)


def _is_asked_about(site: Site) -> bool:
    """Whether a test of the function names the divisor, whatever it asks."""
    name, function = site.texts.get(site.judgement.operand) or "", site.frame.function
    if function is None or not name.isidentifier():
        return False
    tests = (n.test for n in descendants(function.node) if isinstance(n, ast.If | ast.IfExp | ast.Assert))
    return any(isinstance(n, ast.Name) and n.id == name for test in tests for n in descendants(test))


def _is_root_of_spread(value: Value) -> bool:
    """Whether it is the root of what is called a variance where the root is taken."""
    call = value.node
    if value.op != "math.sqrt" or not isinstance(call, ast.Call) or len(call.args) != 1:
        return False
    return _SPREAD.search(ast.unparse(call.args[0])) is not None
