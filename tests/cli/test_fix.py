import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import BAD, Run

UNSAFE = "import torch\n\n\ndef f(x):\n    return torch.log(torch.relu(x))\n"


def test_the_diff_is_shown_with_its_reason_and_nothing_written(run: Run, project: Path) -> None:
    outcome = run("fix")
    assert outcome.code == 1
    assert "SL202 log-of-softmax" in outcome.out
    assert "safe fix" in outcome.out
    assert "-    return torch.log(p)\n+    return F.log_softmax(logits, dim=-1)" in outcome.out
    assert "Would fix 1 finding in 1 file (1 SL202). `--apply` writes it." in outcome.out
    assert (project / "bad.py").read_text() == BAD


def test_apply_writes_and_a_second_run_changes_nothing(run: Run, project: Path) -> None:
    outcome = run("fix", "--apply")
    assert outcome.code == 0
    assert "Fixed 1 finding" in outcome.out
    assert "F.log_softmax(logits, dim=-1)" in (project / "bad.py").read_text()
    outcome = run("fix", "--apply")
    assert outcome.code == 0
    assert outcome.out == "Nothing to fix.\n"


def test_the_plain_diff_can_be_applied_by_other_tools(run: Run, project: Path) -> None:
    outcome = run("fix", "--diff")
    assert outcome.code == 1
    assert outcome.out.startswith("--- a/bad.py\n+++ b/bad.py\n")
    assert "Would fix" in outcome.err
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "apply"], input=outcome.out, text=True, check=True)
    assert "F.log_softmax(logits, dim=-1)" in (project / "bad.py").read_text()


def test_the_diff_of_a_file_is_in_the_encoding_of_the_file(project: Path) -> None:
    source = ("# coding: latin-1\n" + BAD.replace("    return", "    # été\n    return")).encode("latin-1")
    (project / "bad.py").write_bytes(source)
    done = subprocess.run(
        [sys.executable, "-m", "stablelint", "fix", "--diff"], capture_output=True, check=False, cwd=project
    )
    subprocess.run(["git", "apply"], input=done.stdout, check=True, cwd=project)
    assert b"log_softmax" in (project / "bad.py").read_bytes()
    assert "été".encode("latin-1") in (project / "bad.py").read_bytes()


def test_unsafe_fixes_are_opted_into(run: Run, project: Path) -> None:
    (project / "bad.py").write_text(UNSAFE)
    outcome = run("fix")
    assert outcome.code == 0
    assert "Nothing to fix safely." in outcome.out
    assert "1 finding has a rewrite that can change values: `--unsafe-fixes`." in outcome.out
    outcome = run("fix", "--unsafe-fixes")
    assert outcome.code == 1
    assert "unsafe fix" in outcome.out
    (project / "pyproject.toml").write_text("[tool.stablelint]\nunsafe-fixes = true\n")
    assert run("fix").code == 1


def test_apply_exits_with_1_while_findings_are_left(run: Run, project: Path) -> None:
    (project / "bad.py").write_text(UNSAFE)
    assert run("fix", "--apply").code == 1
    assert run("fix", "--apply", "--exit-zero").code == 0
    assert (project / "bad.py").read_text() == UNSAFE


def test_select_limits_what_is_fixed(run: Run, project: Path) -> None:
    assert run("fix", "--select", "SL1", "--apply").code == 0
    assert (project / "bad.py").read_text() == BAD


def test_without_evidence_verified_fixes_nothing(run: Run, project: Path) -> None:
    outcome = run("fix", "--verified", "--apply")
    assert "Nothing to fix." in outcome.out
    assert (project / "bad.py").read_text() == BAD


def test_idle_comments_are_removed(run: Run, project: Path) -> None:
    (project / "bad.py").write_text("x = 1  # stablelint: ignore[SL101] once needed\n")
    assert run("fix", "--apply").code == 0
    assert (project / "bad.py").read_text() == "x = 1\n"


def test_a_file_that_changed_meanwhile_is_left_alone(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stablelint.codemod.text import apply

    original = apply.write_together

    def write(changes: list[apply.Change]) -> None:
        for change in changes:
            change.path.write_bytes(change.before + b"# by another hand\n")
        original(changes)

    monkeypatch.setattr(apply, "write_together", write)
    outcome = run("fix", "--apply")
    assert outcome.code == 2
    assert "changed since it was checked" in outcome.err
    assert (project / "bad.py").read_text() == BAD + "# by another hand\n"


def test_a_read_only_file_is_left_alone(run: Run, project: Path) -> None:
    (project / "bad.py").chmod(0o444)
    outcome = run("fix", "--apply")
    assert outcome.code == 2
    assert "read-only" in outcome.err
    assert (project / "bad.py").read_text() == BAD


def test_files_with_problems_do_not_stop_the_others(run: Run, project: Path) -> None:
    (project / "broken.py").write_text("import torch\ndef (\n")
    outcome = run("fix", "--apply")
    assert outcome.code == 2
    assert "broken.py:2:" in outcome.err
    assert "F.log_softmax" in (project / "bad.py").read_text()


class TestStandardInput:
    def test_the_fixed_source_is_printed(self, spawn: Run, project: Path) -> None:
        outcome = spawn("fix", "-", "--stdin-filename", "new.py", stdin=BAD)
        assert outcome.code == 0
        assert outcome.out == BAD.replace("    p = F.softmax(logits, dim=-1)\n", "").replace(
            "torch.log(p)", "F.log_softmax(logits, dim=-1)"
        )
        assert "Fixed 1 finding in 1 file (1 SL202)." in outcome.err
        assert not (project / "new.py").exists()

    def test_newlines_and_encoding_are_kept(self, project: Path) -> None:
        source = BAD.replace("import torch\n", "# -*- coding: latin-1 -*-\n# caf\xe9\nimport torch\n", 1)
        data = source.replace("\n", "\r\n").encode("latin-1")
        done = subprocess.run(
            [sys.executable, "-m", "stablelint", "fix", "-"], input=data, capture_output=True
        )
        assert done.stdout.startswith(b"# -*- coding: latin-1 -*-\r\n# caf\xe9\r\nimport torch\r\n")
        assert done.stdout.endswith(b"    return F.log_softmax(logits, dim=-1)\r\n")

    def test_a_diff_is_printed_instead_where_it_is_asked_for(self, spawn: Run) -> None:
        outcome = spawn("fix", "--diff", "--stdin-filename", "new.py", stdin=BAD)
        assert outcome.out.startswith("--- a/new.py\n+++ b/new.py\n")
        assert (outcome.code, outcome.err) == (1, "Would fix 1 finding in 1 file (1 SL202).\n")

    def test_source_without_findings_comes_back_as_it_was(self, spawn: Run) -> None:
        outcome = spawn("fix", "-", "-q", stdin="x = 1\n")
        assert (outcome.code, outcome.out, outcome.err) == (0, "x = 1\n", "")

    def test_findings_that_stay_make_the_exit_code_1(self, spawn: Run) -> None:
        outcome = spawn("fix", "-", "-q", stdin=UNSAFE)
        assert (outcome.code, outcome.out) == (1, UNSAFE)

    def test_source_that_does_not_parse_comes_back_with_a_message(self, spawn: Run) -> None:
        source = "import torch\ny = torch.log(\n"
        outcome = spawn("fix", "-", stdin=source)
        assert (outcome.code, outcome.out) == (2, source)
        assert outcome.err.startswith("error")

    def test_there_is_no_file_to_apply_it_to(self, spawn: Run) -> None:
        outcome = spawn("fix", "-", "--apply", stdin=BAD)
        assert outcome.code == 2
        assert "--apply" in outcome.err
