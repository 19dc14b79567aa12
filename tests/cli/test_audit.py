"""`stablelint audit` of real processes: what it prints, and how it ends."""

import json
import re
import sys
from pathlib import Path

import pytest

from cli.conftest import Outcome
from cli.here import run_here

pytest.importorskip("torch")

FAULTY = """
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    loss = torch.nn.functional.cross_entropy(model(torch.randn(8, 3)).softmax(-1), torch.randint(0, 2, (8,)))
    loss.backward()
    optimizer.step()
print("the end")
"""
SOUND = FAULTY.replace(".softmax(-1)", "").replace(
    "    loss.back", "    optimizer.zero_grad()\n    loss.back"
)


def audit(*arguments: str, folder: Path) -> Outcome:
    return run_here(folder, "audit", *arguments)


def test_failed_checks_are_told_with_expression_and_remedy(tmp_path: Path, forked: None) -> None:
    (tmp_path / "train.py").write_text(FAULTY)
    done = audit("--html", "page.html", "--", sys.executable, "train.py", folder=tmp_path)
    assert done.code == 1
    assert done.err == ""
    assert "\nthe end" not in f"\n{done.out}"
    assert "failed[raw-scores]" in done.out
    assert "train.py:8:12" in done.out
    assert "optimizer.zero_grad() in each step" in done.out
    assert "= expected: Gradients are zeroed" in done.out
    last = done.out.splitlines()[-1]
    assert re.fullmatch(
        r"✗ \d+ failed, ! \d+ warned, ✓ \d+ passed, · \d+ not seen; 10 optimizer steps .*", last
    )
    page = (tmp_path / "page.html").read_text()
    assert page.index("<h2>failed[zeroed-gradients]: ") < page.index("<h2>every check</h2>")
    assert "<mark>" in page
    assert str(tmp_path) not in page
    assert "<svg" in page
    assert "zeroed-gradients" in page


def test_a_sound_command_runs_to_its_end_where_it_may(tmp_path: Path, forked: None) -> None:
    (tmp_path / "train.py").write_text(SOUND)
    done = audit("--steps", "0", "--output-format", "json", "--", sys.executable, "train.py", folder=tmp_path)
    assert done.code == 0, done.out
    first, _, rest = done.out.partition("\n")
    assert first == "the end"
    payload = json.loads(rest)
    assert payload["steps"] == 20
    assert payload["counts"]["failed"] == payload["counts"]["warned"] == 0
    assert {one["family"] for one in payload["checks"]} >= {"data", "labels", "model", "loop", "memory"}
    assert not payload["trouble"]


def test_a_crash_is_passed_on_and_what_was_seen_is_told(tmp_path: Path, forked: None) -> None:
    (tmp_path / "train.py").write_text(
        SOUND.replace("print(", "    if step == 4:\n        raise SystemExit(3)\nprint(")
    )
    done = audit("--all", "--", sys.executable, "train.py", folder=tmp_path)
    assert done.code == 3
    assert "5 optimizer steps were watched" in done.out


HOOK = """import sys, traceback
sys.excepthook = lambda *error: print('in its own words', *(
    one.filename.rpartition("/")[2] for one in traceback.extract_tb(error[2])), file=sys.stderr)
"""


def test_an_error_is_explained_and_what_was_seen_is_told(tmp_path: Path) -> None:
    program = SOUND.replace("torch.randint(0, 2,", "torch.randint(2 * (step > 3), 2 + (step > 3),")
    (tmp_path / "train.py").write_text(HOOK + program)
    done = audit("--", sys.executable, "train.py", folder=tmp_path)
    assert done.code == 1
    assert done.err.startswith("in its own words train.py functional.py\n\nIndexError[target]: ")
    assert "train.py:11:12" in done.err
    assert "4 optimizer steps were watched" in done.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "no command to run"),
        (("--steps", "many", "--", "x"), "not a number of steps: many"),
        (("--", sys.executable, "-c", "pass"), "no training was seen"),
        (("--", "no-such-command"), "no such command"),
    ],
)
def test_what_cannot_be_audited_is_refused(arguments: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = audit(*arguments, folder=tmp_path)
    assert done.code == 2
    assert says in done.err
