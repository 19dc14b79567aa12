"""Guards that come too late: a singular operation whose result is masked, though its gradient is not."""

from __future__ import annotations

import ast
from dataclasses import replace

from stablelint.analysis.matching.operand_types import is_tensor
from stablelint.analysis.matching.pattern import Match
from stablelint.analysis.matching.sites import Site, encloses, text_before
from stablelint.analysis.proof.replacement import (
    GROUPED,
    Replacement,
    feels_gradient,
    is_doubled,
    is_empty_group,
    replacement_in_part,
    takes_where_true,
)
from stablelint.analysis.proof.uses import is_cut_off
from stablelint.analysis.values.views import behind, stripped
from stablelint.diagnostic import Status
from stablelint.matchers.common import Review, Rule, Sites, Value, observes
from stablelint.matchers.tree import exclusive
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import VIEWS, having
from stablelint.syntax.walk import children, descendants, nodes_below

_PRODUCTS = frozenset({"mul", "div"})
_CONJUNCTIONS = frozenset({"mul", "logical_and"})
_NEGATED = VIEWS | {"logical_not"}
_SIZES = frozenset("abs neg square".split())
_SHIFTS = having("arithmetic")
_TINY = 1e-2  # what is added to keep a number off 0, and not for its own sake
_LENGTH = 6  # operations looked through
_COMPARISONS = having("compare")
_SINGULAR = having("singular") | {"acos", "asin", "atanh"}
# The page's name for the operand of each operation whose gradient is hidden.
_OPERAND = {"exp": "e", "expm1": "e", "exp2": "e", "acos": "u", "asin": "u", "atanh": "u"}


@observes()
def gradient_trap(review: Review, rule: Rule) -> Sites:
    """Open obligations whose result is hidden by `where`, `masked_fill` or `nan_to_num`.

    The test shows that the author expects the bad operand; whether it arises is for the analysis to know.
    """
    if not review.replacements:
        return
    for site in review.open:
        if site.rule.code in rule.replaces:
            later = replacement_in_part(site.obligation, review.replacements)
            if (
                later is None
                or not feels_gradient(site.obligation, later)
                or is_cut_off(later.value, site.frame, review.users)
                or _is_on_another_path(site, later)
            ):
                continue
            if not is_doubled(site.obligation, later) and not is_empty_group(site.obligation):
                yield _trap(site, later, rule)


def _is_on_another_path(site: Site, later: Replacement) -> bool:
    """Whether it is an equal value that is hidden: no pass through the function makes both."""
    inner, outer, function = site.value.node, later.value.node, site.frame.function
    if inner is None or outer is None or function is None:
        return False
    return exclusive(inner, outer, function.node)


def _trap(site: Site, later: Replacement, rule: Rule) -> Site:
    """The site as this rule states it: the operand by the page's name, the test as `c` (or `d`, where it excludes)."""
    name = _OPERAND.get(site.value.op, "x")
    operand = site.judgement.operand
    bindings = {name: site.match.bindings[operand]}
    texts = {name: site.texts.get(operand)}
    test = later.test
    if test is not None:
        letter = "c" if takes_where_true(site.obligation, later) else "d"
        bindings[letter] = test
        # Where paths meet, the text of one would be no text of the other.
        texts[letter] = text_before(test, site.value, site.frame) if _can_double(site, later) else None
    met = _is_of_nan(later, site, bindings[name]) or (
        test is not None and _compares(test, bindings[name], grows=name == "e")
    )
    status = Status.VIOLATED if met or site.judgement.status is Status.VIOLATED else Status.UNGUARDED
    judgement = replace(site.judgement, status=status, backward_only=True, operand=name)
    ranges = {name: site.ranges[operand]}
    return replace(
        site,
        rule=rule,
        match=Match(bindings, [site.value], site.match.through),
        judgement=judgement,
        ranges=ranges,
        context=replace(site.context, bindings=bindings, ranges=ranges),
        texts=texts,
        message=_message(later, site),
    )


