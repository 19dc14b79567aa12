"""The examples of every page, put to the test as `stablelint rules test` does.

At a marked line the rule speaks, whatever the confidence; at no other line does it speak, and nothing likely is found there
by another. The fix writes what the page shows, and is not reported.
"""

import pytest

from stablelint.catalog import Rule, load_catalog
from stablelint.workspace import rule_tests

CATALOG = load_catalog(entry_points=False)
RULES = list(CATALOG.rules.values())
CLAIMS = [
    pytest.param(claim, id=f"{rule.code}: {claim.title}")
    for rule in RULES
    for claim in rule_tests.tests_of(rule, CATALOG)
    if "example at line" in claim.title
]


@pytest.mark.parametrize("claim", CLAIMS)
def test_an_example_is_as_its_page_says(claim: rule_tests.Test) -> None:
    assert claim.run() is None


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.fixes], ids=lambda rule: rule.code)
def test_a_rule_with_rewrites_shows_what_one_writes(rule: Rule) -> None:
    assert any(example.fixed is not None for example in rule.examples)
