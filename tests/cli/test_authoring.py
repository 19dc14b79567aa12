"""A project's own rule page, from `rules new` to a finding."""

from pathlib import Path

import pytest

from cli.conftest import Run

PAGE = Path("lint_rules/unguarded-trigamma.md")
USE = "import torch\n\n\ndef f(x):\n    return torch.polygamma(1, torch.relu(x))\n"


def test_a_new_page_passes_its_tests_and_finds_something(run: Run, project: Path) -> None:
    written = run("rules", "new", "unguarded-trigamma")
    assert written.code == 0
    assert 'Added `rules = ["lint_rules"]` to pyproject.toml' in written.out
    (project / "bad.py").write_text(USE)
    tested = run("rules", "test")
    assert tested.code == 0, tested.out
    assert tested.out.endswith("passed, 0 failed.\n")
    assert "bad.py:5:12: OWN001" in run("check", "--output-format", "concise").out


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from scipy.special import gammaln", "gammaln"),
        ("import scipy.special as sp", "sp.gammaln"),
        ("import scipy", "scipy.special.gammaln"),
    ],
)
def test_a_page_may_speak_of_another_package_however_it_is_imported(
    run: Run, project: Path, imports: str, call: str
) -> None:
    run("rules", "new", "unguarded-trigamma")
    page = project / PAGE
    page.write_text(page.read_text().replace("torch.polygamma(1, $x)", "scipy.special.gammaln($x)", 1))
    (project / "bad.py").write_text(
        f"import torch\n{imports}\n\ndef f(x):\n    return {call}(torch.relu(x))\n"
    )
    assert "bad.py:5:12: OWN001" in run("check", "--output-format", "concise").out


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[tool.stablelint]\nrules = ["lint_rules"]\n'),
        ('[project]\nname = "a"\n', '[project]\nname = "a"\n\n[tool.stablelint]\nrules = ["lint_rules"]\n'),
        (
            "[tool.stablelint]  # ours\njobs = 1\n",
            '[tool.stablelint]  # ours\nrules = ["lint_rules"]\njobs = 1\n',
        ),
        ("[tool]\nstablelint = { jobs = 1 }\n", "[tool]\nstablelint = { jobs = 1 }\n"),
    ],
)
def test_the_folder_of_a_first_page_is_named_in_the_settings(
    run: Run, project: Path, before: str, after: str
) -> None:
    (project / "pyproject.toml").write_text(before)
    outcome = run("rules", "new", "one")
    assert (project / "pyproject.toml").read_text() == after
    assert ("Added `rules" if after != before else "Add `rules") in outcome.out
    assert outcome.code == 0


def test_codes_of_new_pages_are_free(run: Run, project: Path) -> None:
    run("rules", "new", "one")
    run("rules", "new", "two")
    assert 'code = "OWN002"' in (project / "lint_rules" / "two.md").read_text()


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (
            "# error: relu reaches 0",
            "",
            ":40: a `python fixed` block follows the example that it fixes",
        ),
        (
            "concentration.abs() + 0.5).mean()",
            "concentration.abs() + 0.5).mean()  # error",
            "line 53 is marked, and not reported",
        ),
        (
            "concentration.abs() + 0.5",
            "torch.relu(concentration)",
            "line 53 is reported as OWN001, and not marked",
        ),
        (
            'forward = "x >= 2 * max ** -0.5"\nbackward = "x >= 2 * max ** (-1 / 3)"',
            'forward = "x >= tiny"',
            "the contract allows x = ",
        ),
        ("clamp_min(0.1)).mean", "clamp_min(0.2)).mean", "where the page shows"),
        (
            "import torch\n\n\ndef expected_log(concentration):\n    return torch.polygamma(1, torch.relu(c",
            "def expected_log(concentration):\n    return polygamma(1, relu(c",
            "it does not import torch, so it is not read",
        ),
        (
            'pattern = "torch.polygamma',
            'pattern = "unheard_of.special.polygamma',
            "No module named 'unheard_of'",
        ),
        ("x = [0.5, 100.0]", "", "[sample] lacks healthy operands for x"),
        ('replace = "$x.clamp_min(0.1)"', 'replace = "$x"', "is still not finite at x = "),
        (
            '[requires]\nforward = "x >= 2 * max ** -0.5"\nbackward = "x >= 2 * max ** (-1 / 3)"',
            "",
            ":1: what goes wrong: the page does not say for which operands",
        ),
    ],
)
def test_what_does_not_hold_is_told_with_its_line(
    run: Run, project: Path, before: str, after: str, says: str
) -> None:
    run("rules", "new", "unguarded-trigamma")
    page = project / PAGE
    text = page.read_text()
    assert before in text
    page.write_text(text.replace(before, after))
    outcome = run("rules", "test", str(PAGE))
    assert outcome.code == 1
    assert says in outcome.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("new", "Unguarded Digamma"), 'a rule cannot be called "Unguarded Digamma"'),
        (("new", "unguarded-log"), 'there is a rule called "unguarded-log" already'),
        (("test",), "there are no pages to test"),
        (("test", "nowhere"), "nowhere: no such page or folder"),
        (("test", "bad.py"), "no rule pages here"),
    ],
)
def test_bad_input_gets_one_message(run: Run, arguments: tuple[str, ...], says: str) -> None:
    outcome = run("rules", *arguments)
    assert outcome.code == 2
    assert says in outcome.err
    assert outcome.err.count("error:") == 1


def test_a_malformed_page_is_refused_with_its_line_and_nothing_is_overwritten(
    run: Run, project: Path
) -> None:
    run("rules", "new", "unguarded-trigamma")
    page = project / PAGE
    page.write_text(page.read_text().replace("expect", "").replace("severity", "severty"))
    outcome = run("rules", "test", "lint_rules")
    assert outcome.code == 2
    assert "unguarded-trigamma.md:7:1: rule page: unknown key `severty`" in outcome.err
    assert run("rules", "new", "unguarded-trigamma").code == 2
    assert "severty" in page.read_text()
    asked = run("check", "--select", "OWN001")
    assert asked.code == 2
    assert "unguarded-trigamma.md:7:1: rule page: unknown key `severty`" in asked.err
