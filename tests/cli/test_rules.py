import json
import re

import pytest

from cli.conftest import Run


def test_the_list_has_a_line_a_rule(run: Run) -> None:
    outcome = run("rules")
    assert outcome.code == 0
    assert any(line.startswith("SL101  unguarded-log") for line in outcome.out.splitlines())
    items = json.loads(run("rules", "--output-format", "json").out)
    assert [item["code"] for item in items] == sorted(item["code"] for item in items)


@pytest.mark.parametrize("name", ["SL101", "sl101", "unguarded-log"])
def test_a_page_is_printed_as_it_is_written(run: Run, name: str) -> None:
    outcome = run("rule", name)
    assert outcome.code == 0
    assert outcome.out.startswith("# unguarded-log\n")
    assert "## Why is this bad?" in outcome.out


@pytest.mark.parametrize("name", ["SL001", "unused-suppression"])
def test_the_program_has_a_page_for_its_own_rule(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert run("rule", name).out.startswith("# unused-suppression\n")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "severity: warning" in run("rule", name).out


def test_listed_rules_have_a_page(run: Run) -> None:
    for item in json.loads(run("rules", "--output-format", "json").out)[::12]:
        assert run("rule", item["code"]).code == 0, item["code"]


def test_a_page_is_laid_out_for_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    outcome = run("rule", "SL101")
    assert "\x1b[" in outcome.out
    assert "```" not in outcome.out
    assert "code = " not in outcome.out
    plain = re.sub(r"\x1b\[[0-9;]*m", "", outcome.out)
    assert "in torch.log($x), torch.log2($x), torch.log10($x), torch.log1p($u)" in plain
    assert "the gradient needs: x > 0 and u > -1" in plain
    assert plain.count("fix (unsafe): keep the argument above -1") == 1
    assert plain.index("# error: relu reaches 0") < plain.index("Fixed:") < plain.index("Safe:")


def test_an_unknown_rule_gets_the_nearest(run: Run) -> None:
    outcome = run("rule", "unguarded-lag")
    assert outcome.code == 2
    assert "did you mean SL101 (unguarded-log)?" in outcome.err


def test_the_beginning_of_codes_is_told_from_a_slip(run: Run) -> None:
    assert "SL10 begins 9 codes, from SL101 to SL109" in run("rule", "SL10").err
    assert "did you mean SL101?" in run("rule", "SL1011").err
    assert "`stablelint rules` lists them all" in run("rule", "SL999").err
