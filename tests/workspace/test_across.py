"""Fixes that change several files: all of the files of a fix are fixed, or none."""

from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

import pytest

from stablelint.catalog import load_catalog
from stablelint.cli.main import main
from stablelint.config import Settings
from stablelint.diagnostic import Level
from stablelint.workspace.across import together
from stablelint.workspace.fixing import FileFix, Wanted, fix_files
from stablelint.workspace.pipeline import check
from stablelint.workspace.selection import Selection
from stablelint.workspace.session import Request

MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        x = self.fc(x)
        return torch.{last}

    def predict(self, x):
        return self(x)
"""
CHAIN = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 3), nn.{last})

    def forward(self, x):
        return self.layers(x)
"""
TRAIN = """\
from torch import nn

from model import Net


def {name}(loader):
    model = Net()
    criterion = nn.{loss}()
    for x, y in loader:
        {made}
        loss.backward()
"""
SOFTMAX, SIGMOID = "softmax(x, dim=1)", "sigmoid(x)"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.stablelint]\n")
    return tmp_path


def train(loss: str, made: str = "loss = criterion(model(x), y)", name: str = "train") -> str:
    return TRAIN.format(loss=loss, made=made, name=name)


def fixed(project: Path, **files: str) -> dict[str, FileFix]:
    for name, text in files.items():
        (project / f"{name}.py").write_text(text)
    selection = Selection(frozenset({"SL203", "SL301", "SL304"}), str(project))
    request = Request(Settings(root=project, level=Level.POSSIBLE), selection, use_cache=False, jobs=1)
    found = check([str(project)], request, load_catalog())
    answers = fix_files(found.diagnostics, request, Wanted(selection, unsafe=True), found.received)
    return {Path(answer.filename).stem: answer for answer in answers if isinstance(answer, FileFix)}


def changed(answer: FileFix) -> list[str]:
    after = answer.after.decode().splitlines()
    return [line.strip() for line in after if line not in answer.before.decode().splitlines()]


@pytest.mark.parametrize(
    ("model", "line"),
    [
        (MODEL.format(last=SOFTMAX), "return x"),
        (CHAIN.format(last="Softmax(dim=-1)"), "self.layers = nn.Sequential(nn.Linear(8, 3))"),
    ],
)
def test_the_last_step_of_a_model_goes_in_the_file_that_it_stands_in(
    project: Path, model: str, line: str
) -> None:
    answers = fixed(project, model=model, train=train("CrossEntropyLoss"))
    assert changed(answers["model"]) == [line]
    assert not answers["train"].left
    assert [item.code for item in answers["model"].joint] == ["SL301"]


def test_the_loss_changes_with_the_model(project: Path) -> None:
    answers = fixed(project, model=MODEL.format(last=SIGMOID), train=train("BCELoss"))
    assert changed(answers["model"]) == ["return x"]
    assert changed(answers["train"]) == ["criterion = nn.BCEWithLogitsLoss()"]


def test_the_logarithms_of_a_loss_change_with_the_model(project: Path) -> None:
    made = "loss = -(model(x).log() + torch.log(1 - model(y))).mean()"
    text = "import torch\n" + train("BCELoss", made)
    answers = fixed(project, model=CHAIN.format(last="Sigmoid()"), train=text)
    assert changed(answers["model"]) == ["self.layers = nn.Sequential(nn.Linear(8, 3))"]
    new = "loss = -(nn.functional.logsigmoid(model(x)) + nn.functional.logsigmoid(-model(y))).mean()"
    assert changed(answers["train"]) == [new]


def test_all_losses_of_the_project_change_together(project: Path) -> None:
    model = MODEL.format(last=SIGMOID)
    answers = fixed(project, model=model, train=train("BCELoss"), valid=train("BCELoss", name="valid"))
    for name in ("train", "valid"):
        assert changed(answers[name]) == ["criterion = nn.BCEWithLogitsLoss()"]
    assert [len(group) for group in together(answers.values(), attrgetter("files"))] == [3]


def test_who_else_reads_the_result_is_told(project: Path) -> None:
    answers = fixed(project, model=MODEL.format(last=SOFTMAX), train=train("CrossEntropyLoss"))
    (finding,) = answers["model"].joint
    assert finding.fix is not None
    assert "in model.py, all who call `Net`, as on line 15" in (finding.fix.caution or "")
    assert "too, take" not in (finding.fix.caution or "")


def test_files_that_take_the_model_and_no_loss_are_told(project: Path) -> None:
    serve = "from model import Net\n\n\ndef serve(x):\n    return Net()(x).max(1)\n"
    answers = fixed(
        project,
        model=MODEL.format(last=SOFTMAX),
        train=train("CrossEntropyLoss"),
        serve=serve,
        other="x = 1\n",
    )
    (finding,) = answers["model"].joint
    assert finding.fix is not None
    assert (finding.fix.caution or "").endswith("; serve.py, too, takes `Net`")


def test_a_model_that_is_read_in_another_way_stays(project: Path) -> None:
    model = (
        MODEL.format(last=SOFTMAX)
        .replace("return torch.", "p = torch.")
        .replace("\n    def predict", "        self.seen = p\n        return p\n\n    def predict")
    )
    answers = fixed(project, model=model, train=train("CrossEntropyLoss"))
    assert answers["train"].before == answers["train"].after
    assert "model" not in answers


def apply(project: Path, names: Sequence[str]) -> int:
    options = ["--apply", "--unsafe-fixes", "--level", "possible", "--select", "SL301,SL304", "--no-cache"]
    return main(["fix", *options, *(str(project / f"{name}.py") for name in names)])


def test_a_file_that_cannot_be_written_leaves_the_others_of_its_fix(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {"model": MODEL.format(last=SIGMOID), "train": train("BCELoss")}
    for name, text in texts.items():
        (project / f"{name}.py").write_text(text)
    (project / "train.py").chmod(0o444)
    assert apply(project, ["model", "train"]) == 2
    assert {name: (project / f"{name}.py").read_text() for name in texts} == texts
    told = capsys.readouterr().err
    assert "read-only" in told
    assert "left alone: its fix changes train.py, too" in told


def test_files_that_were_fixed_need_no_second_fix(project: Path) -> None:
    (project / "model.py").write_text(MODEL.format(last=SIGMOID))
    (project / "train.py").write_text(train("BCELoss"))
    assert apply(project, ["model", "train"]) == 0
    assert "BCEWithLogitsLoss" in (project / "train.py").read_text()
    assert "sigmoid" not in (project / "model.py").read_text()


def test_why_a_model_stays_is_said_as_the_sight_of_all_files_has_it(project: Path) -> None:
    made = "out = model(x)\n        loss = criterion(out, y)\n        print(out.mean())"
    answers = fixed(project, model=MODEL.format(last=SIGMOID), train=train("BCELoss", made))
    (item,) = answers["train"].withheld
    assert item.fix_withheld == "`out`, which would change, is used on line 12 too"


def test_a_model_that_a_file_makes_once_for_all_its_functions_loses_its_last_step(project: Path) -> None:
    head = "from torch import nn\nfrom model import Net\n\nnet = Net()\n\n\n"
    source = f"{head}def loss(x, y):\n    return nn.CrossEntropyLoss()(net(x), y)\n"
    assert changed(fixed(project, model=MODEL.format(last=SOFTMAX), train=source)["model"]) == ["return x"]