def _is_of_nan(later: Replacement, site: Site, operand: Value) -> bool:
    """Whether NaN is replaced right where a quotient, logarithm or root yields it: its author has met the 0.

    Where paths meet, one may be that of groups, of which only those without an element are 0: no gradient reaches them.
    """
    replaced = later.value.op == "nan_to_num" or (later.test is not None and _finds_nan(later.test, site))
    if not replaced or site.value.op in _OPERAND or not site.rule.has_contract:
        return False
    return not (stripped(operand).op == "phi" and any(v.op in GROUPED for v in behind(operand)))


def _finds_nan(test: Value, site: Site) -> bool:
    """Whether a test asks of the site's result if it is NaN, or finite."""
    test = stripped(test, _NEGATED)
    asked = test.first if test.op in ("isnan", "isfinite") else None
    return asked is not None and stripped(asked).key == stripped(site.value).key


def _compares(test: Value, operand: Value, grows: bool) -> bool:
    """Whether a test compares the operand, or what it is measured by, with a number: its author expects what fails."""
    test = stripped(test, _NEGATED)
    parts = list(test.operands.values())
    if test.op in _CONJUNCTIONS:
        return any(_compares(part, operand, grows) for part in parts)
    if test.op not in _COMPARISONS or not any(v.is_constant for v in parts):
        return False
    if grows and test.op in ("eq", "ne") and any(v.constant() == 0 for v in parts):
        return False  # what is 0 is not what is too large
    factors = stripped(operand).operands.values() if operand.op in _PRODUCTS else ()
    keys = {_measured(v).key for v in (operand, *factors)}
    return any(_measured(v).key in keys for v in parts if not v.is_constant)


def _measured(value: Value) -> Value:
    """What a value measures: without its sign, a shift and a constant factor, of which a test need not speak."""
    value = stripped(value)
    for _ in range(_LENGTH):
        parts = [v for v in value.operands.values() if not v.is_constant]
        # A constant that is added to keep the value off 0: what is left is met by accident only.
        tiny = any(v.is_constant and abs(v.interval.lo) < _TINY for v in value.operands.values())
        lifts = value.op in ("add", "sub") and tiny
        shifted = value.op in _SHIFTS and not lifts and not _is_inverse(value)
        if len(parts) != 1 or not (value.op in _SIZES or shifted):
            break
        value = stripped(parts[0])
    return value


def _is_inverse(value: Value) -> bool:
    return value.op == "div" and not value.operands["other"].is_constant


def _can_double(site: Site, later: Replacement) -> bool:
    """Whether the test may guard the operand too: it stands around the operation, or it speaks of the operand."""
    test, outer, inner = later.test, later.value.node, site.value.node
    if site.match.bindings[site.judgement.operand].op in _SINGULAR:
        return False  # what makes the operand has the same flaw, and is to be guarded within
    if test is None or test.op == "phi" or not is_tensor(site.match.bindings[site.judgement.operand], site):
        return False
    if outer is not None and inner is not None and encloses(outer, inner):
        return True
    if isinstance(site.statement, ast.Return) or not isinstance(test.node, ast.expr):
        return False
    if outer is None or _is_read_beyond(site, outer):
        return False
    text = site.texts.get(site.judgement.operand)
    return any(spelled(node) == text for node in descendants(test.node) if isinstance(node, ast.expr))


def _is_read_beyond(site: Site, outer: ast.AST) -> bool:
    """Whether a name that holds the site's result is read in more than one part of the operation that hides it."""
    match site.statement, site.frame.function:
        case ast.Assign(targets=[ast.Name(id=name)]), function if function is not None:
            reads = [n for n in nodes_below(function.node, ast.Name) if n.id == name]
            reads = [n for n in reads if isinstance(n.ctx, ast.Load)]
            return not any(all(encloses(part, one) for one in reads) for part in children(outer))
    return False


def _message(later: Replacement, site: Site) -> str:
    verb = "torch.where" if later.value.op == "where" else later.value.op
    return (
        f"{verb} hides the value of this {site.value.op}, but its gradient is still computed: 0 * inf is NaN"
    )
