"""Names that `import *` binds: of files of the project, and of packages that are known."""

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.analysis.files.opened import opened
from stablelint.catalog import load_catalog
from stablelint.diagnostic import Status

SETUP = (
    "import math\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\nEPS = 1e-3\n_OWN = 1\n"
)


def bound(root: Path, text: str, **files: str) -> dict[str, str]:
    """The names that stars bind in a file of the folder `root`, beside the given ones."""
    (root / "setup.py").write_text(SETUP)
    for name, content in files.items():
        (root / f"{name}.py").write_text(content)
    with opened(text.encode(), "main.py", root) as (module, _):
        return dict(module.imports)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from setup import *\ntorch.log(F)\n", {"torch": "torch", "F": "torch.nn.functional"}),
        ("from setup import *\nx = EPS\ny = missing\n", {"EPS": "setup.EPS"}),
        ("from setup import *\nx = _OWN\n", {}),
        ("from setup import *\ndef f(torch):\n    return torch\n", {}),
        ("from setup import *\nEPS = 2\nx = EPS\n", {}),
        ("from torch import *\nx = log(y) + sum(y)\n", {"log": "torch.log", "sum": "torch.sum"}),
        ("from torch.nn import *\nm = Sigmoid()\nn = Nonesuch()\n", {"Sigmoid": "torch.nn.Sigmoid"}),
        ("from torch import *\nfrom math import *\nx = log(y)\n", {"log": "math.log"}),
        ("from math import *\nx = sum(y)\n", {}),
        ("from unseen.imports import *\nx = torch.log(np.pi, sum, log)\n", {"torch": "torch", "np": "numpy"}),
        ("import torch\nx = F.relu(y)\n", {"torch": "torch"}),
    ],
)
def test_what_a_file_reads(text: str, names: dict[str, str], tmp_path: Path) -> None:
    assert bound(tmp_path, text) == names


def test_a_star_leads_on_to_further_ones(tmp_path: Path) -> None:
    text = "from first import *\nx = torch.exp(EPS)\n"
    found = bound(
        tmp_path, text, first="from second import *\n", second="from setup import *\nfrom first import *\n"
    )
    assert found == {"torch": "torch", "EPS": "setup.EPS"}


def test_the_last_star_that_has_a_name_binds_it(tmp_path: Path) -> None:
    text = "from setup import *\nfrom other import *\nx = EPS, F\n"
    assert bound(tmp_path, text, other="EPS = 0\n") == {"EPS": "other.EPS", "F": "torch.nn.functional"}


def test_operations_are_seen_behind_a_star(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(SETUP)
    text = (
        "from setup import *\n\ndef f(x):\n    return torch.log(F.softmax(x, 1)), torch.log(x.abs() + EPS)\n"
    )
    options = AnalysisOptions(root=tmp_path, discharged=True)
    report = check_source(text.encode(), "main.py", load_catalog(entry_points=False), options)
    assert [d.code for d in report.diagnostics] == ["SL202"]
    assert [d.code for d in report.discharged] == ["SL101"]


def test_what_another_file_has_by_a_star_is_known_there(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(SETUP)
    (tmp_path / "helpers.py").write_text("from setup import *\n\ndef probs(x):\n    return F.softmax(x, 1)\n")
    text = "import torch\nfrom helpers import probs\n\ndef f(x):\n    return torch.log(probs(x))\n"
    options = AnalysisOptions(root=tmp_path)
    report = check_source(text.encode(), "main.py", load_catalog(entry_points=False), options)
    assert [(d.code, d.status) for d in report.diagnostics] == [("SL202", Status.VIOLATED)]


GUESSED = """from unseen.imports import *

def f(x):
    return torch.log(F.relu(x) + 1)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.Sigmoid()

    def forward(self, x):
        return torch.log(self.act(x) + 1), torch.log(F.softmax(x, dim=1))
"""


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("from unseen.imports import *", Status.ASSUMED),
        ("from setup import *", Status.DISCHARGED),
        ("import torch\nfrom torch import nn\nimport torch.nn.functional as F", Status.DISCHARGED),
    ],
)
def test_nothing_is_proved_by_what_a_name_is_by_custom(head: str, status: Status, tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(SETUP)
    text = GUESSED.replace("from unseen.imports import *", head)
    options = AnalysisOptions(root=tmp_path, discharged=True)
    report = check_source(text.encode(), "main.py", load_catalog(entry_points=False), options)
    assert {d.status for d in report.discharged if d.code == "SL101"} == {status}
    assert "SL202" in [d.code for d in report.diagnostics]
