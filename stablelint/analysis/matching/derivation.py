"""Retells how an operand came about: the chain of operations that a finding prints."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.families import HANDED_OVER
from stablelint.analysis.values.selections import selecting_mask
from stablelint.analysis.values.value import NUMERIC, Attained, Kind, Value, believed
from stablelint.analysis.values.views import SELECTORS, is_opaque
from stablelint.catalog.predicates import parse_predicate
from stablelint.diagnostic import Position, Span, Step
from stablelint.numerics.interval import TOP
from stablelint.syntax.operations import SELECTIONS, VIEWS

_MAX_STEPS = 6

_REASONS: dict[str, str] = {
    "softmax": "softmax lies in [0, 1]; 0 is reached by underflow",
    "sigmoid": "sigmoid lies in [0, 1]; both ends are reached by rounding",
    "norm": "a norm is 0 for a zero vector",
    "std": "a standard deviation is 0 for constant values",
    "var": "a variance is 0 for constant values",
    "relu": "relu is 0 wherever its operand is negative",
    "exp": "exp underflows to 0 and overflows to inf",
    "count_nonzero": "a count is 0 where nothing is counted",
    "bincount": "a bin is empty where nothing falls into it",
    "linear_module": "the output of a layer is unbounded",
    "parameter": "a trained parameter is unbounded",
    "rand": "rand lies in [0, 1); 0 is drawn",
    "rand_like": "rand lies in [0, 1); 0 is drawn",
    "uniform_": "a uniform sample reaches its lower end",
    "randn": "a normal sample is unbounded",
    "randn_like": "a normal sample is unbounded",
    "cos": "cos lies in [-1, 1]",
    "sin": "sin lies in [-1, 1]",
    "tanh": "tanh lies in [-1, 1]; both ends are reached by rounding",
}


def derivation(site: Site, here: str) -> tuple[Step, ...]:
    """The steps from where the operand is born to where it breaks the contract, in that order.

    Between the origin and the site, what can be any number tells nothing and is passed over.
    """
    operand = site.match.bindings.get(site.judgement.operand)
    if operand is None:
        return (*_own_steps(site.match.covered), *_covered_steps(site, here))
    causes = _causes(operand, believing=bool(site.judgement.assumes))
    chain = [(value, step) for value in causes if (step := _step(value, here)) is not None]
    steps = [step for value, step in chain if _tells(value)] or [step for _, step in chain[-1:]]
    beyond = _failing_step(site, here) if site.value.module is not site.frame.module else None
    return (*_own_steps([operand]), *dict.fromkeys(reversed(steps)), *([beyond] if beyond else []))


def _causes(operand: Value, believing: bool) -> Iterator[Value]:
    """The operand and, step by step, what brings it to its critical point; `believing` that settings stay as they are."""
    value: Value | None = operand
    seen: set[int] = set()
    while value is not None and len(seen) < _MAX_STEPS and value.key not in seen:
        seen.add(value.key)
        value = believed(value) if believing else value
        yield value
        value = None if is_opaque(value) else _cause(value)


def _tells(value: Value) -> bool:
    return value.op in _REASONS or value.op in HANDED_OVER or is_opaque(value) or value.interval != TOP


def _own_steps(values: Iterable[Value]) -> Iterator[Step]:
    """Where other files pass what a value rests on."""
    on = dict.fromkeys(
        a for v in values if v.belief is not None for a in v.belief.on if a.filename is not None
    )
    for setting in on:
        start, end = Position(setting.row, 1), Position(setting.row, 2)
        yield Step(f"`{setting.text}` is passed", Span(start, end), setting.filename)


def _covered_steps(site: Site, here: str) -> list[Step]:
    """For a match by pattern: the operations it consists of, in the order in which they are computed.

    Those that say nothing are left out: a result that can be anything, and ranges where it is digits that are lost.
    """
    steps: list[Step] = []
    for value in site.match.covered if site.rule.expect != "inaccurate" else ():
        if value is site.value or not (value.op in _REASONS or value.interval != TOP):
            continue
        step = _step(value, here)
        if step is not None and step not in steps and not _same_place(step, site):
            steps.append(step)
    if any(parse_predicate(asked).name == "elements" for asked in site.rule.where):
        steps += _picking_steps(site, here)
    here_it_fails = _failing_step(site, here)
    return [*steps[:_MAX_STEPS], *([here_it_fails] if here_it_fails else [])]


def _picking_steps(site: Site, here: str) -> Iterator[Step]:
    """Where the mask is made that may leave nothing of what is counted."""
    masks = map(selecting_mask, site.match.bindings.values())
    mask = next((one for one in masks if one is not None and isinstance(one.node, ast.expr)), None)
    if mask is not None and mask.node is not None and mask.module is not None:
        filename = None if mask.module.source.filename == here else mask.module.source.filename
        text = f"{_label(mask) or 'this mask'} may be false everywhere"
        yield Step(text, mask.module.source.span(mask.node), filename)


def _failing_step(site: Site, here: str) -> Step | None:
    """Where it goes wrong, for a finding that is shown where it is mended."""
    node, module = site.value.node, site.value.module
    if module is not site.frame.module and isinstance(site.value.data, Value):
        node, module = site.value.data.node, site.value.data.module
        assert node is not None
        assert module is not None
        return Step(f"{site.value.op} is applied to it", module.source.span(node), module.source.filename)
    if site.anchor is None or module is None or not isinstance(node, ast.expr):
        return None
    filename = None if module.source.filename == here else module.source.filename
    matched = any(value.node is site.anchor for value in site.match.covered)
    name, verb = _label(site.value) or site.value.op, "fails on" if site.operand is not None else "takes"
    text = f"{name} {verb} it" if matched else "this is where it fails"
    return Step(text, module.source.span(node), filename)


def _same_place(step: Step, site: Site) -> bool:
    return step.filename is None and site.frame.module.source.span(site.node) == step.span


def _step(value: Value, here: str) -> Step | None:
    node, module = value.node, value.module
    if isinstance(value.data, Value) and value.data.kind is Kind.LAYER:
        node, module = value.data.node, value.data.module
    if node is None or module is None or not hasattr(node, "lineno") or value.is_constant:
        return None
    if value.op in VIEWS or value.op in SELECTIONS:
        return None
    text = describe(value)
    if text is None:
        return None
    span: Span = module.source.span(node)
    filename = None if module.source.filename == here else module.source.filename
    return Step(text, span, filename)


def describe(value: Value) -> str | None:
    """What the analysis knows of a value, in one clause; None where it cannot be called anything."""
    if value.op in _REASONS:
        return _REASONS[value.op]
    label = _label(value)
    if not label:
        return None
    if value.op == "argument":
        return f"{label} is an argument of unknown range"
    if value.interval != TOP:
        return f"{label} lies in {value.interval}"
    given = value.op in HANDED_OVER or value.op in ("part", "phi", "index") or value.kind is Kind.FOREIGN
    given = given or is_opaque(value)
    return f"nothing is known of {label}" if given else f"{label} can be any number"


def _label(value: Value) -> str:
    """How a value is called: as it is written, or by its name where several paths meet or the text is long."""
    node, module = value.node, value.module
    met = value.op == "phi" and not isinstance(node, ast.IfExp)
    if not met and isinstance(node, ast.expr) and module is not None:
        text = module.source.segment(node)
        if 0 < len(text) <= 48 and node.lineno == node.end_lineno:
            return f"`{text}`"
    return f"`{value.name}`" if value.name.isidentifier() else ""


def _cause(value: Value) -> Value | None:
    """The operand through which a value reaches its critical point."""
    if value.op in _REASONS and value.op not in ("std", "norm", "var", "exp"):
        return None
    operands = [v for name, v in value.operands.items() if name not in SELECTORS and _may_cause(v)]
    if value.op == "phi":
        operands = [v for v in operands if _leads_as_far(v, value)] or operands
    best = max(operands, key=lambda v: max(v.zero, v.ends), default=None)
    if best is None or len(operands) == 1:
        return best
    return best if max(best.zero, best.ends) > Attained.NONE else None


def _leads_as_far(path: Value, value: Value) -> bool:
    """Whether what one path gives can lie as far out as what either gives."""
    return path.interval.lo <= value.interval.lo and path.interval.hi >= value.interval.hi


def _may_cause(value: Value) -> bool:
    """Whether a value can be what makes another 0 or infinite: it comes to 0, or has no bound, itself."""
    numeric = value.kind in NUMERIC and not value.is_constant
    return numeric and (value.interval.contains(0.0) or not value.interval.is_bounded)
