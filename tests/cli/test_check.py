import json
import os
from pathlib import Path

import pytest

from cli.conftest import BAD, Run


def codes(text: str) -> list[str]:
    return [item["code"] for item in json.loads(text)]


def test_a_finding_is_shown_with_its_chain_and_makes_the_exit_code_1(run: Run) -> None:
    outcome = run("check")
    assert outcome.code == 1
    assert "SL202" in outcome.out
    assert "--> bad.py:7:12" in outcome.out
    assert "p = F.softmax(logits, dim=-1)" in outcome.out
    assert outcome.out.endswith(
        "Next: `stablelint fix` shows 1 rewrite.\n      `stablelint rule SL202` says why it matters.\n"
    )
    assert outcome.err == ""


def test_clean_code_exits_with_0(run: Run, project: Path) -> None:
    (project / "bad.py").write_text("import torch\n\n\ndef f(x):\n    return torch.log(x.clamp_min(1e-6))\n")
    outcome = run("check")
    assert outcome.code == 0
    assert outcome.out.startswith("No findings in 1 file")


def test_exit_zero_and_quiet(run: Run) -> None:
    outcome = run("check", "--exit-zero", "-q", "--output-format", "concise")
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) == 1
    assert outcome.out.startswith("bad.py:7:12: SL202 [*]")


def test_selecting_and_ignoring(run: Run, project: Path) -> None:
    assert codes(run("check", "--output-format", "json").out) == ["SL202"]
    assert run("check", "--ignore", "SL2").code == 0
    assert run("check", "--select", "SL1,SL3").code == 0
    assert run("check", "--select", "log-of-softmax").code == 1
    assert run("check", "--per-file-ignores", "bad.py:SL202").code == 0
    assert run("check", "--extend-select", "ALL", "--extend-ignore", "SL202").code == 0


def test_an_unknown_rule_is_named_with_the_nearest(run: Run) -> None:
    outcome = run("check", "--select", "SL5011")
    assert outcome.code == 2
    assert 'unknown rule "SL5011" in --select' in outcome.err
    assert "did you mean SL501?" in outcome.err
    assert outcome.out == ""
    assert "did you mean ALL?" in run("check", "--select", "all").err


def test_a_selection_of_nothing_is_refused(run: Run) -> None:
    for given in (["--ignore", "ALL"], ["--select", "SL2", "--ignore", "SL202", "--ignore", "SL2"]):
        outcome = run("check", *given)
        assert (outcome.code, outcome.out) == (2, "")
        assert "no rule is selected" in outcome.err
    outcome = run("check", "--select", "")
    assert outcome.code == 2
    assert "no rule is named" in outcome.err


def test_settings_are_read_from_the_nearest_pyproject(run: Run, project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.stablelint]\nignore = ["SL202"]\n')
    assert run("check").code == 0
    assert run("check", "--select", "SL202").code == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.stablelint\n", "malformed TOML"),
        ("[tool.stablelint]\nselekt = []\n", 'pyproject.toml:2:1: unknown key "selekt"'),
        ('[tool.stablelint]\n\nignore = ["SL999"]\n', 'pyproject.toml:3:1: unknown rule "SL999" in "ignore"'),
    ],
)
def test_wrong_settings_are_one_message_with_its_place(
    run: Run, project: Path, text: str, message: str
) -> None:
    (project / "pyproject.toml").write_text(text)
    outcome = run("check")
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("error: ") == 1


def test_bad_files_are_named_and_the_others_answered(run: Run, project: Path) -> None:
    (project / "syntax.py").write_text("import torch\ndef (\n")
    (project / "bytes.py").write_bytes(b"import torch\n\xff\n")
    outcome = run("check", "--output-format", "json", ".", "gone.py")
    assert outcome.code == 2
    assert codes(outcome.out) == ["SL202"]
    assert "syntax.py:2:" in outcome.err
    assert "bytes.py:2:" in outcome.err
    assert "gone.py: no such file or folder" in outcome.err
    assert run("check", "gone.py").out == "", "nothing was read, and nothing is said of it"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser reads everything")
