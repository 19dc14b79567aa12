"""What is annotated with a class of the project is followed as an instance of it, and proves nothing."""

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from tests.analysis.support import CATALOG, IMPORTS, assumed, open_, proved

MODEL = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 3), {})

    def forward(self, x):
        return self.net(x)
"""
LOSS = """
def loss(model: {}, x, y):
    return F.cross_entropy(model(x), y)
"""


@pytest.mark.parametrize(
    "annotation", ["Model", "'Model'", "Model | None", "Optional[Model]", "typing.Optional['Model']"]
)
def test_an_annotated_model_is_followed(annotation: str) -> None:
    program = MODEL.replace("{}", "nn.Softmax(dim=1)") + LOSS.replace("{}", annotation)
    assert [code for _, code in open_(program)] == ["SL301"]
    assert open_(program.replace("nn.Softmax(dim=1)", "nn.ReLU()")) == []


@pytest.mark.parametrize(
    "annotation", ["nn.Module", "Unknown", "list[Model]", "'no name'", "Callable[[Model], int]"]
)
def test_no_other_annotation_names_a_model(annotation: str) -> None:
    assert open_(MODEL.replace("{}", "nn.Softmax(dim=1)") + LOSS.replace("{}", annotation)) == []


def test_a_model_that_is_kept_is_followed_into_its_file(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(IMPORTS + MODEL.replace("{}", "nn.Softmax(dim=1)"))
    trainer = (
        "from model import Model\n\nclass Trainer:\n    def __init__(self, model: Model):\n"
        "        self.model = model\n\n    def step(self, x, y):\n        return F.cross_entropy(self.model(x), y)\n"
    )
    report = check_source((IMPORTS + trainer).encode(), "train.py", CATALOG, AnalysisOptions(root=tmp_path))
    assert [d.code for d in report.diagnostics] == ["SL301"]


def test_a_subclass_may_be_passed_instead() -> None:
    program = """
    class Positive(nn.Module):
        def forward(self, x):
            return x.clamp(min=1.0)

    def f(part: Positive, x):
        return torch.log(part(x))
    """
    assert proved(program) == []
    assert [code for _, code in assumed(program)] == ["SL101"]


METER = """
class Meter:
    def log(self):
        return {}

def f(meter: Meter, x):
    return x / meter.log()
"""


def test_a_method_of_an_annotated_object_is_its_own() -> None:
    assert open_(METER.replace("{}", "2.0")) == []
    assert [code for _, code in assumed(METER.replace("{}", "2.0"))] == ["SL102"]
    assert {code for _, code in open_(METER.replace("{}", "torch.zeros(3)"))} == {"SL102"}


def test_a_method_that_is_not_its_own_may_be_a_tensors() -> None:
    program = METER.replace("{}", "2.0").replace("meter.log()", "meter.exp()")
    assert {code for _, code in open_(program)} == {"SL102", "SL201"}


PAIR = """
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.scale = nn.Linear(3, 4), nn.Linear(3, 4)

    def forward(self, x):
        return self.mean(x), self.scale(x).clamp({}, 20.0)

class Model(nn.Module):
    def __init__(self, encoder: Encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, x):
        mean, log_scale = self.encoder(x)
        return mean + log_scale.exp() + 1 / {}
"""


def test_each_part_of_what_it_yields_is_assumed() -> None:
    program = PAIR.format("-20.0", "log_scale.exp()")
    assert open_(program) == []
    assert {code for _, code in assumed(program)} == {"SL102", "SL201"}
    assert [code for _, code in open_(PAIR.format("-20.0", "log_scale"))] == ["SL102"]
    assert [code for _, code in open_(PAIR.replace("20.0", "2000.0").format("-20.0", "4"))] == ["SL201"]


def test_how_many_parts_it_yields_is_not_known() -> None:
    lengths = PAIR.format("-20.0", "(len(self.encoder(x)) - 2)")
    assert [code for _, code in open_(lengths)] == ["SL102"]
    assert proved(PAIR.format("-20.0", "len(self.encoder(x))")) == []


HEIR = """
class Actor(nn.Module):
    def __init__(self, most=2.0):
        super().__init__()
        self.most, self.scale = most, nn.Linear(3, 4)

    def forward(self, x):
        return self.scale(x).clamp(-20.0, self.most)

class Wild(Actor):
    def __init__(self):
        super().__init__()
        self.most = 1000.0

def f(x, deep):
    model = {}
    return model(x).exp()
"""


@pytest.mark.parametrize(
    ("made", "known"),
    [
        ("Actor()", True),
        ("Actor(2.0) if deep else Actor(3.0)", True),
        ("Actor(1000.0)", False),
        ("Wild()", False),
        ("Actor() if deep else Wild()", False),
        ("Actor()\n    model.most = 1000.0", False),
        ("Actor()\n    setattr(model, 'most', 1000.0)", False),
        ("Actor()\n    model.__class__ = Wild", False),
    ],
)
def test_what_an_heir_writes_is_not_written_on_a_plain_object(made: str, known: bool) -> None:
    assert (open_(HEIR.format(made)) == []) is known
