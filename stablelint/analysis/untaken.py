"""Operations of which only the gradient is bad, where nobody takes it."""

from __future__ import annotations

import ast
from collections.abc import Callable

from stablelint.analysis.fates import WITHOUT_GRADIENT, fates_of
from stablelint.analysis.masking import felt_operands
from stablelint.analysis.provenance import is_trained
from stablelint.analysis.sites import Site
from stablelint.analysis.value import Value

_ROOTS = frozenset({"sqrt", "rsqrt", "pow"})
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def is_unfelt(site: Site, operand: Value) -> bool:
    """Where only the gradient is bad, something must show that one is taken."""
    if not site.judgement.backward_only:
        return False
    return not any(is_trained(value, site.frame) for value in felt_operands(site.value, operand))


def is_felt_by_none(site: Site, operand: Value) -> bool:
    """Through what is only compared, ranked, rounded, detached or logged no gradient is taken."""
    if not site.judgement.backward_only:
        return False
    fates = fates_of(site.node, site.frame.function, gradient=True)
    return bool(fates) and fates <= WITHOUT_GRADIENT


def is_taken_in_place(site: Site, operand: Value) -> bool:
    """Who bounds a value and takes its root in place saves memory, and trains nothing through it."""
    if not site.judgement.backward_only or site.value.op not in _ROOTS:
        return False
    bounding = _changed_in_place(site.node)
    return bounding is not None and _changed_in_place(bounding) is not None


def _changed_in_place(node: ast.AST) -> ast.expr | None:
    """What a call `x.method_()` changes."""
    called = node.func if isinstance(node, ast.Call) else None
    if not isinstance(called, ast.Attribute) or not called.attr.endswith("_"):
        return None
    return called.value


def is_left_at_zero(site: Site, operand: Value) -> bool:
    """A root that the next statement tests, to leave where it is small, has its gradient taken where it is not."""
    statement, function = site.statement, site.frame.function
    if not site.judgement.backward_only or function is None or not isinstance(statement, ast.Assign):
        return False
    if statement.value is not site.node or not isinstance(statement.targets[0], ast.Name):
        return False
    following = _after(statement, function.node)
    if not isinstance(following, ast.If) or not isinstance(following.body[-1], _LEAVES):
        return False
    return _asks_whether_small(following.test, statement.targets[0].id)


def _after(statement: ast.stmt, within: ast.AST) -> ast.stmt | None:
    """The next statement of the same block."""
    bodies = (getattr(n, field, None) for n in ast.walk(within) for field in ("body", "orelse"))
    for body in bodies:
        if isinstance(body, list) and statement in body[:-1]:
            found: ast.stmt = body[body.index(statement) + 1]
            return found
    return None


def _asks_whether_small(test: ast.expr, name: str) -> bool:
    """Whether a test is `name < bound`, or `name == 0`."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Lt | ast.LtE | ast.Eq):
        return False
    return isinstance(test.left, ast.Name) and test.left.id == name


DOUBTS_BY_GRADIENT: tuple[Callable[[Site, Value], bool], ...] = (
    is_unfelt,
    is_felt_by_none,
    is_taken_in_place,
    is_left_at_zero,
)