def test_an_unreadable_file_is_named(run: Run, project: Path) -> None:
    (project / "secret.py").write_text(BAD)
    (project / "secret.py").chmod(0)
    outcome = run("check")
    assert outcome.code == 2
    assert "secret.py: cannot read this file" in outcome.err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser reads everything")
def test_an_unreadable_folder_is_named(run: Run, project: Path) -> None:
    (project / "secret").mkdir(mode=0)
    outcome = run("check", "secret")
    assert outcome.code == 2
    assert "secret: cannot read this folder" in outcome.err


def test_a_folder_without_python_is_an_error(run: Run, project: Path) -> None:
    (project / "empty").mkdir()
    outcome = run("check", "empty")
    assert outcome.code == 2
    assert "empty: no Python files in this folder" in outcome.err


def test_code_from_stdin(spawn: Run, project: Path) -> None:
    outcome = spawn("check", "-", "--stdin-filename", "new.py", stdin=BAD)
    assert outcome.code == 1
    assert "--> new.py:7:12" in outcome.out
    assert "return torch.log(p)" in outcome.out
    assert spawn("check", "-", stdin="x = 1\n").code == 0


def test_statistics(run: Run) -> None:
    assert (
        run("check", "--statistics").out
        == "1  SL202  [*]  log-of-softmax\n[*]: `stablelint fix` has a rewrite\n"
    )
    (row,) = json.loads(run("check", "--statistics", "--output-format", "json").out)
    assert (row["code"], row["count"]) == ("SL202", 1)
    assert run("check", "--statistics", "--ignore", "SL202").out.startswith("No findings in 1 file")


def test_a_report_can_go_to_a_file(run: Run, project: Path) -> None:
    outcome = run("check", "--output-format", "sarif", "-o", "report.sarif")
    assert (outcome.code, outcome.out) == (1, "")
    assert json.loads((project / "report.sarif").read_text())["version"] == "2.1.0"
    outcome = run("check", "-o", "no/such/folder")
    assert outcome.code == 2
    assert "cannot write the report" in outcome.err


def test_what_was_proved_safe_can_be_listed(run: Run, project: Path) -> None:
    (project / "bad.py").write_text("import torch\n\n\ndef f(x):\n    return torch.log(x.exp() + 1)\n")
    outcome = run("check", "--show-discharged", "--ignore", "ALL", "--select", "SL101")
    assert "Proved safe: 1 operation\n  bad.py:5:12: SL101" in outcome.out


def test_the_level_possible_reports_what_nothing_guards(run: Run, project: Path) -> None:
    (project / "bad.py").write_text("import torch\n\n\ndef f(x):\n    return torch.sqrt(x)\n")
    assert run("check").code == 0
    assert codes(run("check", "--level", "possible", "--output-format", "json").out) == ["SL103"]


def test_noqa_comments_for_the_adoption_of_old_code(run: Run, project: Path) -> None:
    outcome = run("check", "--add-noqa")
    assert outcome.code == 0
    assert "Silenced 1 finding" in outcome.err
    assert "return torch.log(p)  # noqa: SL202\n" in (project / "bad.py").read_text()
    assert run("check").code == 0
    assert "1 silenced by comments" in run("check").out


def test_an_unused_suppression_is_a_finding(run: Run, project: Path) -> None:
    (project / "bad.py").write_text("x = 1  # stablelint: ignore[SL101] once needed\n")
    outcome = run("check", "--output-format", "concise")
    assert outcome.code == 1
    assert outcome.out.startswith("bad.py:1:8: SL001 [*] no `SL101` is reported here")
    assert run("check", "--ignore", "SL001").code == 0


