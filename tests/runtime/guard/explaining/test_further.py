"""`verify_steps`: training continued with the fix in a forked copy, and nothing of it in this process."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
if not hasattr(os, "fork"):
    pytest.skip("no fork", allow_module_level=True)

from tests.runtime.guard.support import report_of  # noqa: E402

torch.set_num_threads(1)

HEAD = """
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
model = torch.nn.Linear(3, 2, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(24, 3)
x[9] = 0.0
"""
STEP = """
    optimizer.zero_grad()
    h = model(batch)
    loss = (h / h.norm(dim=-1, keepdim=True)).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
OVER_A_LOADER = "for index, (batch,) in enumerate(DataLoader(TensorDataset(x), batch_size=4)):" + STEP
OVER_A_RANGE = "for step in range(6):\n    batch = x[step * 4 : step * 4 + 4]" + STEP
OVER_A_GENERATOR = "batches = (x[i : i + 4] for i in range(0, 24, 4))\nfor batch in batches:" + STEP
WHILE = "step = 0\nwhile step < 6:\n    batch = x[step * 4 : step * 4 + 4]\n    step += 1" + STEP
IN_A_FUNCTION = (
    "def one(batch):"
    + STEP
    + "    return loss\n\ndef main():\n    for part in x.split(4):\n        one(part)\n\nmain()\n"
)


def further(program: str, folder: Path, steps: int, **options: Any) -> dict[str, Any]:
    path = folder / "train.py"
    path.write_text(HEAD + program)
    verification = report_of(path, verify_steps=steps, **options).as_json()["verification"]
    assert isinstance(verification, dict)
    assert verification["finite"]
    found = verification["further_steps"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    "program",
    [OVER_A_LOADER, OVER_A_RANGE, OVER_A_GENERATOR, WHILE],
    ids=["loader", "range", "generator", "while"],
)
def test_the_rest_of_the_loop_is_trained_with_the_fix(program: str, tmp_path: Path) -> None:
    found = further(program, tmp_path, 3)
    assert found["finite"] is True
    assert (found["asked"], found["taken"]) == (3, 3)
    assert found["note"] == "3 more steps with the fix stayed finite."


@pytest.mark.parametrize("program", [OVER_A_GENERATOR, WHILE], ids=["generator", "while"])
def test_a_loop_that_ends_early_is_said_so(program: str, tmp_path: Path) -> None:
    found = further(program, tmp_path, 50)
    assert found["finite"] is True
    assert found["taken"] == 3
    assert "the loop ended" in found["note"]


def test_a_loader_that_ends_is_begun_again(tmp_path: Path) -> None:
    assert further(OVER_A_LOADER, tmp_path, 20)["taken"] == 20


def test_a_step_called_for_each_batch_is_repeated_on_the_same_batch(tmp_path: Path) -> None:
    found = further(IN_A_FUNCTION, tmp_path, 4)
    assert found["taken"] == 4
    assert "on the same batch" in found["note"]


def test_a_fault_that_the_fix_does_not_touch_is_met_again(tmp_path: Path) -> None:
    program = OVER_A_RANGE.replace(
        "    loss.backward()", "    if step == 4:\n        loss = loss.log() / 0\n    loss.backward()"
    )
    found = further(program, tmp_path, 10)
    assert found["finite"] is False
    assert found["taken"] == 1
    assert "then the loss was not" in found["note"]


def test_the_process_itself_is_as_before(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "train.py"
    path.write_text(HEAD + OVER_A_RANGE + "    print('step', step, flush=True)\n")
    report_of(path, verify_steps=5)
    assert capfd.readouterr().out == "step 0\nstep 1\n"


def test_the_log_holds_one_line_for_each_report(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    found = further(OVER_A_RANGE, tmp_path, 2, log=log)
    [line] = log.read_text().splitlines()
    payload = json.loads(line)
    assert payload["event"]["step"] == 2
    assert payload["verification"]["further_steps"] == found
