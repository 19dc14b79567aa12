"""What a watched program ends with is told as without probes."""

import subprocess
import sys
from pathlib import Path

from stablelint.runtime.process.launch import environment
from stablelint.runtime.verify.probe.plan import Plan, Target
from tests.runtime.verify.programs import site_at

PROGRAM = """\
import threading
import torch

def step(x):
    y = torch.log(x).sum()
    y.backward(torch.ones(2))

def main():
    try:
        step(torch.zeros(3, requires_grad=True))
    except RuntimeError as error:
        raise KeyError("no step") from error

thread = threading.Thread(target=main)
thread.start()
thread.join()
main()
"""


def test_frames_of_probes_are_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(PROGRAM, encoding="utf-8")
    span = site_at(path, "torch.log(x)", None, {"x": "x"}).span
    places = (span.start.row, span.start.column), (span.end.row, span.end.column)
    plan = Plan(str(tmp_path / "seen"), {str(path.resolve()): (Target("log", *places, ("x",)),)})
    (tmp_path / "seen").mkdir()
    plan.for_processes().write(tmp_path / "plan.json")
    line = [sys.executable, "train.py"]
    plain = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    probed = subprocess.run(
        line, cwd=tmp_path, capture_output=True, text=True, env=environment(tmp_path / "plan.json")
    )
    assert probed.stderr.replace(str(path), "train.py") == plain.stderr.replace(str(path), "train.py")
    assert probed.stderr.count("KeyError: 'no step'") == 2
