"""What is known to have been tested where a test came out one way."""

from __future__ import annotations

from stablelint.analysis.values.paths import EVALUATION
from stablelint.analysis.values.value import Value


def outcome(test: Value, truth: bool) -> dict[int, bool | frozenset[object]]:
    """What is known to have been tested where `test` is `truth`."""
    while test.op in ("logical_not", "python.not") and test.first is not None:
        test, truth = test.first, not truth
    found: dict[int, bool | frozenset[object]] = {test.key: truth}
    if test.op == "attribute" and test.name == "training" and not truth:
        found[EVALUATION] = True
    if test.op == "python.isinstance" and truth:
        found[test.operands["thing"].key] = True
    if (test.op, truth) in (("python.and", True), ("python.or", False)):
        for operand in test.operands.values():
            found.update(outcome(operand, truth))
    choice = _choice(test, truth)
    if choice is not None:
        found[-choice[0]] = choice[1]
    return found


def _choice(test: Value, truth: bool) -> tuple[int, frozenset[object]] | None:
    """What a test compares with constants, and those of them that it equals: `kind == "a" or kind == "b"`."""
    if (test.op, truth) in (("python.or", True), ("python.and", False)):
        parts = [_choice(operand, truth) for operand in test.operands.values()]
        known = [part for part in parts if part is not None]
        if not known or len(known) < len(parts) or len({key for key, _ in known}) > 1:
            return None
        return known[0][0], frozenset().union(*(values for _, values in known))
    if len(test.operands) != 2 or (test.op, truth) not in (("eq", True), ("ne", False), ("contains", True)):
        return None
    subject, constant = test.operands.values()
    choices = constant.data if test.op == "contains" else [constant]
    if not isinstance(choices, list) or not all(isinstance(v.constant(), str | int) for v in choices):
        return None
    return subject.key, frozenset(v.constant() for v in choices)
