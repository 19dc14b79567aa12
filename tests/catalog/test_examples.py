"""The examples of every page, run through the engine.

At a marked line the rule speaks, whatever the confidence; at no other line does it speak, and no other rule knows
operations that lead to a bad operand there. What others leave unguarded in an example is not its subject.
"""

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import Rule, load_catalog
from stablelint.catalog.page import Example
from stablelint.codemod.propose import propose_all
from stablelint.codemod.text.edits import apply_edits
from stablelint.diagnostic import Diagnostic, Status

CATALOG = load_catalog(entry_points=False)
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-line{example.line}")
    for rule in CATALOG.rules.values()
    for example in rule.examples
]
FIXED = [param for param in EXAMPLES if param.values[1].fixed is not None]


def _check(code: str, rule: Rule) -> tuple[Diagnostic, ...]:
    """What the rule says, and what is violated by another that is on by default."""
    report = check_source(code.encode(), "example.py", CATALOG, AnalysisOptions())
    assert report.problems == ()
    return tuple(d for d in report.diagnostics if d.code == rule.code or _is_violated(d))


def _is_violated(diagnostic: Diagnostic) -> bool:
    return diagnostic.status is Status.VIOLATED and CATALOG.rules[diagnostic.code].enabled


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_an_example_is_reported_at_its_marked_lines_and_nowhere_else(rule: Rule, example: Example) -> None:
    found = [(diagnostic.span.start.row, diagnostic.code) for diagnostic in _check(example.code, rule)]
    assert sorted(found) == [(marker.line, rule.code) for marker in example.markers]


@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_the_fixed_example_is_what_the_fix_writes(rule: Rule, example: Example) -> None:
    source = example.code.encode()
    fixed = propose_all(source, [d for d in _check(example.code, rule) if d.code == rule.code])
    edits = [edit for diagnostic in fixed if diagnostic.fix is not None for edit in diagnostic.fix.edits]
    written = apply_edits(source, edits).decode()
    assert _without_comments(written) == _without_comments(example.fixed or "")


@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_the_fixed_example_is_not_reported(rule: Rule, example: Example) -> None:
    assert [d.code for d in _check(example.fixed or "", rule) if d.code == rule.code] == []


@pytest.mark.parametrize(
    "rule", [rule for rule in CATALOG.rules.values() if rule.fixes], ids=lambda r: r.code
)
def test_a_rule_with_rewrites_shows_what_one_writes(rule: Rule) -> None:
    assert any(example.fixed is not None for example in rule.examples)


def _without_comments(code: str) -> str:
    return "\n".join(line.split("  # error")[0].rstrip() for line in code.splitlines())
