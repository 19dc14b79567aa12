"""What the callers in sight pass, and where an object keeps what they pass: both are believed."""

from __future__ import annotations

import ast
import math
import re

from stablelint.analysis.levels.promotion import COMPUTED
from stablelint.analysis.matching.provenance import is_returned, is_trained
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.families import NORMS
from stablelint.analysis.values.value import Ground, Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.syntax.walk import descendants

_OF_STEP = re.compile(r"^(model|posterior)_log_variance")  # of a step of a diffusion
_LENGTH = 8  # operations looked through


def is_scheduled(site: Site, operand: Value) -> bool:
    """A logarithm known by its name alone may be large where a network yields it, not where an object keeps it.

    Nor where a normalisation has just been applied to it, or where it is looked up for a step of a schedule.
    """
    if not is_upper_bound(site) or operand.ends < Ground.EXACT or operand.interval.is_bounded:
        return False
    named = _of_step(operand)
    if named.op in ("attribute", "norm_module") or _OF_STEP.search(named.name):
        return True
    return _is_looked_up(named) or not is_trained(operand, site.frame)


def _is_looked_up(value: Value) -> bool:
    """Whether a value is an entry of a table, at the place that a tensor of whole numbers names."""
    place = stripped(value.operands["index"]) if value.op == "index" else None
    return place is not None and place.kind is Kind.TENSOR and place.dtype != "bool"


def _of_step(value: Value, depth: int = _LENGTH) -> Value:
    """What a logarithm is a multiple of: a table, looked up by the number of a step, say."""
    inner = stripped(value)
    if not depth:
        return inner
    if inner.op == "mul":
        rest = [v for v in inner.operands.values() if not v.is_constant]
        return _of_step(rest[0], depth - 1) if len(rest) == 1 else inner
    if inner.op == "phi":
        paths = {path.key: path for path in (_of_step(v, depth - 1) for v in inner.operands.values())}
        return paths.popitem()[1] if len(paths) == 1 else inner
    return inner


def is_kept_by_callers(site: Site, operand: Value) -> bool:
    """A public function may be called from anywhere; that every call in sight passes what is in bounds is believed."""
    argument, up = stripped(operand), True
    for _ in range(_LENGTH):
        if argument.op == "neg" and is_upper_bound(site):
            factor, up = argument.first, not up
        elif argument.op == "mul":  # by a positive number
            factor = next((v for v in argument.operands.values() if not v.interval.lo > 0), None)
        else:
            break
        if factor is None:
            return False
        argument = stripped(factor)
    if argument.op != "argument" or site.frame.function is None:
        return False
    calls = site.frame.session.calls.get(id(site.frame.function.node), [])
    passed = [call.get(argument.name) for call in calls]
    passed = [v for v in passed if v is None or not _is_handed_on(v, site.frame.function.name)]
    if is_upper_bound(site):
        return bool(passed) and all(v is not None and _is_held_back(v, up) for v in passed)
    return bool(passed) and all(v is not None and v.interval.lo > 0 for v in passed)


def _is_handed_on(value: Value, name: str) -> bool:
    """Whether a method of the same name, which another object has, hands on what it is given itself."""
    return value.op == "argument" and getattr(value.data, "name", None) == name


def is_usual_power(site: Site, operand: Value) -> bool:
    """A parameter that may be a fraction, where every call in sight leaves or sets it to 1 or more, is no fraction."""
    exponent, function = site.value.operands.get("exponent"), site.frame.function
    if site.value.op != "pow" or exponent is None or function is None:
        return False
    default = exponent.constant() if exponent.assumed else None
    if isinstance(default, int | float) and default >= 1 and stripped(operand).op in NORMS:
        return True  # a focal loss is tried with fractions, the power of a norm is not
    given = function.node.args
    if exponent.node not in (*given.posonlyargs, *given.args, *given.kwonlyargs):
        return False
    calls = site.frame.session.calls.get(id(function.node), [])
    passed = [call.get(exponent.name, exponent).constant() for call in calls]
    numbers = passed or _written_for(exponent.name, exponent.constant(), site)
    return bool(numbers) and all(isinstance(n, int | float) and n >= 1 for n in numbers)


