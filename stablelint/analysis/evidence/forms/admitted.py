"""What a function lets in: a check that refuses what is below 0 alone admits the 0."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.evidence.forms.cancelling import is_own_logarithm
from stablelint.analysis.files.modules import FunctionInfo, statements_of
from stablelint.analysis.matching.shadows import has_contract
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.families import HANDED_OVER, LOGARITHMS
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import stripped
from stablelint.syntax.walk import descendants

_POLES = LOGARITHMS | {"div", "rsqrt"}
_DEPTH = 4  # quotients looked through


def is_let_in(site: Site) -> bool:
    """A divisor, the argument of a logarithm or a share, of which the function refuses what is below 0 alone."""
    operand = site.match.bindings.get(site.judgement.operand)
    if operand is None:
        shares = site.value.operands.values() if is_own_logarithm(site.value) else ()
        return any(admits_zero(share, site.frame.function) for share in shares)
    if site.value.op not in _POLES or site.judgement.backward_only or not has_contract(site):
        return False
    return admits_zero(operand, site.frame.function)


def admits_zero(value: Value, function: FunctionInfo | None) -> bool:
    """Whether a value is a parameter, or a quotient of one, of which the function refuses what is below 0 alone."""
    value = stripped(value)
    for _ in range(_DEPTH):
        if value.op != "div" or value.first is None:
            break
        value = stripped(value.first)
    if function is None or value.op not in HANDED_OVER or not value.name:
        return False
    return any(_admits(test, value.name, refusing) for test, refusing in _checks(function))


def _checks(function: FunctionInfo) -> Iterator[tuple[ast.expr, bool]]:
    """The tests that a function's arguments have to pass, and whether it is what passes them that is refused."""
    for statement in [] if isinstance(function.node, ast.Lambda) else statements_of(function.node.body):
        if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Raise):
            yield statement.test, True
        elif isinstance(statement, ast.Assert):
            yield statement.test, False


def _admits(test: ast.expr, name: str, refusing: bool) -> bool:
    """Whether a test speaks of a name's 0 and lets it pass: `x < 0` that is refused, `x >= 0` that is demanded."""
    wanted = ast.Lt if refusing else ast.GtE
    for node in descendants(test):
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], wanted):
            continue
        bound = node.comparators[0]
        named = isinstance(node.left, ast.Name) and node.left.id == name
        if named and isinstance(bound, ast.Constant) and bound.value == 0 and bound.value is not False:
            return True
    return False
