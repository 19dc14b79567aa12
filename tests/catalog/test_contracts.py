"""The sampled property that holds for every page: its contract tells the truth, and its fixes cure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import contract_gate as gate
import pytest
import torch

from stablelint.catalog import FixTemplate, Rule, load_catalog
from stablelint.catalog.pattern import Pattern
from stablelint.catalog.predicates import parse_predicate
from stablelint.catalog.template import parse_template

torch.set_num_threads(1)

RULES = load_catalog(entry_points=False).rules
DTYPES = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
}


def _cases() -> Iterator[object]:
    for rule in RULES.values():
        if rule.expect == "structural":
            continue
        for index, pattern in enumerate(gate.patterns_of(rule)):
            for dtype in rule.dtypes:
                yield pytest.param(rule, pattern, dtype, id=f"{rule.code}-{index}-{dtype}")


def _fixes() -> Iterator[object]:
    for rule in RULES.values():
        if rule.expect == "structural":
            continue
        for index, pattern in enumerate(gate.patterns_of(rule)):
            for at, fix in enumerate(rule.fixes):
                if fix.kind != "replace" or not _open(fix, pattern):
                    continue
                for dtype in sorted(set(rule.dtypes) & set(fix.dtypes)):
                    name = f"{rule.code}-{index}-fix{at}-{dtype}"
                    yield pytest.param(rule, pattern, fix, dtype, id=name)


def _open(fix: FixTemplate, pattern: Pattern) -> bool:
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
        if predicate.name == "dtype" and (predicate.value == dtype) != (predicate.op == "=="):
            return None
        if not isinstance(value, torch.Tensor):
            continue
        if predicate.name == "nonnegative" and bool((value < 0).any()):
            return None
        if predicate.name == "integral":
            if float(value.abs().max()) > 2**62:
                return None
            meant[name] = value.round().to(torch.int64)
        if predicate.name == "python":
            meant[name] = value.flatten()[0].item()
    return meant


def _narrows(fix: FixTemplate) -> bool:
    """Whether the fix is for operands of another sort, which not each of its rule's patterns takes."""
    return any(text.startswith(("python", "integral")) for text in fix.when)


def _refused(tree: ast.expr, operands: gate.Operands, dtype: str) -> bool:
    """Whether the pattern itself does not take such operands."""
    try:
        gate.evaluate(tree, operands, DTYPES[dtype])
    except (RuntimeError, TypeError, ZeroDivisionError):
        return True
    return False


@pytest.mark.parametrize(("rule", "pattern", "dtype"), list(_cases()))
def test_the_contract_tells_bad_operands_from_good_ones(rule: Rule, pattern: Pattern, dtype: str) -> None:
    fixed = gate.constants(rule)
    for operands, allowed in gate.boundary_operands(rule, pattern, dtype):
        if allowed and rule.expect == "non-finite":
            tree = gate.expression(pattern, frozenset(operands))
            assert gate.evaluate(tree, operands, DTYPES[dtype], fixed).finite, (pattern.text, operands)


@pytest.mark.parametrize(("rule", "pattern", "dtype"), list(_cases()))
def test_the_pattern_goes_wrong_at_bad_operands(rule: Rule, pattern: Pattern, dtype: str) -> None:
    fixed = gate.constants(rule)
    found = []
    for operands in gate.bad_operands(rule, pattern, dtype):
        operands = _rounded(operands, DTYPES[dtype])
        tree = gate.expression(pattern, frozenset(operands))
        outcome = gate.evaluate(tree, operands, DTYPES[dtype], fixed)
        if rule.expect == "non-finite":
            found.append(not outcome.finite)
            continue
        error = gate.relative_error(outcome.value, _meant(rule, pattern, operands).value)
        found.append(error > torch.finfo(DTYPES[dtype]).eps ** 0.5)
    if rule.operands:
        assert found, "no row of [[operands]] fits the pattern"
        assert all(found), (pattern.text, found)
    else:
        assert any(found), pattern.text


@pytest.mark.parametrize(("rule", "pattern", "fix", "dtype"), list(_fixes()))
def test_the_fix_cures_bad_operands(rule: Rule, pattern: Pattern, fix: FixTemplate, dtype: str) -> None:
    fixed = gate.constants(rule)
    tried = 0
    boundary = (operands for operands, _ in gate.boundary_operands(rule, pattern, dtype))
    for operands in (*gate.bad_operands(rule, pattern, dtype), *boundary):
        meant = _as_meant(fix, operands, dtype)
        original = gate.expression(pattern, frozenset(operands))
        if meant is None or _refused(original, meant, dtype):
            continue
        tree = gate.rewritten(original, fix, frozenset(operands))
        outcome = gate.evaluate(tree, meant, DTYPES[dtype], fixed)
        assert outcome.finite, (pattern.text, fix.replace, meant, outcome)
        tried += 1
    assert tried or _narrows(fix) or _as_meant(fix, {}, dtype) is None


@pytest.mark.parametrize(("rule", "pattern", "fix", "dtype"), list(_fixes()))
def test_the_fix_is_no_less_accurate_on_healthy_operands(
    rule: Rule, pattern: Pattern, fix: FixTemplate, dtype: str
) -> None:
    fixed = gate.constants(rule)
    present = frozenset(n for n in pattern.metavariables if n not in pattern.optional or n in rule.sample)
    before = gate.expression(pattern, present)
    after = gate.rewritten(before, fix, present)
    operands = gate.healthy_operands(rule, present)
    missing = present - pattern.optional - set(operands) - gate.parts(before)
    assert not missing, f"[sample] lacks {missing}"
    meant = _as_meant(fix, operands, dtype)
    if meant is None or _refused(before, meant, dtype):
        return
    rounded = _rounded(meant, DTYPES[dtype])
    reference = gate.evaluate(after if fix.redefines else before, rounded, torch.float64, fixed)
    old, new = (gate.evaluate(tree, rounded, DTYPES[dtype], fixed) for tree in (before, after))
    assert new.finite
    eps = torch.finfo(DTYPES[dtype]).eps
    old_error, new_error = (gate.relative_error(o.value, reference.value) for o in (old, new))
    assert new_error <= 2 * old_error + 32 * eps, (old_error, new_error)
    for name, gradient in reference.gradients.items():
        old_error = gate.relative_error(old.gradients[name], gradient, 1.0)
        new_error = gate.relative_error(new.gradients[name], gradient, 1.0)
        assert new_error <= 2 * old_error + 64 * eps, (name, old_error, new_error)


def _rounded(operands: gate.Operands, dtype: torch.dtype) -> dict[str, object]:
    return {
        n: v.to(dtype).double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v
        for n, v in operands.items()
    }


def _meant(rule: Rule, pattern: Pattern, operands: gate.Operands) -> gate.Outcome:
    """What the first fix gives in float64."""
    fix = next(f for f in rule.fixes if f.kind == "replace" and _open(f, pattern))
    tree = gate.rewritten(gate.expression(pattern, frozenset(operands)), fix, frozenset(operands))
    return gate.evaluate(tree, operands, torch.float64, gate.constants(rule))
