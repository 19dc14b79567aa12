"""What solvers, constructors and running statistics compute, through which no gradient is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source

from .support import CATALOG, IMPORTS, body, open_

_SOLVER = """
def solve(a: torch.Tensor, b: torch.Tensor, max_iter: int = 20):
    total, other = b, b
    {loop}
        scale = total.clamp(min=0).sqrt()
        total = total + {taken} * scale
    return {result}
"""


def _roots(code: str) -> list[int]:
    return [line for line, rule in open_(code) if rule == "SL103"]


@pytest.mark.parametrize(
    ("loop", "taken", "shown"),
    [
        ("for a in (a, b):", "a", True),
        ("for _ in range(len(a)):", "a", True),
        ("for _ in range(max_iter):", "torch.autograd.grad(b.sum(), a)[0]", True),
    ],
)
def test_what_a_solver_carries_over_its_turns_is_its_own_bookkeeping(
    loop: str, taken: str, shown: bool
) -> None:
    assert _roots(_SOLVER.format(loop=loop, taken=taken, result="total")) == ([4] if shown else [])


def test_a_loss_may_be_gathered_over_turns() -> None:
    code = _SOLVER.format(loop="for _ in range(max_iter):", taken="a", result="total")
    assert _roots(code.replace("def solve", "def loss")) == [4]


def test_a_module_is_trained_through_the_iteration_that_it_runs() -> None:
    code = _SOLVER.format(loop="for _ in range(max_iter):", taken="a", result="total")
    module = "class Layer(nn.Module):\n    def forward(self, x):\n        return solve(x, x)\n"
    assert _roots(code + module) == [4]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("gap", True),
    ],
)
def test_what_a_backward_pass_has_left_has_no_gradient(name: str, shown: bool) -> None:
    code = f"def size(p):\n    return p.{name}.clamp(min=0).sqrt()"
    assert bool(_roots(code)) is shown


_SPLINE = """
class Spline(nn.Module):
    def __init__(self, knots: torch.Tensor):
        super().__init__()
        self.prepare(knots)

    def prepare(self, knots):
        self.register_buffer("roots", knots.clamp(min=0).sqrt())

    def forward(self, x):
        {forward}
"""


@pytest.mark.parametrize(
    ("forward", "shown"),
    [
        ("return self.prepare(x)", True),
    ],
)
def test_what_construction_prepares_is_not_trained_through(tmp_path: Path, forward: str, shown: bool) -> None:
    (tmp_path / "__init__.py").touch()
    source = tmp_path / "spline.py"
    source.write_text(IMPORTS + body(_SPLINE.format(forward=forward)))
    found = check_source(source.read_bytes(), str(source), CATALOG, AnalysisOptions())
    assert any(d.code == "SL103" for d in found.diagnostics) is shown


_RUNNING = """
class Running{kind}(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("squares", torch.zeros(1))

    def update(self, x):
        {update}

    def forward(self, x):
        return x * self.squares.clamp(min=0).sqrt()
"""


@pytest.mark.parametrize(
    ("kind", "update", "shown"),
    [
        ("Loss", "self.squares += x.square()", True),
    ],
)
def test_what_an_object_gathers_over_its_calls_has_no_gradient(
    tmp_path: Path, kind: str, update: str, shown: bool
) -> None:
    (tmp_path / "__init__.py").touch()
    source = tmp_path / "running.py"
    source.write_text(IMPORTS + body(_RUNNING.format(kind=kind, update=update)))
    found = check_source(source.read_bytes(), str(source), CATALOG, AnalysisOptions())
    assert any(d.code == "SL103" for d in found.diagnostics) is shown


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        ("x.clamp(min=0)", True),
    ],
)
def test_data_with_gaps_and_copies_of_numbers_carry_no_gradient(made: str, shown: bool) -> None:
    code = f"def scale(x: torch.Tensor):\n    s = {made}\n    return torch.where(s > 0, s.sqrt(), s)"
    assert bool(open_(code)) is shown


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("models", True),
    ],
)
def test_a_module_that_prepares_or_evaluates_is_not_trained_through(
    tmp_path: Path, place: str, shown: bool
) -> None:
    package = tmp_path / "pkg" / place
    package.mkdir(parents=True)
    for path in (tmp_path / "pkg", package):
        (path / "__init__.py").touch()
    source = package / "energy.py"
    source.write_text(
        IMPORTS + "class Size(nn.Module):\n    def forward(self, x):\n        return x.clamp(min=0).sqrt()\n"
    )
    found = check_source(source.read_bytes(), str(source), CATALOG, AnalysisOptions())
    assert (found.diagnostics != ()) is shown
