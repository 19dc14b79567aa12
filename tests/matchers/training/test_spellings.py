from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.matchers.support import CATALOG, findings

TABLE = tomllib.loads(Path(__file__).with_name("spellings.toml").read_text("utf-8"))


def _bodies(kind: str) -> list[tuple[str, str]]:
    return [
        (code, group["around"].replace("…", part) + "\n")
        for code, groups in TABLE.items()
        for group in groups
        for part in group.get(kind, ())
    ]


@pytest.mark.parametrize(("code", "body"), _bodies("wrong"))
def test_a_mistake_is_found_however_it_is_spelled(code: str, body: str) -> None:
    assert findings(code, body)


@pytest.mark.parametrize(("code", "body"), _bodies("right"))
def test_the_same_done_rightly_is_passed_over(code: str, body: str) -> None:
    assert findings(code, body) == []


def test_each_rule_of_training_loops_is_tried_in_ten_spellings() -> None:
    enabled = {code for code, rule in CATALOG.rules.items() if code.startswith("SL6") and rule.enabled}
    tried = [code for code, _ in _bodies("wrong")]
    assert {code for code in enabled if tried.count(code) < 10} == {"SL612"}  # of the family of losses