def test_a_baseline_lets_only_new_findings_fail(run: Run, project: Path) -> None:
    assert run("check", "--write-baseline", "known.json").code == 0
    assert run("check", "--baseline", "known.json").code == 0
    (project / "bad.py").write_text("# a line more\n" + BAD)
    outcome = run("check", "--baseline", "known.json")
    assert outcome.code == 0
    assert "1 in the baseline" in outcome.out
    (project / "more.py").write_text(BAD)
    outcome = run("check", "--baseline", "known.json", "--output-format", "concise")
    assert outcome.code == 1
    assert outcome.out.startswith("more.py:")
    assert run("check", "--baseline", "gone.json").code == 2
    (project / "pyproject.toml").write_text('[tool.stablelint]\nbaseline = "known.json"\n')
    assert run("check", "bad.py").code == 0
    assert run("check", "--no-baseline", "bad.py").code == 1


def test_a_malformed_rule_page_is_named_and_the_others_are_used(run: Run, project: Path) -> None:
    (project / "lint_rules").mkdir()
    (project / "lint_rules" / "mine.md").write_text("# mine\n\nA rule.\n\n```toml\ncode = 3\n```\n")
    (project / "pyproject.toml").write_text('[tool.stablelint]\nrules = ["lint_rules"]\n')
    outcome = run("check", "--output-format", "concise", "bad.py")
    assert outcome.code == 2
    assert "lint_rules/mine.md:" in outcome.err
    assert "SL202" in outcome.out


_PAGE = """# mine

A rule.

```toml
code = "XX100"
severity = "error"
matcher = "stablelint.matchers.nan:{name}"
```

## Why is this bad?
It is.

## Fix safety
There is no fix.

## Examples
None.
"""


def test_a_page_may_name_only_a_matcher_that_there_is(run: Run, project: Path) -> None:
    (project / "lint_rules").mkdir()
    page = project / "lint_rules" / "mine.md"
    (project / "pyproject.toml").write_text('[tool.stablelint]\nrules = ["lint_rules"]\n')
    page.write_text(_PAGE.format(name="nan_literal"))
    assert run("check", "bad.py").err == ""
    page.write_text(_PAGE.format(name="nan_literals"))
    outcome = run("check", "--output-format", "concise", "bad.py")
    assert outcome.code == 2
    assert "mine.md:8:1: rule page: there is no matcher `stablelint.matchers.nan:nan_literals`" in outcome.err
    assert "did you mean `nan_literal`?" in outcome.err
    assert "SL202" in outcome.out


def test_all_sections_that_a_page_lacks_are_named_at_once(run: Run, project: Path) -> None:
    (project / "lint_rules").mkdir()
    page = _PAGE.split("## Fix safety")[0].format(name="nan_literal")
    (project / "lint_rules" / "mine.md").write_text(page)
    (project / "pyproject.toml").write_text('[tool.stablelint]\nrules = ["lint_rules"]\n')
    assert "the sections `## Fix safety`, `## Examples` are missing" in run("check", "bad.py").err


def test_a_report_to_a_hyphen_goes_to_standard_output(run: Run, project: Path) -> None:
    outcome = run("check", "-o", "-", "--output-format", "concise")
    assert outcome.out.startswith("bad.py:7:12: SL202")
    assert not (project / "-").exists()


def test_colour_follows_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1;31m" in run("check").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("check").out


def test_a_closed_pipe_is_no_error(project: Path) -> None:
    import subprocess
    import sys

    (project / "bad.py").write_text(
        BAD + "".join(BAD[BAD.index("def") :].replace("y(", f"y{n}(") for n in range(400))
    )
    shell = f"{sys.executable} -m stablelint check --no-cache | head -1"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert "SL202" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("style", "variable"), [("github", "GITHUB_WORKSPACE"), ("gitlab", "CI_PROJECT_DIR")]
)
def test_a_job_below_the_root_of_the_repository_names_files_from_there(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch, style: str, variable: str
) -> None:
    (project / "package").mkdir()
    (project / "bad.py").rename(project / "package" / "bad.py")
    monkeypatch.chdir(project / "package")
    monkeypatch.setenv(variable, str(project))
    assert "package/bad.py" in run("check", "--output-format", style).out
    assert "package/bad.py" not in run("check", "--output-format", "concise").out
