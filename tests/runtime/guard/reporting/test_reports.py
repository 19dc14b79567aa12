"""What the report of a fault says: the rule and its fix, whether the fix helps, and the operands by name."""

import pickle
import runpy
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import stablelint  # noqa: E402
from stablelint.runtime.guard.explaining.origin import operand_texts  # noqa: E402
from stablelint.runtime.guard.reporting.event import Mechanism  # noqa: E402
from tests.runtime.guard.support import report_of  # noqa: E402

torch.set_num_threads(1)


def test_the_package_offers_the_guard_with_its_rules() -> None:
    report = report_of(Path(__file__).parent.parent / "scenarios" / "backward_norm_by_hand.py")
    assert report.cause.code is not None
    assert report.advice is not None
    assert report.fix is report.advice.rewrite
    assert report.verification is not None
    assert report.verification.finite
    assert report.as_json()["cause"]["name"] == report.cause.name


def test_the_error_carries_cause_and_fix() -> None:
    with pytest.raises(stablelint.NonFiniteError) as caught, stablelint.guard():
        runpy.run_path(
            str(Path(__file__).parent.parent / "scenarios" / "backward_norm_by_hand.py"), run_name="__main__"
        )
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.cause["code"].startswith("SL")
    assert error.cause["summary"] in str(error)
    assert error.fix is not None
    assert error.fix["message"] in str(error)


TWO_AT_FAULT = """
import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    scale = model(torch.ones(8, 4)) * (1e4 if step == 2 else 1)
    loss = torch.exp(scale.abs()).log1p().mean() + torch.exp(2 * scale.abs()).log1p().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_where_one_fix_does_not_help_all_fixes_of_the_file_are_tried(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(TWO_AT_FAULT)
    report = report_of(program)
    verification = report.verification
    assert verification is not None
    assert not verification.finite
    assert verification.with_all_fixes is not None
    assert (verification.with_all_fixes.fixes, verification.with_all_fixes.finite) == (2, True)
    told = report.as_json()["verification"]["with_all_fixes"]
    assert told == verification.with_all_fixes.as_json()


MASKED = """
import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    scores = model(torch.randn(8, 4))
    held = scores.masked_fill(torch.rand(8, 5) < (1.1 if step == 2 else 0), float("-inf"))
    loss = held.softmax(-1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_finding_that_is_shown_where_it_is_mended_explains_where_it_fails(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(MASKED)
    report = report_of(program)
    assert report.event.location is not None
    assert report.event.location.expression == "held.softmax(-1)"
    assert [operand.name for operand in report.event.operands] == ["held"]
    assert report.cause.code == "SL501"
    assert report.verification is not None
    assert report.verification.finite


REFUTED = """
import torch

torch.manual_seed(0)
class Judge(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
    def forward(self, x):
        return torch.sigmoid(self.layer(x))
judge = Judge()
optimizer = torch.optim.SGD(judge.parameters(), lr=0.01)
for step in range(3):
    x = torch.full((4, 2), 1e3 if step == 2 else 1.0) * judge.layer.weight.detach().sign()
    good = (judge(-x) + 1e-8).log()
    bad = torch.log(1 - judge(x))
    loss = -(good + bad).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SHARES = """
import torch

def loss_of(x, temperature=0.001):
    x = torch.nn.functional.normalize(x, dim=1)
    weights = torch.exp(x @ x.t() / temperature)
    return -torch.log(weights.diagonal() / weights.sum(dim=1)).mean()
model = torch.nn.Linear(4, 4)
torch.nn.init.ones_(model.weight)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    loss = loss_of(model(torch.ones(8, 4)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
GROWING_DATA = """
import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 4)
torch.nn.init.ones_(model.weight)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-12)
for step in range(4):
    x = torch.rand(8, 4) * 40**step
    with torch.autocast("cpu", dtype=torch.float16):
        out = model(x)
    loss = out.float().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_guard_stands_in_for_a_rewrite_that_the_replay_refutes(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(REFUTED)
    report = report_of(program)
    assert report.fix is not None
    assert report.fix.fix.message.startswith("a guard, for the better rewrite does not help: ")
    assert report.verification is not None
    assert report.verification.finite


def test_a_finding_speaks_of_every_expression_of_its_derivation(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(SHARES)
    report = report_of(program)
    assert report.event.location is not None
    assert report.event.location.expression == "torch.exp(x @ x.t() / temperature)"
    assert report.cause.code == "SL229"
    assert report.verification is not None
    assert report.verification.finite


def test_where_the_data_grow_it_is_no_explosion_and_casts_have_the_names_of_what_they_are_of(
    tmp_path: Path,
) -> None:
    program = tmp_path / "train.py"
    program.write_text(GROWING_DATA)
    event = report_of(program).event
    assert event.mechanism is Mechanism.OVERFLOW
    assert event.growth is None
    assert [operand.name for operand in event.operands] == ["bias", "x", "weight"]


TRANSFORMED = """
import torch

def ratio(w, x):
    size = x.norm()
    return (w * x).sum() / size
print(torch.func.grad_and_value(ratio)(torch.ones(3), torch.zeros(3))[1].item())
"""
ROOT = """
import torch

w = torch.nn.Parameter(torch.zeros(3))
optimizer = torch.optim.SGD([w], lr=0.1)
loss = (w.abs() ** 0.5).sum()
loss.backward()
optimizer.step()
"""


def test_operands_within_a_transform_have_their_names(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(TRANSFORMED)
    with stablelint.guard(on_event=lambda _: None, shown=True) as guard:
        runpy.run_path(str(program), run_name="__main__")
    guard.finish()
    (event,) = guard.events
    assert [operand.name for operand in event.operands] == ["(w * x).sum()", "size"]


def test_a_root_of_zero_is_outside_the_domain_of_its_gradient(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(ROOT)
    assert report_of(program).event.mechanism is Mechanism.DOMAIN


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("x.softmax(-1)", ["x"]),
        ("torch.softmax(x, -1)", ["x"]),
        ("x[0].pow(y)", ["x[0]", "y"]),
        ("self.mask.div(n)", ["self.mask", "n"]),
        ("self.layer(x)", ["x"]),
        ("F.normalize(x, dim=(0, 1))", ["x"]),
    ],
)
def test_operands_are_named_as_the_operation_takes_them(
    expression: str, names: list[str], tmp_path: Path
) -> None:
    program = tmp_path / "train.py"
    program.write_text("import torch\nimport torch.nn.functional as F\n")
    assert operand_texts(expression, str(program)) == names