def is_refused_default(site: Site, operand: Value) -> bool:
    """A default that a test of the function asks about is not what arrives where it would do harm."""
    function = site.frame.function
    names = {v.name for v in behind(operand, lambda _: False) if v.is_constant and v.assumed and v.name}
    if function is None or not names:
        return False
    return any(
        isinstance(node, ast.If) and _asks_about(node, names) and _keeps_from(node, site.node)
        for node in descendants(function.node)
    )


def is_refused_where_taken(site: Site, operand: Value) -> bool:
    """What `where` takes by a mask has no 0 left, if elements of that mask that fail a comparison were refused above.

    So it is in `if (m & (x <= 0)).any(): raise …` before `y / torch.where(m, x, 1)`.
    """
    function, taken = site.frame.function, stripped(operand)
    call = taken.node
    if function is None or taken.op != "where" or not isinstance(call, ast.Call) or len(call.args) != 3:
        return False
    mask, chosen = (ast.unparse(part) for part in call.args[:2])
    return any(
        isinstance(node, ast.If)
        and isinstance(node.body[-1], ast.Raise)
        and node.lineno < call.lineno
        and any(_finds_among(n, mask, chosen) for n in descendants(node.test))
        for node in descendants(function.node)
    )


def _finds_among(node: ast.AST, mask: str, chosen: str) -> bool:
    """Whether an expression is `mask & (… chosen <= 0 …)`."""
    if (
        not isinstance(node, ast.BinOp)
        or not isinstance(node.op, ast.BitAnd)
        or ast.unparse(node.left) != mask
    ):
        return False
    tests = (n for n in descendants(node.right) if isinstance(n, ast.Compare))
    return any(ast.unparse(test.left) == chosen and ast.unparse(test.comparators[0]) == "0" for test in tests)


def _asks_about(branch: ast.If, names: set[str]) -> bool:
    """Whether a test compares one of the names with a number."""
    tests = (n for n in descendants(branch.test) if isinstance(n, ast.Compare))
    return any(isinstance(test.left, ast.Name) and test.left.id in names for test in tests)


def _keeps_from(branch: ast.If, node: ast.AST) -> bool:
    """Whether a branch refuses what its test has found, before an expression, or leads to that alone."""
    if isinstance(branch.body[-1], ast.Raise):
        return branch.lineno < getattr(node, "lineno", 0)
    return any(n is node for statement in branch.body for n in descendants(statement))


def _written_for(name: str, default: object, site: Site) -> list[object]:
    """What the calls in the file that were not followed yet give a function's parameter, by the text alone."""
    function = site.frame.function
    assert function is not None
    names = [a.arg for a in (*function.node.args.posonlyargs, *function.node.args.args)]
    place = names.index(name) if name in names else len(names)
    found: list[object] = []
    for call in descendants(site.frame.module.source.tree):
        if not isinstance(call, ast.Call) or getattr(call.func, "id", None) != function.name:
            continue
        written = next((k.value for k in call.keywords if k.arg == name), None)
        written = written or (call.args[place] if place < len(call.args) else None)
        found.append(default if written is None else getattr(written, "value", None))
    return found


def _is_held_back(value: Value, up: bool) -> bool:
    """Whether a value is bounded on the one side, kept by an object, or computed from what no name calls a logarithm."""
    kept = stripped(value)
    if kept.op in ("parameter", "norm_module") or (kept.op == "attribute" and not is_returned(kept)):
        return True
    reach = value.interval.hi if up else -value.interval.lo
    return reach < math.inf or (value.ends < Ground.SATURATION and value.op in COMPUTED)


def is_upper_bound(site: Site) -> bool:
    """Whether the obligation that is broken is one from above."""
    return " <" in site.judgement.failing
