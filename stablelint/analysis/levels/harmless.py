"""NaN and infinities that do no harm: their author meets them on the spot, or what takes them passes them over.

Each principle can be said in one sentence, its function's first; `likelihood` asks them all.
"""

from __future__ import annotations

import ast

from stablelint.analysis.levels.fates import Fate, fates_of
from stablelint.analysis.matching.provenance import is_trained
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.families import CONDITIONS, FINITE_TESTS, LOGARITHMS
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind
from stablelint.syntax.names import called_name
from stablelint.syntax.walk import children, descendants

_SHARES = frozenset("softmax log_softmax logsumexp".split())
_CHOICES = (".Categorical", ".OneHotCategorical", ".Bernoulli", ".Multinomial")
_DRAWS = frozenset("sample sample_n rsample mode probs".split())
_NUMBERS = frozenset({"item", "tolist"})
_OF_ZERO = frozenset({"ZeroDivisionError", "ArithmeticError"})
_SAMPLERS = frozenset("sample rsample".split())


def is_met_afterwards(site: Site, operand: Value) -> bool:
    """A result that a later statement tests for NaN or infinity, and replaces then, is what its author expected.

    `where` and an assignment by index replace elements only: the gradient of what they replace is still NaN.
    """
    statement, function = site.statement, site.frame.function
    name = _assigned_name(statement)
    if name is None or function is None:
        return False
    for later in descendants(function.node):
        if not isinstance(later, ast.If | ast.Assign) or later.lineno <= getattr(statement, "lineno", 0):
            continue
        if isinstance(later, ast.If):
            if _tests_for_nan(later.test, name) and any(_gives(inner, name) for inner in later.body):
                return True
        elif _gives(later, name) and _tests_for_nan(later, name):
            return not any(is_trained(value, site.frame) for value in site.value.operands.values())
    return False


def is_infinite_cost_met(site: Site, operand: Value) -> bool:
    """A cost that is infinite for some rows is met by a function that looks for what is not finite."""
    function = site.frame.function
    if site.value.op != "ctc_loss" or function is None:
        return False
    return any(_is_finite_test(node) for node in descendants(function.node))


def is_compared_mean(site: Site, operand: Value) -> bool:
    """The mean of nothing is NaN, and no comparison with NaN holds: nothing is taken by it."""
    return site.value.op == "mean" and fates_of(site.node, site.frame.function) == {Fate.COMPARED}


def is_entry_of_figures(site: Site, operand: Value) -> bool:
    """A mean that becomes an entry of a dictionary as a plain number is a figure to be read."""
    if site.statement is None:
        return False
    parents = {child: node for node in descendants(site.statement) for child in children(node)}
    outer = parents.get(site.node)
    call = parents.get(outer) if outer is not None else None
    is_number = isinstance(outer, ast.Attribute) and outer.attr in _NUMBERS and isinstance(call, ast.Call)
    is_float = isinstance(outer, ast.Call) and getattr(outer.func, "id", None) == "float"
    if not (is_number or is_float):
        return False
    number = call if is_number else outer
    return number is not None and isinstance(parents.get(number), ast.Dict)


def is_only_drawn_from(site: Site, operand: Value) -> bool:
    """A choice with probability 0 is not drawn: only the logarithm of its probability is infinite."""
    name, function = _assigned_name(site.statement), site.frame.function
    if not site.value.op.endswith(_CHOICES) or function is None:
        return False
    if site.statement is not None and _is_drawn_from_at_once(site.statement, site.node):
        return True
    if name is None:
        return False
    parents = {child: node for node in descendants(function.node) for child in children(node)}
    names = [n for n in descendants(function.node) if isinstance(n, ast.Name) and n.id == name]
    uses = [parents[n] for n in names if isinstance(n.ctx, ast.Load)]
    return bool(uses) and all(isinstance(use, ast.Attribute) and use.attr in _DRAWS for use in uses)


def _is_drawn_from_at_once(statement: ast.stmt, node: ast.AST) -> bool:
    """Whether an expression is used in `node.sample()` and nowhere else."""
    uses = (n for n in descendants(statement) if isinstance(n, ast.Attribute) and n.value is node)
    return any(use.attr in _DRAWS - {"probs"} for use in uses)


def is_caught(site: Site, operand: Value) -> bool:
    """A quotient of Python numbers by 0 raises, and stands where that is caught."""
    function = site.frame.function
    if site.value.kind is Kind.TENSOR or site.value.op != "div" or function is None:
        return False
    tries = (
        n
        for n in descendants(function.node)
        if isinstance(n, ast.Try) and any(map(_catches_zero, n.handlers))
    )
    return any(n is site.node for attempt in tries for part in attempt.body for n in descendants(part))


def _catches_zero(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(name, ast.Name) and name.id in _OF_ZERO for name in caught)


def is_no_share(site: Site, operand: Value) -> bool:
    """The logarithm of 0 becomes a share of 0 in the softmax that takes it, where no gradient is taken."""
    if site.value.op not in LOGARITHMS or site.statement is None:
        return False
    if not any(_takes_shares_of(node, site.node) for node in descendants(site.statement)):
        return False
    return not any(is_trained(value, site.frame) for value in site.value.operands.values())


def is_outside_of_support(site: Site, operand: Value) -> bool:
    """A distribution gives what it does not hold the logarithm of probability 0, which is -inf by definition."""
    function = site.frame.function
    if site.value.op not in LOGARITHMS or function is None or function.owner is None:
        return False
    if not function.name.startswith("log_prob") or _SAMPLERS.isdisjoint(function.owner.methods):
        return False
    return any(v.op in CONDITIONS for v in behind(operand, lambda v: v.op in CONDITIONS))


def _assigned_name(statement: ast.stmt | None) -> str | None:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) else None


def _gives(statement: ast.stmt, name: str) -> bool:
    """Whether a statement gives the name, or some of its elements, another value."""
    if not isinstance(statement, ast.Assign):
        return False
    targets = [t.value if isinstance(t, ast.Subscript) else t for t in statement.targets]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _tests_for_nan(node: ast.AST, name: str) -> bool:
    calls = (call for call in descendants(node) if _is_finite_test(call))
    return any(isinstance(n, ast.Name) and n.id == name for call in calls for n in descendants(call))


def _is_finite_test(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and called_name(node) in FINITE_TESTS


def _takes_shares_of(call: ast.AST, node: ast.AST) -> bool:
    """Whether a call is `node.softmax(…)` or `softmax(node, …)`, or of its kin."""
    if not isinstance(call, ast.Call) or called_name(call) not in _SHARES:
        return False
    return (isinstance(call.func, ast.Attribute) and call.func.value is node) or node in call.args[:1]
