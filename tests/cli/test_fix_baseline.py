import json
from pathlib import Path

from cli.conftest import BAD, Run

NEW = """

def loss(scores):
    return -torch.log(F.softmax(scores, dim=-1))
"""


def test_only_what_is_new_is_fixed(run: Run, project: Path) -> None:
    assert run("check", "--write-baseline", "known.json").code == 0
    (project / "bad.py").write_text(BAD + NEW)
    outcome = run("fix", "--baseline", "known.json", "--apply")
    assert outcome.code == 0
    assert "Fixed 1 finding in 1 file (1 SL202)." in outcome.out
    assert outcome.out.endswith("Not touched: 1 in the baseline (`--no-baseline`).\n")
    fixed = NEW.replace("torch.log(F.softmax(scores, dim=-1))", "F.log_softmax(scores, dim=-1)")
    assert (project / "bad.py").read_text() == BAD + fixed
    outcome = run("fix", "--baseline", "known.json", "--apply")
    assert (outcome.code, outcome.out) == (
        0,
        "Nothing to fix.\nNot touched: 1 in the baseline (`--no-baseline`).\n",
    )


def test_one_more_of_a_known_expression_is_new(run: Run, project: Path) -> None:
    assert run("check", "--write-baseline", "known.json").code == 0
    again = BAD[BAD.index("\n\ndef") :].replace("entropy", "surprise")
    (project / "bad.py").write_text(BAD + again)
    assert run("fix", "--baseline", "known.json", "--apply").code == 0
    text = (project / "bad.py").read_text()
    assert text.startswith(BAD)
    assert text.endswith("def surprise(logits):\n    return F.log_softmax(logits, dim=-1)\n")


def test_the_settings_name_the_baseline(run: Run, project: Path) -> None:
    assert run("check", "--write-baseline", "known.json").code == 0
    (project / "pyproject.toml").write_text('[tool.stablelint]\nbaseline = "known.json"\n')
    outcome = run("fix")
    assert outcome.code == 0
    assert "Nothing to fix." in outcome.out
    (project / "more.py").write_text(BAD)
    outcome = run("fix", "--diff")
    assert outcome.code == 1
    assert "+++ b/more.py" in outcome.out
    assert "bad.py" not in outcome.out


def test_a_known_comment_that_silences_nothing_stays(run: Run, project: Path) -> None:
    (project / "bad.py").write_text("x = 1  # stablelint: ignore[SL101] once needed\n")
    assert run("check", "--write-baseline", "known.json").code == 0
    assert run("fix", "--baseline", "known.json", "--apply").code == 0
    assert "once needed" in (project / "bad.py").read_text()


def test_the_standard_input_is_compared_under_its_name(spawn: Run, project: Path) -> None:
    assert spawn("check", "--write-baseline", "known.json").code == 0
    known = spawn("fix", "-", "--stdin-filename", "bad.py", "--baseline", "known.json", stdin=BAD)
    assert (known.code, known.out) == (0, BAD)
    assert "1 in the baseline" in known.err
    other = spawn("fix", "-", "--stdin-filename", "new.py", "--baseline", "known.json", stdin=BAD)
    assert "F.log_softmax" in other.out


def test_what_is_no_baseline_is_one_message_and_touches_nothing(run: Run, project: Path) -> None:
    (project / "known.json").write_text(json.dumps({"findings": 3}))
    for name in ("known.json", "gone.json"):
        outcome = run("fix", "--baseline", name, "--apply")
        assert outcome.code == 2
        assert outcome.err.startswith("error: ")
        assert (project / "bad.py").read_text() == BAD
