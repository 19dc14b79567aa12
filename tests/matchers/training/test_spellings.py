import tomllib
from pathlib import Path

import pytest

from tests.matchers.support import CATALOG, findings

TABLE = tomllib.loads(Path(__file__).with_name("spellings.toml").read_text("utf-8"))


def _bodies(code: str, kind: str) -> list[str]:
    return [
        group["around"].replace("…", part) + "\n"
        for group in TABLE.get(code, ())
        for part in group.get(kind, ())
    ]


@pytest.mark.parametrize("code", TABLE)
def test_a_mistake_is_found_however_it_is_spelled(code: str) -> None:
    assert not [body for body in _bodies(code, "wrong") if not findings(code, body)]


@pytest.mark.parametrize("code", TABLE)
def test_the_same_done_rightly_is_passed_over(code: str) -> None:
    assert not [body for body in _bodies(code, "right") if findings(code, body)]


def test_each_rule_of_training_loops_is_tried_in_ten_spellings() -> None:
    enabled = {code for code, rule in CATALOG.rules.items() if code.startswith("SL6") and rule.enabled}
    assert {code for code in enabled if len(_bodies(code, "wrong")) < 10} == {
        "SL612"
    }  # of the family of losses
