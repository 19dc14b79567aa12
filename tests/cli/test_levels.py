"""Which findings fail a run and which are left out, by their confidence, on the command line and in the settings."""

import json
from pathlib import Path

import pytest

from cli.conftest import Run
from stablelint.analysis.evidence import score

LIKELY = "import torch\n\n\ndef f(x):\n    return torch.log(torch.softmax(x, -1))\n"
POSSIBLE = "import torch\n\n\ndef f(x):\n    return torch.exp(x)\n"

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture(autouse=True)
def _fixed_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Confidences of 0.88 where operations are known to lead there, of 0.12 elsewhere, whatever is measured."""
    weights = score.Weights(-2.0, {"shown": 4.0})
    monkeypatch.setattr(score, "weights", lambda: weights)


@pytest.fixture
def possible(project: Path) -> None:
    (project / "bad.py").write_text(POSSIBLE)


@pytest.mark.usefixtures("possible")
def test_what_is_merely_possible_is_shown_on_a_line_and_fails_nothing(run: Run) -> None:
    outcome = run("check", "--no-cache")
    assert outcome.code == 0
    assert "5:12  SL201   11%  torch.exp(x)  unguarded-exp" in outcome.out
    assert "Found 1 possible finding in 1 file." in outcome.out
    concise = run("check", "--no-cache", "--output-format", "concise")
    assert concise.out.startswith("bad.py:5:12: SL201 (possible, 11%) ")


@pytest.mark.usefixtures("possible")
def test_it_fails_where_that_is_asked_for(run: Run, project: Path) -> None:
    assert run("check", "--no-cache", "--fail-on", "possible").code == 1
    assert run("check", "--no-cache", "--fail-on", "possible", "--exit-zero").code == 0
    assert run("check", "--no-cache", "--level", "possible").code == 0
    (project / "pyproject.toml").write_text('[tool.stablelint]\nfail-on = "possible"\n')
    assert run("check", "--no-cache").code == 1
    assert run("check", "--no-cache", "--fail-on", "likely").code == 0


@pytest.mark.parametrize("level", ["likely", "possible"])
def test_what_is_likely_fails_always(run: Run, project: Path, level: str) -> None:
    (project / "bad.py").write_text(LIKELY)
    assert run("check", "--no-cache", "--fail-on", level).code == 1


@pytest.mark.usefixtures("possible")
def test_what_is_below_a_confidence_is_left_out_and_counted(run: Run, project: Path) -> None:
    outcome = run("check", "--no-cache", "--min-confidence", "0.2", "--fail-on", "possible")
    assert outcome.code == 0
    assert "SL201" not in outcome.out
    assert "Not shown: 1 below the minimum confidence (`--min-confidence 0`)." in outcome.out
    (project / "pyproject.toml").write_text("[tool.stablelint]\nmin-confidence = 0.2\n")
    assert json.loads(run("check", "--no-cache", "--output-format", "json").out) == []
    shown = run("check", "--no-cache", "--output-format", "json", "--min-confidence", "0").out
    assert [item["code"] for item in json.loads(shown)] == ["SL201"]


@pytest.mark.usefixtures("possible")
def test_a_bound_of_what_nothing_shows_to_overflow_is_shown_and_not_written(run: Run, project: Path) -> None:
    outcome = run("fix", "--no-cache", "--apply", "--unsafe-fixes", "--level", "possible")
    assert (project / "bad.py").read_text() == POSSIBLE
    assert "1 finding has a rewrite that nothing shows to be needed" in outcome.out
    shown = run("check", "--no-cache", "--level", "possible").out
    assert "fix (display): keep the argument below 88, which float32 bears" in shown
    assert "x.clamp(max=88.0)" in shown


@pytest.mark.parametrize("share", ["1.5", "-0.1", "nan", "often"])
def test_a_confidence_is_a_number_from_0_to_1(run: Run, project: Path, share: str) -> None:
    outcome = run("check", f"--min-confidence={share}")
    assert outcome.code == 2
    assert f"not a number from 0 to 1: {share}" in outcome.err
    (project / "pyproject.toml").write_text("[tool.stablelint]\nmin-confidence = 1.5\n")
    assert 'pyproject.toml:2:1: "min-confidence"' in run("check").err


def test_a_level_to_fail_on_is_one_of_two(run: Run, project: Path) -> None:
    assert run("check", "--fail-on", "sure").code == 2
    (project / "pyproject.toml").write_text('[tool.stablelint]\nfail-on = "sure"\n')
    assert 'must be "likely" or "possible"' in run("check").err
