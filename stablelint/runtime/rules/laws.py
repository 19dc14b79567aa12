"""The laws that every page keeps: its contract tells the truth, and its fixes cure and do no harm.

Each law is sampled for one pattern and one dtype; `check` returns what breaks it, or None.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch

from stablelint.catalog.pattern import Pattern
from stablelint.catalog.predicates import is_of_dtype, parse_predicate
from stablelint.catalog.rule import FixTemplate, Rule
from stablelint.catalog.template import parse_template
from stablelint.numerics.formats import FORMATS
from stablelint.runtime.rules import gate
from stablelint.runtime.tensors.measure import floating

DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in FORMATS}
_NOWHERE = (
    "the page does not say for which operands: give a contract in [requires], or operands in [[operands]], or say "
    'expect = "structural" where no single evaluation can show it'
)


@dataclass(frozen=True, slots=True)
class Law:
    """One claim. `about` names the part of the page that makes it: "requires", "sample", or "fix" and its place."""

    title: str
    about: str
    check: Callable[[], str | None]
    fix: int | None = None


def laws(rule: Rule) -> Iterator[Law]:
    """The laws of a page; none for one whose flaw no single evaluation can show."""
    if rule.expect == "structural":
        return
    if not rule.has_contract and not rule.operands:
        yield Law("what goes wrong", "requires", lambda: _NOWHERE)
        return
    for pattern in gate.patterns_of(rule):
        for dtype in rule.dtypes:
            place = f"{pattern.text} in {dtype}"
            yield Law(f"the contract of {place}", "requires", partial(_contract_holds, rule, pattern, dtype))
            yield Law(f"the failure of {place}", "requires", partial(_fails, rule, pattern, dtype))
            for at, fix in enumerate(rule.fixes):
                if fix.kind == "replace" and dtype in fix.dtypes and _is_open(fix, pattern):
                    which = f"fix {at + 1} of {place}"
                    repairs = partial(_repairs, rule, pattern, fix, dtype)
                    yield Law(f"the cure by {which}", "fix", repairs, at)
                    accurate = partial(_stays_accurate, rule, pattern, fix, dtype)
                    yield Law(f"the accuracy of {which}", "fix", accurate, at)


def _contract_holds(rule: Rule, pattern: Pattern, dtype: str) -> str | None:
    fixed = gate.constants(rule)
    for operands, allowed in gate.boundary_operands(rule, pattern, dtype):
        if allowed and rule.expect == "non-finite":
            tree = gate.expression(pattern, frozenset(operands))
            if not gate.evaluate(tree, operands, DTYPES[dtype], fixed).finite:
                return (
                    f"the contract allows {_listed(operands)}, where the value or its gradient is not finite"
                )
    return None


def _fails(rule: Rule, pattern: Pattern, dtype: str) -> str | None:
    fixed = gate.constants(rule)
    found: list[bool] = []
    last: gate.Operands = {}
    for operands in gate.bad_operands(rule, pattern, dtype):
        last = operands = _rounded(operands, DTYPES[dtype])
        outcome = gate.evaluate(gate.expression(pattern, frozenset(operands)), operands, DTYPES[dtype], fixed)
        if rule.expect == "non-finite":
            found.append(not outcome.finite)
        else:
            error = gate.relative_error(outcome.value, _reference(rule, pattern, operands).value)
            found.append(error > torch.finfo(DTYPES[dtype]).eps ** 0.5)
        if rule.operands and not found[-1]:
            return f"nothing goes wrong at {_listed(operands)}"
    if rule.operands:
        return None if found else "no row of [[operands]] fits the pattern"
    return None if any(found) else f"nothing goes wrong at what the contract forbids, such as {_listed(last)}"


def _repairs(rule: Rule, pattern: Pattern, fix: FixTemplate, dtype: str) -> str | None:
    fixed = gate.constants(rule) | _untrained(fix)
    tried = 0
    boundary = (operands for operands, _ in gate.boundary_operands(rule, pattern, dtype))
    for operands in (*gate.bad_operands(rule, pattern, dtype), *boundary):
        meant = _as_meant(fix, operands, dtype)
        original = gate.expression(pattern, frozenset(operands))
        if meant is None or _refused(original, meant, dtype):
            continue
        tree = gate.rewritten(original, fix, frozenset(operands))
        if not gate.evaluate(tree, meant, DTYPES[dtype], fixed).finite:
            return f"the value or its gradient is still not finite at {_listed(meant)}"
        tried += 1
    reached = tried or _narrows(fix) or _as_meant(fix, {}, dtype) is None
    return None if reached else "no operand reaches the fix"


def _stays_accurate(rule: Rule, pattern: Pattern, fix: FixTemplate, dtype: str) -> str | None:
    fixed = gate.constants(rule)
    present = frozenset(n for n in pattern.metavariables if n not in pattern.optional or n in rule.sample)
    before = gate.expression(pattern, present)
    after = gate.rewritten(before, fix, present)
    operands = gate.healthy_operands(rule, present)
    if missing := present - pattern.optional - set(operands) - gate.parts(before):
        return f"[sample] lacks healthy operands for {', '.join(sorted(missing))}"
    meant = _as_meant(fix, operands, dtype)
    if meant is None or _refused(before, meant, dtype):
        return None
    rounded = _rounded(meant, DTYPES[dtype])
    reference = gate.evaluate(after if fix.redefines else before, rounded, torch.float64, fixed)
    old, new = (gate.evaluate(tree, rounded, DTYPES[dtype], fixed) for tree in (before, after))
    if not new.finite:
        return "the value or its gradient is not finite at the healthy operands of [sample]"
    eps = torch.finfo(DTYPES[dtype]).eps
    old_error, new_error = (gate.relative_error(o.value, reference.value) for o in (old, new))
    if not new_error <= 2 * old_error + 32 * eps:
        return f"the relative error at healthy operands grows from {old_error:.2g} to {new_error:.2g}"
    for name, gradient in reference.gradients.items():
        old_error, new_error = (gate.relative_error(o.gradients[name], gradient, 1.0) for o in (old, new))
        if not new_error <= 2 * old_error + 64 * eps:
            return f"the error of the gradient of {name} grows from {old_error:.2g} to {new_error:.2g}"
    return None


def _is_open(fix: FixTemplate, pattern: Pattern) -> bool:
    used = set(parse_template(fix.replace).metavariables) | ({fix.target} if fix.target else set())
    for text in fix.when:
        used |= parse_predicate(text).metavariables
    return used - pattern.optional <= pattern.metavariables


def _as_meant(fix: FixTemplate, operands: gate.Operands, dtype: str) -> dict[str, object] | None:
    """The operands as the fix's conditions speak of them, whole or as Python numbers; None for others."""
    meant = dict(operands)
    asked = [predicate for predicate in map(parse_predicate, fix.when) if not predicate.negated]
    for predicate in sorted(asked, key=lambda predicate: predicate.name):  # whole before Python's own
        name = str(predicate.args[0])
        value = meant.get(name)
        if predicate.name == "dtype" and not is_of_dtype(predicate, dtype):
            return None
        if not isinstance(value, torch.Tensor):
            continue
        if predicate.name == "nonnegative" and bool((value < 0).any()):
            return None
        if predicate.name == "integral":
            if float(value.abs().max()) > 2**62:
                return None
            meant[name] = value.round().to(torch.int64)
        if predicate.value == "measure":  # of what a quotient, which has one operand more, is of
            others = {one: given for one, given in meant.items() if isinstance(given, torch.Tensor)}
            if len(others) != 2 or bool((value < 0).any()):
                return None
            meant |= {one: given * value for one, given in others.items() if one != name}
        if predicate.name == "python":
            meant[name] = value.flatten()[0].item()
    return meant


