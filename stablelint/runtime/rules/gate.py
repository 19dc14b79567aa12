"""The gate every page passes: its contract and its fixes, sampled in torch.

A page's pattern is itself an expression: with operands for its metavariables it can be evaluated, forward and
backward. The gate puts operands on both sides of the contract's boundary and looks at what comes out.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module

import torch

from stablelint.catalog import contract
from stablelint.catalog.pattern import (
    ALIASES,
    PREFIX,
    Pattern,
    encode,
    metavariable,
    modules_of,
    parse_pattern,
)
from stablelint.catalog.rule import FixTemplate, Rule
from stablelint.catalog.template import parse_template
from stablelint.numerics.formats import FORMATS
from stablelint.runtime.rules.operands import constant, draw
from stablelint.runtime.tensors.measure import floating
from stablelint.syntax import operations

Operands = Mapping[str, object]


@dataclass(frozen=True)
class Outcome:
    """The value of an expression and the gradients with respect to its floating operands."""

    value: torch.Tensor
    gradients: dict[str, torch.Tensor]

    @property
    def finite(self) -> bool:
        """Whether the value and every gradient is finite throughout."""
        return all(bool(t.isfinite().all()) for t in (self.value, *self.gradients.values()))


def expression(pattern: Pattern, present: frozenset[str]) -> ast.expr:
    """The pattern as an expression: without `...`, and without absent optional arguments."""
    tree = copy.deepcopy(pattern.trees[0])
    assert isinstance(tree, ast.expr)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords = [k for k in node.keywords if k.arg and _given(k, pattern, present)]
    return tree


def _given(keyword: ast.keyword, pattern: Pattern, present: frozenset[str]) -> bool:
    name = metavariable(keyword.value)
    return name not in pattern.optional or name in present


def rewritten(tree: ast.expr, fix: FixTemplate, present: frozenset[str]) -> ast.expr:
    """The expression after the fix; the template is put in as a tree, so precedence cannot go wrong."""
    template = parse_template(parse_template(fix.replace).bound(present | parts(tree)))
    new = ast.parse(encode(template.text)[0].strip(), mode="eval").body
    if fix.reader is not None and fix.target is not None:
        new = _substitute(ast.parse(encode(fix.reader)[0], mode="eval").body, fix.target, new)
    if fix.target is None or fix.reader is not None:
        for part in ast.walk(tree):
            if isinstance(part, ast.NamedExpr) and (name := metavariable(part.target)):
                new = _substitute(new, name, part.value)
        return new

    result = _substitute(copy.deepcopy(tree), fix.target, new)
    if fix.constructor is not None:
        made = operations.module(fix.constructor)
        assert isinstance(result, ast.Call)
        assert isinstance(result.func, ast.Attribute)
        assert made is not None
        result.func.attr = made.name
    return result


def _substitute(tree: ast.expr, name: str, value: ast.expr) -> ast.expr:
    """The tree, changed in place, with the value for a metavariable, and for a part of that name what it has there."""

    class Substitute(ast.NodeTransformer):
        def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
            if metavariable(node.target) == name:
                return _substitute(copy.deepcopy(value), name, node.value)
            return ast.NamedExpr(node.target, self.visit(node.value))

        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(value) if metavariable(node) == name else node

    result: ast.AST = Substitute().visit(tree)
    assert isinstance(result, ast.expr)
    return result


def constants(rule: Rule) -> frozenset[str]:
    """The operands that take no gradient: targets, weights, uniform noise."""
    tables = ((name, spec) for name, spec in rule.sample.items() if isinstance(spec, dict))
    return frozenset(name for name, spec in tables if spec.get("gradient") is False)


def evaluate(
    tree: ast.expr, operands: Operands, dtype: torch.dtype, fixed: frozenset[str] = frozenset()
) -> Outcome:
    """Evaluate forward and backward on the operands, their tensors cast to the dtype.

    Those named in `fixed` take no gradient.
    """
    leaves: dict[str, torch.Tensor] = {}
    names = _namespace(tree)
    for name, value in operands.items():
        if floating(value):
            value = value.to(dtype, copy=True)
            if name not in fixed:
                leaves[name] = value.requires_grad_()
        names[PREFIX + name] = value
    code = compile(ast.fix_missing_locations(ast.Expression(tree)), "<pattern>", "eval")
    result = eval(code, names)
    value = result if isinstance(result, torch.Tensor) else torch.stack(list(result))
    used = [n for n in leaves if value.requires_grad]
    # Not all ones: what sums to a constant, as a softmax does, would have no gradient at all.
    cotangent = torch.linspace(0.5, 1.5, value.numel()).to(dtype).reshape(value.shape)
    found = (
        torch.autograd.grad(value, [leaves[n] for n in used], cotangent, allow_unused=True) if used else ()
    )
    gradients = {n: g for n, g in zip(used, found, strict=True) if g is not None}
    return Outcome(value.detach(), gradients)


def _namespace(tree: ast.expr) -> dict[str, object]:
    """The packages that an expression names. Raises ImportError for one that is not installed."""
    names: dict[str, object] = {"torch": torch, "math": math}
    for text in sorted(set(modules_of(tree))):  # a package before what is in it
        root, _, inner = text.partition(".")
        if not inner:
            names[root] = import_module(ALIASES.get(root, root))
        elif root not in ("torch", *ALIASES):
            with suppress(ImportError):  # a class
                import_module(text)
    return names


def healthy_operands(rule: Rule, names: frozenset[str]) -> dict[str, object]:
    """Operands as `[sample]` describes them, in float64 (integers as int64)."""
    generator = torch.Generator().manual_seed(0)
    return {name: draw(rule.sample[name], generator) for name in sorted(names) if name in rule.sample}


def bad_operands(rule: Rule, pattern: Pattern, dtype: str) -> Iterator[dict[str, object]]:
    """Operands at which the page says that the pattern goes wrong."""
    for row in rule.operands:
        if set(row) >= set(_inputs(pattern)) - pattern.optional and set(row) <= pattern.metavariables:
            yield {name: constant(value, dtype) for name, value in row.items()}
    if rule.expect == "non-finite" and not rule.operands:
        yield from (o for o, allowed in boundary_operands(rule, pattern, dtype) if not allowed)


def boundary_operands(rule: Rule, pattern: Pattern, dtype: str) -> Iterator[tuple[dict[str, object], bool]]:
    """Operands at each boundary of the contract, one metavariable at a time, and whether they are allowed.

    Those closer to a bound than a few roundings are left out: the operation rounds on its way. Subnormal
    operands beside a bound of 0 are left out too: `x > 0` is said where only their gradient overflows.
    """
    fmt = FORMATS[dtype]
    sides = [contract.parse(text) for text in (rule.forward, rule.backward) if text]
    healthy = healthy_operands(rule, _inputs(pattern))
    base = {name: one.flatten()[:1] if floating(one) else one for name, one in healthy.items()}
    for name in sorted({v for side in sides for v in side.variables} & pattern.metavariables):
        values = sorted({v for side in sides for v in side.boundaries(name, fmt)})
        low, high = _domain(rule.sample.get(name))
        for value in values:
            if not low <= value <= high or any(
                _close(value, c, dtype) for side in sides for c in side.about(name)
            ):
                continue
            allowed = all(side.holds({name: value}, fmt) for side in sides)
            yield base | {name: torch.tensor([value], dtype=torch.float64)}, allowed


def _close(value: float, comparison: contract.Comparison, dtype: str) -> bool:
    fmt = FORMATS[dtype]
    bound = comparison.value(fmt)
    distance = abs((abs(value) if comparison.absolute else value) - bound)
    if bound == 0:
        return 0 < distance < fmt.tiny
    exact = bound in (1.0, -1.0)
    return not exact and distance <= 16 * fmt.eps * abs(bound) + 2 * fmt.smallest_subnormal


def _inputs(pattern: Pattern) -> frozenset[str]:
    """The metavariables that are operands, not names of parts."""
    return pattern.metavariables - parts(pattern.trees[0])


def parts(tree: ast.AST) -> frozenset[str]:
    """The names that a pattern gives to parts of itself."""
    found = (metavariable(n.target) for n in ast.walk(tree) if isinstance(n, ast.NamedExpr))
    return frozenset(name for name in found if name)


def _domain(spec: object) -> tuple[float, float]:
    """The operands that the page speaks of at all, where it says so."""
    domain = spec.get("domain") if isinstance(spec, dict) else None
    return (float(domain[0]), float(domain[1])) if domain else (-math.inf, math.inf)


def relative_error(value: torch.Tensor, reference: torch.Tensor, floor: float = 1e-3) -> float:
    """The largest relative error, where each element counts as at least `floor` of the largest."""
    scale = reference.abs().clamp_min(floor * float(reference.abs().max()) + 1e-30)
    error = float(((value.double() - reference).abs() / scale).max())
    return math.inf if math.isnan(error) else error


def patterns_of(rule: Rule) -> list[Pattern]:
    """The patterns that can be evaluated: expressions, not sequences of statements."""
    return [p for p in map(parse_pattern, rule.patterns) if not p.is_sequence]
