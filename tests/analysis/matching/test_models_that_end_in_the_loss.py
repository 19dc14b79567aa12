"""A model that ends in what the loss does itself: told once, with the change of all that takes what it gives."""

from pathlib import Path

import pytest

from stablelint.codemod.fixpoint import fix_source
from stablelint.codemod.propose import propose_all
from stablelint.diagnostic import Diagnostic, Fix
from tests.analysis.support import IMPORTS, body, found_in_package, report

CHAIN = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = {layers}

    def forward(self, x):
        return self.layers(x)

    def predict(self, x):
        return self.layers(x).argmax(-1)


def train(loader):
    model = Net()
    criterion = nn.CrossEntropyLoss()
    for x, y in loader:
        criterion(model(x), y).backward()
"""
STEP = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        x = F.relu(self.fc(x))
        return torch.sigmoid(x)


def train(loader):
    model = Net()
    criterion = nn.BCELoss()
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()


def valid(loader):
    model = Net()
    for x, y in loader:
        out = model(x)
        print(F.binary_cross_entropy(out.squeeze(1), y))
"""


def found(code: str) -> list[Diagnostic]:
    return propose_all((IMPORTS + body(code)).encode(), report(code).diagnostics)


def fix_of(code: str) -> Fix:
    (item,) = found(code)
    assert item.fix is not None, item.fix_withheld
    return item.fix


def fixed(code: str) -> str:
    def diagnose(source: bytes) -> list[Diagnostic]:
        return list(report(source.decode().removeprefix(IMPORTS)).diagnostics)

    return fix_source((IMPORTS + body(code)).encode(), diagnose, lambda _: True).source.decode()


@pytest.mark.parametrize(
    ("layers", "rest"),
    [
        ("nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))", "nn.Sequential(nn.Linear(4, 3))"),
        ("nn.Sequential(*[nn.Linear(4, 3), nn.Softmax(1)])", "nn.Sequential(*[nn.Linear(4, 3)])"),
        (
            "nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.ReLU(), nn.Softmax(1)))",
            "nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.ReLU()))",
        ),
    ],
)
def test_the_last_layer_goes_and_no_other(layers: str, rest: str) -> None:
    code = CHAIN.format(layers=layers)
    assert fixed(code) == (IMPORTS + body(CHAIN.format(layers=rest)))


def test_who_else_calls_the_model_is_said() -> None:
    fix = fix_of(CHAIN.format(layers="nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))"))
    assert fix.caution is not None
    assert fix.caution.startswith("all who call `Net`, as on line ")


def test_a_layer_that_has_a_name_of_its_own_stays() -> None:
    code = CHAIN.format(layers="nn.Sequential(nn.Linear(4, 3), last)").replace(
        "        self.layers", "        last = nn.Softmax(dim=1)\n        self.layers"
    )
    (item,) = found(code)
    assert item.fix_withheld == "the `Softmax` is made apart from the chain that ends in it"


@pytest.mark.parametrize(
    "reader",
    [
        "self.layers[:-1](x)",
        "nn.Sequential(*self.layers)[0](x)",
        "nn.Sequential(*list(self.layers.children())[:-1])(x)",
        "[layer(x) for layer in self.layers][-2]",
    ],
)
def test_a_layer_stays_where_others_are_found_by_their_places(reader: str) -> None:
    code = CHAIN.format(layers="nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))").replace(
        "self.layers(x).argmax(-1)", reader
    )
    (item,) = found(code)
    assert item.fix_withheld == "the layers of `self.layers` are looked for by their places on line 13"


def test_a_model_is_told_once_and_all_its_losses_change_with_it() -> None:
    after = fixed(STEP)
    assert "        return x\n" in after
    assert "criterion = nn.BCEWithLogitsLoss()" in after
    assert "F.binary_cross_entropy_with_logits(out.squeeze(1), y)" in after
    (item,) = found(STEP)
    assert "takes it too" in item.derivation[-1].text


