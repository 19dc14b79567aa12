"""What a public function must be given above 0 is assumed to be what the files in sight pass, where all bound it."""

from pathlib import Path

import pytest

from stablelint.config import Settings
from stablelint.diagnostic import Diagnostic, Level
from stablelint.workspace.pipeline import check
from stablelint.workspace.selection import Selection
from stablelint.workspace.session import Request
from tests.analysis.support import CATALOG

DICE = "import torch\n\n\ndef dice(x, y, count):\n    return (x * y).sum() / count\n"
HEAD = "import torch\nfrom lib.losses import dice\n\n\n"
BOUNDED = HEAD + (
    "class Criterion:\n"
    "    def masks(self, x, y, count):\n"
    "        return dice(x, y, count)\n\n"
    "    def forward(self, x, y, n):\n"
    "        count = torch.clamp(torch.as_tensor([n]) / 2, min=1).item()\n"
    "        return self.masks(x, y, count)\n"
)
OTHERS = {
    "anything": HEAD + "def f(x, y, n):\n    return dice(x, y, n)\n",
    "a count that may be 0": HEAD + "def f(x, y):\n    return dice(x, y, (y > 0).sum())\n",
    "a number": HEAD + "z = dice(torch.ones(2), torch.ones(2), 0)\n",
    "by its keyword": HEAD + "def f(x, y, n):\n    return dice(count=n, x=x, y=y)\n",
    "under another name": HEAD.replace("import dice", "import dice as d")
    + "def f(x, y, n):\n    return d(x, y, n)\n",
    "in one of two calls": HEAD + "def f(x, y, n):\n    return dice(x, y, 2) + dice(x, y, n)\n",
    "a bound that is 0": HEAD + "def f(x, y, n):\n    return dice(x, y, max(n, 0))\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/__init__.py").write_text("")
    (tmp_path / "lib/losses.py").write_text(DICE)
    (tmp_path / "lib/criterion.py").write_text(BOUNDED)
    return tmp_path


def of_losses(root: Path, jobs: int = 1) -> Diagnostic:
    """The answer to the division by the count, or to its logarithm or root."""
    settings = Settings(root=root, level=Level.POSSIBLE)
    request = Request(
        settings,
        Selection(frozenset({"SL101", "SL102", "SL103", "SL201"}), "/"),
        discharged=True,
        use_cache=False,
        jobs=jobs,
    )
    result = check([str(root)], request, CATALOG)
    assert result.problems == ()
    [found] = (d for d in (*result.diagnostics, *result.discharged) if d.filename.endswith("losses.py"))
    return found


def test_what_the_only_caller_bounds_is_assumed(project: Path) -> None:
    found = of_losses(project)
    assert found.status.value == "assumed"
    assert found.assumes == (f"count is what {Path('lib/criterion.py')} passes",)


@pytest.mark.parametrize("pole", ["torch.log(count)", "count.log()", "count.sqrt()", "torch.rsqrt(count)"])
def test_so_it_is_under_a_logarithm_or_a_root(pole: str, project: Path) -> None:
    (project / "lib/losses.py").write_text(
        f"import torch\n\n\ndef dice(x, y, count):\n    return x * {pole}\n"
    )
    (project / "lib/criterion.py").write_text(BOUNDED.replace(".item()", ""))
    assert of_losses(project).status.value == "assumed"
    (project / "train.py").write_text(OTHERS["anything"])
    assert of_losses(project).status.is_open


EXPONENT = "import torch\n\n\ndef density(x, log_scale):\n    return x * {}\n"
CALL = "import torch\nfrom lib.losses import density\n\n\ndef f(x, y):\n    return density(x, {})\n"


@pytest.mark.parametrize(
    "power", ["torch.exp(log_scale)", "log_scale.exp()", "(0.5 * log_scale).exp()", "(log_scale * 2.0).exp()"]
)
@pytest.mark.parametrize(
    ("passed", "known"),
    [
        ("torch.zeros(2)", True),
        ("y.clamp(-30, 20)", True),
        ("y.clamp(max=20)", True),
        ("y.clamp(-30, 2000)", False),
        ("torch.zeros(2) + y", False),
        ("torch.zeros(2, requires_grad=True)", False),
        ("y / 0.01", False),
    ],
)
def test_so_is_the_range_of_an_exponent(power: str, passed: str, known: bool, project: Path) -> None:
    (project / "lib/losses.py").write_text(EXPONENT.format(power))
    (project / "lib/criterion.py").write_text(CALL.format(passed))
    assert (of_losses(project).status.value == "assumed") is known
    (project / "train.py").write_text(CALL.format("y"))
    assert of_losses(project).status.is_open


@pytest.mark.parametrize("other", OTHERS)
def test_a_call_in_sight_that_passes_something_else_contradicts(other: str, project: Path) -> None:
    (project / "train.py").write_text(OTHERS[other])
    assert of_losses(project).status.is_open


def test_each_file_that_bounds_it_is_named(project: Path) -> None:
    (project / "train.py").write_text(HEAD + "def f(x, y, n):\n    return dice(x, y, max(n, 1))\n")
    [said] = of_losses(project).assumes
    assert "criterion.py" in said
    assert "train.py" in said


@pytest.mark.parametrize(
    "body",
    [
        "    count = count - 1\n    return (x * y).sum() / count\n",
        "    return (x * y).sum() / (count - 1)\n",
        "    return (x * y).sum() / y\n",
    ],
)
def test_what_is_made_of_it_is_not(body: str, project: Path) -> None:
    (project / "lib/losses.py").write_text(f"import torch\n\n\ndef dice(x, y, count):\n{body}")
    assert of_losses(project).status.is_open


def test_a_call_of_its_own_file_contradicts(project: Path) -> None:
    (project / "lib/losses.py").write_text(DICE + "\n\ndef mean(x, y, n):\n    return dice(x, y, n)\n")
    assert of_losses(project).status.is_open
