"""Programs in which no optimizer steps: what they show that is not finite is traced back to its expression."""

import subprocess
import sys
from pathlib import Path

import pytest
from cli.here import run_here

torch = pytest.importorskip("torch")

import stablelint  # noqa: E402
from stablelint.runtime.guard.api import Report  # noqa: E402

torch.set_num_threads(1)

INFERENCE = """
import torch
model = torch.nn.Linear(4, 3).eval()
for number in range(3):
    x = torch.ones(2, 4) * (number != 1)
    with torch.no_grad():
        scores = model(x / x.norm(dim=-1, keepdim=True))
"""
PRINTED = "import torch\nx = torch.ones(3)\ny = x / (x - x)\nz = y - y\nprint(z)\n"
RETURNED = """
import torch
def entropy(p):
    return -(p * p.log()).sum()
print(f"{entropy(torch.tensor([0.0, 1.0])):.3f}")
"""
READ = "import torch\nvalues = []\np = torch.zeros(2)\nvalues.append(p.log().mean().item())\n"
GRADIENT = """
import torch
x = torch.tensor([0.0, 1.0], requires_grad=True)
spread = x * 2
y = spread.sqrt().sum()
y.backward()
print(x.grad)
"""
GRADIENT_TAKEN = """
import torch
x = torch.zeros(3, requires_grad=True)
y = (x**0.5).sum()
(gradient,) = torch.autograd.grad(y, x)
print(gradient)
"""
HELD = """
import torch
class Index:
    def __init__(self, rows):
        self.rows = rows / rows.norm(dim=1, keepdim=True)
    def query(self, x):
        return self.rows @ x
index = Index(torch.eye(3)[:, :2])
for x in torch.eye(2):
    print(index.query(x).tolist())
"""
SHOWING = {
    "a module's result": (INFERENCE, "x / x.norm(dim=-1, keepdim=True)"),
    "a printed tensor": (PRINTED, "x / (x - x)"),
    "a returned number": (RETURNED, "p.log()"),
    "a number read": (READ, "p.log()"),
    "a gradient": (GRADIENT, "spread.sqrt()"),
    "a gradient taken": (GRADIENT_TAKEN, "x**0.5"),
    "an object's own": (HELD, "rows / rows.norm(dim=1, keepdim=True)"),
}
SILENT = {
    "a mask": "import torch\nm = torch.zeros(2, 2).masked_fill(torch.eye(2) > 0, float('-inf'))\nprint(m, m.softmax(-1))",
    "a start value": "import torch\nbest = torch.tensor(float('inf'))\nprint(best, torch.minimum(best, torch.ones(())))",
    "data": "import torch\nprint(torch.tensor([1.0, float('nan')]))",
    "validation in training": INFERENCE
    + """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(2, 4)).sum().backward()
optimizer.step()
""",
}


def shown_by(program: str, folder: Path) -> list[Report]:
    import runpy

    path = folder / "program.py"
    path.write_text(program)
    with stablelint.guard(shown=True) as guard:
        runpy.run_path(str(path), run_name="__main__")
        guard.finish()
    return guard.reports


@pytest.mark.parametrize("name", SHOWING)
def test_the_expression_behind_a_shown_value_is_named(name: str, tmp_path: Path) -> None:
    program, expression = SHOWING[name]
    report = shown_by(program, tmp_path)[0]
    assert report.event.location is not None
    assert report.event.location.expression == expression
    assert report.cause.code is not None


@pytest.mark.parametrize("name", SILENT)
def test_what_is_meant_or_trained_on_stays_silent(name: str, tmp_path: Path) -> None:
    assert shown_by(SILENT[name], tmp_path) == []


def test_torch_is_as_before_when_it_ends(tmp_path: Path) -> None:
    before = torch.Tensor.item, torch.Tensor.__repr__, torch.nn.Module.__call__, "item" in vars(torch.Tensor)
    shown_by("import torch", tmp_path)
    assert before == (
        torch.Tensor.item,
        torch.Tensor.__repr__,
        torch.nn.Module.__call__,
        "item" in vars(torch.Tensor),
    )


def test_a_program_on_the_command_line_is_read_there_and_runs_to_its_end() -> None:
    words = [
        sys.executable,
        "-m",
        "stablelint",
        "run",
        "--",
        sys.executable,
        "-c",
        PRINTED + "print('the end')",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stdout.endswith("the end\n")
    assert "--> -c:3:5" in done.stderr
    assert "x / (x - x)" in done.stderr


def test_a_confirmed_fix_is_written_when_asked(tmp_path: Path, forked: None) -> None:
    path = tmp_path / "infer.py"
    path.write_text(INFERENCE)
    words = ("run", "--apply", "--", sys.executable, str(path))
    assert "wrote the confirmed fix" in run_here(tmp_path, *words).err
    assert "normalize" in path.read_text()
    again = run_here(tmp_path, *words)
    assert again.code == 0
    assert "no optimizer step was seen" in again.err


def test_what_torch_warns_of_is_told_of_the_line_that_reads_the_number() -> None:
    value = torch.ones(1, requires_grad=True) * 2
    torch.set_warn_always(True)
    try:
        with stablelint.guard(shown=True), pytest.warns(UserWarning, match="requires_grad=True") as caught:
            assert value.item() == float(value) == 2.0
    finally:
        torch.set_warn_always(False)
    assert [one.filename for one in caught] == [__file__]