@pytest.mark.parametrize(
    ("last", "rest"),
    [
        ("x = torch.sigmoid(x)\n        return x", "return x"),
        ("x = self.sigmoid(x)\n        return x", "return x"),
        ("return self.sigmoid(x)", "return x"),
        ("return torch.sigmoid(x).squeeze(-1)", "return x.squeeze(-1)"),
        ("x = torch.sigmoid(x)\n        return x.view(-1)", "return x.view(-1)"),
    ],
)
def test_the_last_step_goes_whatever_form_it_has(last: str, rest: str) -> None:
    code = STEP.replace("return torch.sigmoid(x)", last).replace(
        "        self.fc =", "        self.sigmoid = nn.Sigmoid()\n        self.fc ="
    )
    assert f"        x = F.relu(self.fc(x))\n        {rest}\n" in fixed(code)


LOSSES = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return F.softmax(self.fc(x), dim=-1)


def train(loader):
    model = Net()
    criterion, smoothed, squared = nn.CrossEntropyLoss(), nn.CrossEntropyLoss(label_smoothing=0.1), nn.MSELoss()
    for x, y in loader:
        out = model(x)
        loss = {loss}
        loss.backward()
"""


def test_several_losses_of_one_result_are_told_with_it() -> None:
    code = LOSSES.format(loss="criterion(out, y) + smoothed(out, y)")
    assert "        return self.fc(x)\n" in fixed(code)
    (item,) = found(code)
    assert [step.text for step in item.derivation if "takes it" in step.text] == [
        "`criterion(out, y)` takes it",
        "`smoothed(out, y)` takes it too",
    ]


@pytest.mark.parametrize("other", ["squared(out, x)", "out.log().mean()"])
def test_a_softmax_stays_where_another_loss_takes_its_probabilities(other: str) -> None:
    (item,) = [
        one for one in found(LOSSES.format(loss=f"criterion(out, y) + {other}")) if one.code == "SL301"
    ]
    assert item.fix_withheld == "`out`, which would change, is used on line 18 too"


def test_a_loss_of_the_same_name_in_another_function_is_another(tmp_path: Path) -> None:
    code = "net = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())\ncriterion = nn.BCELoss()\n\n\n"
    code += "def other(x, y):\n    criterion = nn.CrossEntropyLoss()\n    return criterion(x, y)\n\n\n"
    code += "def step(x, y):\n    return criterion(net(x), y)\n"
    after = fixed(code)
    assert "net = nn.Sequential(nn.Linear(4, 1))\ncriterion = nn.BCEWithLogitsLoss()\n" in after
    assert found_in_package(tmp_path, after.removeprefix(IMPORTS)) == set()


@pytest.mark.parametrize("where", ["in a function", "in a script"])
@pytest.mark.parametrize(
    ("others", "stays"),
    [
        ("criterion(out, y) + smoothed(out, y)", False),
        ("criterion(out, y) + F.mse_loss(out, x)", True),
        ("criterion(out, y) + (out > 0.5).sum()", True),
        ("criterion(out, y) + 0 * out.argmax(-1).sum()", False),
    ],
)
def test_the_softmax_at_the_end_of_a_chain_stays_for_who_reads_its_probabilities(
    others: str, stays: bool, where: str
) -> None:
    code = "net = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))\ncriterion = nn.CrossEntropyLoss()\n"
    code += "smoothed = nn.CrossEntropyLoss(label_smoothing=0.1)\n"
    step = ["out = net(x)", f"loss = {others}", "loss.backward()"]
    if where == "in a function":
        code += "def step(x, y):\n    " + "\n    ".join(step) + "\n"
    else:
        code += "x = torch.randn(8, 4)\ny = torch.arange(8) % 3\n" + "\n".join(step) + "\n"
    (item,) = [one for one in found(code) if one.code == "SL301"]
    assert (item.fix is None) is stays, item.fix_withheld
