"""What loaders handed out, and what names of classes hold, as small programs show it."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.audit import Status  # noqa: E402
from stablelint.runtime.audit.values import tells_apart  # noqa: E402
from tests.runtime.audit.support import audited  # noqa: E402

PROGRAM = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, numbers):
        self.numbers = numbers
    def __len__(self):
        return len(self.numbers)
    def __getitem__(self, index):
        torch.manual_seed(self.numbers[index])
        return torch.randn(4), torch.randn(1).sigmoid()

class Fit:
    losses = []
    def __init__(self):
        self.model = nn.Linear(4, 1)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(SCORES, y)
        loss.backward()
        self.optimizer.step()
        self.losses.append(KEPT)

def main():
    torch.manual_seed(0)
    fit = Fit()
    for epoch in range(6):
        for x, y in DataLoader(Rows(range(32)), batch_size=16, shuffle=True):
            fit.step(x, y)
        with torch.no_grad():
            for held in (HELD):
                for x, y in DataLoader(Rows(held), batch_size=8):
                    (fit.model(x) - y).abs().mean()

main()
"""


def said(folder: Path, held: str, scores: str = "self.model(x)", kept: str = "loss.item()") -> dict[str, str]:
    """Evidence of the checks that failed or warned, with the expression they speak of."""
    path = folder / "program.py"
    path.write_text(PROGRAM.replace("HELD", held).replace("SCORES", scores).replace("KEPT", kept))
    found = audited(path, 12)
    assert not found.run.trouble
    at = {
        one.check.name: one.outcome.location.expression if one.outcome.location else ""
        for one in found.results
    }
    return {
        one.check.name: f"{one.outcome.evidence} {at[one.check.name]}"
        for one in (*found.failed, *found.warned)
    }


@pytest.mark.parametrize(
    ("held", "shared"),
    [
        ("range(24, 40),", "8 of 16"),
        ("range(16),", "16 of 16"),
        ("range(32, 48),", None),
        ("range(16), range(32, 48)", None),  # how well the training data are fitted, beside what is held out
        ("range(24, 40), range(40, 48)", "8 of 16"),
    ],
)
def test_validation_of_any_data_set_is_compared_by_what_is_handed_out(
    held: str, shared: str | None, tmp_path: Path
) -> None:
    evidence = said(tmp_path, held).get("separate-validation", "")
    assert (shared is None) == (evidence == "")
    assert (shared or "") in evidence


def test_a_sigmoid_before_a_loss_of_logits_is_told_by_its_graph(tmp_path: Path) -> None:
    scores = "self.model(x).sigmoid() if len(self.losses) % 2 else self.model(x)"
    assert "sigmoid was applied before" in said(tmp_path, "range(32, 48),", scores)["raw-scores"]
    assert "raw-scores" not in said(tmp_path, "range(32, 48),")


def test_a_list_of_the_class_is_named(tmp_path: Path) -> None:
    assert "self.losses.append(loss)" in said(tmp_path, "range(32, 48),", kept="loss")["freed-graphs"]


@pytest.mark.parametrize(("copies", "shared"), [(0, None), (40, " of 30")])
def test_copies_on_both_sides_of_a_split_are_found_by_value(
    copies: int, shared: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "program.py"
    path.write_text(f"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
x = torch.randn(100, 6)
x = torch.cat([x[:{100 - copies}], x[:{copies}]])
train, held = random_split(TensorDataset(x, x.sum(1, keepdim=True)), [70, 30])
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    for inputs, targets in DataLoader(train, 10, shuffle=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    with torch.no_grad():
        for inputs, targets in DataLoader(held, 10):
            nn.functional.mse_loss(model(inputs), targets)
""")
    evidence = [
        one.outcome.evidence for one in audited(path, 21).failed if one.check.name == "separate-validation"
    ]
    assert [shared in one for one in evidence] == [True] if shared else evidence == []


def test_rows_of_measures_are_not_equal_by_chance_and_those_of_tokens_or_kinds_may_be() -> None:
    torch.manual_seed(0)
    assert tells_apart([torch.randn(64, 6)])
    assert not tells_apart([torch.randint(50, (64, 20))])
    assert not tells_apart([torch.nn.functional.one_hot(torch.randint(6, (64,))).float(), torch.rand(64)])


SEVERAL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
    def forward(self, x):
        return self.layer(x)

torch.manual_seed(0)
first, second = Net(), Net()
optimizer = torch.optim.SGD(first.parameters(), lr=0.01)
for _ in range(3):
    x = torch.randn(6, 4)
    optimizer.zero_grad()
    nn.functional.mse_loss(first(x) + second(x), torch.randn(6)).backward()
    optimizer.step()
"""


def test_no_order_of_schedulers_is_seen_where_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(SEVERAL)
    found = {one.check.name: one.outcome for one in audited(path, 3).results}
    assert found["scheduler-order"].status is Status.UNSEEN


def test_each_of_several_models_is_named_and_warnings_keep_their_place(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(SEVERAL)
    with pytest.warns(UserWarning, match="target size") as told:
        found = audited(path, 3)
    assert {one.name for one in found.run.parameters.values()} == {
        f"{model}.layer.{part}" for model in ("first", "second") for part in ("weight", "bias")
    }
    assert {Path(one.filename).name for one in told} == {"program.py"}


LBFGS = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5)
x = torch.randn(64, 4)
for _ in range(6):
    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), x[:, :1] * x[:, 1:2])
        loss.backward()
        return loss
    optimizer.step(closure)
"""


def test_what_is_learned_by_now_need_not_be_learned_again(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(LBFGS)
    found = audited(path)
    assert not (*found.failed, *found.warned), str(found)
    assert not [one for one in found.results if "could not be decided" in one.outcome.evidence]


TOKENS = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randint(9, (90, 6))
x = torch.cat([x, x[:30]])[torch.randperm(120)]
train, held = TensorDataset(x[:80], x[:80, 0]), TensorDataset(x[80:], x[80:, 0])
model = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(24, 9))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loaders = DataLoader(train, 20, shuffle=True), DataLoader(held, 20)
for tokens, labels in loaders[0]:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(tokens), labels).backward()
    optimizer.step()
"""


def test_equal_rows_of_tokens_may_be_others(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(TOKENS)
    assert "separate-validation" in {one.check.name for one in audited(path, 4).warned}


CRITIC = """
import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(critic.parameters(), 1e-3)
for _ in range(6):
    optimizer.zero_grad()
    (critic(torch.randn(32, 2)).mean() - critic(torch.randn(32, 2) + 1).mean()).backward()
    optimizer.step()
"""
BY_HAND = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(6):
    x = torch.randn(16, 4)
    with torch.no_grad():
        off = model(x) - x[:, :1]
        model.weight.grad, model.bias.grad = off.T @ x / 16, off.mean(0)
    optimizer.step()
"""


@pytest.mark.parametrize("program", [CRITIC, BY_HAND])
def test_a_bias_that_cancels_and_gradients_set_by_hand_are_no_faults(program: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(program)
    found = audited(path, 5)
    assert not (*found.failed, *found.warned), str(found)


def test_a_layer_whose_units_are_shut_is_told_of_once(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
nn.init.constant_(model[2].bias, -20.0)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for _ in range(6):
    x = torch.randn(16, 4)
    optimizer.zero_grad()
    (model(x) - x[:, :2]).square().mean().backward()
    optimizer.step()
""")
    found = audited(path, 5)
    assert "living-units" in {one.check.name for one in found.failed}
    assert "gradients-arrive" not in {one.check.name for one in found.failed}