def _untrained(fix: FixTemplate) -> frozenset[str]:
    """The operands of which the fix's conditions say that no gradient comes back to them."""
    asked = map(parse_predicate, fix.when)
    return frozenset(str(one.args[0]) for one in asked if one.negated and one.name == "differentiable")


def _narrows(fix: FixTemplate) -> bool:
    """Whether the fix is for operands of another sort, which not each of its rule's patterns takes."""
    return any(text.startswith(("python", "integral")) or "== measure" in text for text in fix.when)


def _refused(tree: ast.expr, operands: gate.Operands, dtype: str) -> bool:
    """Whether the pattern itself does not take such operands."""
    try:
        gate.evaluate(tree, operands, DTYPES[dtype])
    except (RuntimeError, TypeError, ZeroDivisionError):
        return True
    return False


def _rounded(operands: gate.Operands, dtype: torch.dtype) -> dict[str, object]:
    return {name: v.to(dtype).double() if floating(v) else v for name, v in operands.items()}


def _reference(rule: Rule, pattern: Pattern, operands: gate.Operands) -> gate.Outcome:
    """What the first fix gives in float64."""
    fix = next(f for f in rule.fixes if f.kind == "replace" and _is_open(f, pattern))
    tree = gate.rewritten(gate.expression(pattern, frozenset(operands)), fix, frozenset(operands))
    return gate.evaluate(tree, operands, torch.float64, gate.constants(rule))


def _listed(operands: gate.Operands) -> str:
    """`x = 0, y = 1`: tensors by their first elements."""
    parts = []
    for name, value in operands.items():
        if isinstance(value, torch.Tensor):
            first = [f"{item:.6g}" for item in value.flatten()[:3].tolist()]
            more = ", …" if value.numel() > 3 else ""
            value = first[0] if value.numel() == 1 else f"[{', '.join(first)}{more}]"
        parts.append(f"{name} = {value}")
    return ", ".join(parts) or "any operand"
