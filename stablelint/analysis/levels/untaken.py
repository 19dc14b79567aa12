"""Operations of which only the gradient is bad, where nobody takes it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from stablelint.analysis.levels.fates import WITHOUT_GRADIENT, fates_of
from stablelint.analysis.levels.masking import felt_operands
from stablelint.analysis.matching.places import is_objective, says_so
from stablelint.analysis.matching.provenance import is_trained
from stablelint.analysis.matching.reach import is_run_by_module
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.value import Value
from stablelint.syntax.walk import descendants

_ROOTS = frozenset({"sqrt", "rsqrt", "pow"})
_ITERATIONS = re.compile(r"^max_?(\w+_)?(iters?|iterations?|steps?)$")
_DIFFERENTIATES = frozenset("backward manual_backward grad vjp jvp jacobian hessian".split())
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


def is_iterated(site: Site, operand: Value) -> bool:
    """What a function carries from turn to turn of an iteration is a solver's own bookkeeping, if no loss."""
    function = site.frame.function
    if not site.judgement.backward_only or function is None or function.owner is not None:
        return False
    if is_objective(function) or says_so(function) or is_run_by_module(function):
        return False
    if _differentiates(function.node):
        return False
    row = getattr(site.node, "lineno", 0)
    begun = [loop for loop in _iterations(function.node) if loop.lineno < row]
    behind = _names_behind(site.node, function.node) if begun else set()
    return any(not _carried(loop).isdisjoint(behind) for loop in begun)


def _differentiates(function: ast.AST) -> bool:
    """Whether a function takes a gradient itself: it trains, or iterates on one."""
    named = (getattr(n, "attr", None) or getattr(n, "id", None) for n in descendants(function))
    return not _DIFFERENTIATES.isdisjoint(named)


def _iterations(function: ast.AST) -> list[ast.For | ast.While]:
    """The loops that go on until something holds, or give up after the largest number of turns."""
    loops = (n for n in descendants(function) if isinstance(n, ast.For | ast.While))
    return [loop for loop in loops if _is_iteration(loop)]


def _is_iteration(loop: ast.For | ast.While) -> bool:
    if isinstance(loop, ast.While) or any(isinstance(n, ast.Break) for n in descendants(loop)):
        return True
    return any(isinstance(n, ast.Name) and _ITERATIONS.search(n.id) for n in descendants(loop.iter))


def _carried(loop: ast.For | ast.While) -> set[str]:
    """The names that a turn of a loop takes over from the one before: read first, and bound later."""
    bound: set[str] = set()
    carried: set[str] = set()
    for statement in loop.body:
        names = [n for n in descendants(statement) if isinstance(n, ast.Name)]
        early = {n.id for n in names if isinstance(n.ctx, ast.Load)} - bound
        bound |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
        carried |= early
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            carried.add(statement.target.id)
    return carried & bound


def _names_behind(node: ast.AST, within: ast.AST) -> set[str]:
    """The names that an expression is made of, as far as the assignments of a function tell."""
    made: dict[str, list[ast.AST]] = {}
    for statement in descendants(within):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                for bound in target.elts if isinstance(target, ast.Tuple) else (target,):
                    if isinstance(bound, ast.Name):
                        made.setdefault(bound.id, []).append(statement.value)
    found: set[str] = set()
    pending: list[ast.AST] = [node]
    while pending:
        names = {n.id for n in descendants(pending.pop()) if isinstance(n, ast.Name)} - found
        found |= names
        pending.extend(value for name in names for value in made.get(name, ()))
    return found


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
    bodies = (getattr(n, field, None) for n in descendants(within) for field in ("body", "orelse"))
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
    is_iterated,
    is_left_at_zero,
)
