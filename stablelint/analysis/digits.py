"""Forms whose digits, or whose gradient, nobody is left to miss."""

from __future__ import annotations

import ast

from stablelint.analysis.fates import WITHOUT_GRADIENT, Fate, fates_of
from stablelint.analysis.sites import Site
from stablelint.analysis.value import Value


def is_compared(site: Site, operand: Value) -> bool:
    """A comparison loses no digits worth telling, and rounding to whole numbers leaves none to lose."""
    if site.rule.expect != "inaccurate":
        return False
    fates = fates_of(site.node, site.frame.function)
    return bool(fates) and fates <= {Fate.COMPARED, Fate.ROUNDED}


def is_norm_without_gradient(site: Site, operand: Value) -> bool:
    """No gradient is taken through a norm that is only compared, ranked, rounded, detached or logged."""
    if not any(condition.startswith("differentiable(") for condition in site.rule.where):
        return False
    fates = fates_of(site.node, site.frame.function, gradient=True)
    return bool(fates) and fates <= WITHOUT_GRADIENT


def is_amplitude(site: Site, operand: Value) -> bool:
    """An exponential that has a name, and is increased by 1 as well as reduced, is no small difference in disguise."""
    node, function = site.node, site.frame.function
    if site.rule.expect != "inaccurate" or function is None or not isinstance(node, ast.BinOp):
        return False
    if not isinstance(node.left, ast.Name) or not isinstance(node.op, ast.Sub):
        return False
    sums = (n for n in ast.walk(function.node) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Add))
    return any(
        {ast.dump(n.left), ast.dump(n.right)} == {ast.dump(node.left), ast.dump(node.right)} for n in sums
    )
