"""What is told of a program whose faults lie across its files: the shapes under `tests/projects`, one bug of each kind."""

import re
from pathlib import Path

import pytest

from stablelint.config import Settings
from stablelint.diagnostic import Diagnostic, Level
from stablelint.workspace.pipeline import check
from stablelint.workspace.selection import Selection
from stablelint.workspace.session import Request
from tests.analysis.support import CATALOG

PROJECTS = Path(__file__).parent.parent / "projects"
SHAPES = sorted(folder.name for folder in PROJECTS.iterdir() if folder.is_dir())
SELECTION = Selection(frozenset({"SL202", "SL301"}), "/")
_MARK = re.compile(r"# error: (SL\d+) via ([^\"\\\n]+)")


def found_in(root: Path, jobs: int = 1, selection: Selection = SELECTION) -> tuple[Diagnostic, ...]:
    request = Request(Settings(root=root, level=Level.POSSIBLE), selection, use_cache=False, jobs=jobs)
    result = check([str(root)], request, CATALOG)
    assert result.problems == ()
    return result.diagnostics


ATTENTION = """
import torch

def attend(q, k, v, padding):
    scores = (q @ k.transpose(-1, -2)).masked_fill(padding, -1e9)
    return scores.softmax(dim=-1) @ v
"""
FLOAT32 = (
    "import torch\n\ndef attend(scores):\n    return torch.softmax(scores, dim=-1, dtype=torch.float32)\n"
)
CASTS = "import torch\nfrom model import attend\n\ndef serve(model: torch.nn.Module):\n    return model.half().eval()\n"
IN_BFLOAT16 = CASTS.replace("half", "bfloat16")
STEP = "import torch\nfrom model import attend\n\ndef step(q, k, v, p):\n    with {}:\n        return attend(q, k, v, p)\n"
MIXED = {"SL403": "serve.py asks for mixed precision"}


@pytest.mark.parametrize(
    ("name", "other", "told"),
    [
        ("serve.py", CASTS, {"SL403": "serve.py names it", "SL415": "serve.py names float16"}),
        ("serve.py", FLOAT32, {"SL415": "serve.py computes a softmax in float32"}),
        ("serve.py", IN_BFLOAT16, {}),
        ("test_model.py", CASTS, {}),
        ("serve.py", STEP.format("torch.cuda.amp.autocast()"), MIXED),
        ("serve.py", STEP.format('torch.autocast("cuda", dtype=torch.bfloat16)'), {}),
        ("serve.py", STEP.format('torch.autocast("cpu")'), {}),
        (
            "serve.py",
            "import torch\nimport model\nimport lightning as L\nt = L.Trainer(precision='16-mixed')\n",
            MIXED,
        ),
    ],
)
@pytest.mark.parametrize("checked", [".", "model.py"])
def test_half_precision_that_another_file_shows(
    name: str, other: str, told: dict[str, str], checked: str, tmp_path: Path
) -> None:
    for file, text in {"pyproject.toml": "[project]\n", "model.py": ATTENTION, name: other}.items():
        (tmp_path / file).write_text(text)
    settings = Settings(root=tmp_path, source=tmp_path / "pyproject.toml", level=Level.POSSIBLE)
    request = Request(settings, Selection(frozenset({"SL403", "SL415"}), "/"), use_cache=False, jobs=1)
    found = check([str(tmp_path / checked)], request, CATALOG).diagnostics
    assert {item.code: item.message.rpartition("; ")[2] for item in found} == told


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("q @ k.mT", {"SL402"}),
        ("torch.relu(self.layer(q)) * 2", {"SL402"}),
        ("(q @ k.mT).softmax(-1)", set()),
        ("q * k", set()),
    ],
)
def test_mixed_precision_of_another_file_narrows_products_and_what_is_made_of_them(
    made: str, told: set[str], tmp_path: Path
) -> None:
    model = (
        "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.layer = nn.Linear(3, 3)\n\n"
        f"    def forward(self, q, k):\n        h = {made}\n        return h / h.abs().amax().clamp_min(1e-8)\n"
    )
    train = (
        "import torch\nfrom model import Net\n\nwith torch.autocast('cuda'):\n    Net()(torch.rand(3), 1)\n"
    )
    for file, text in {"pyproject.toml": "[project]\n", "model.py": model, "train.py": train}.items():
        (tmp_path / file).write_text(text)
    found = found_in(tmp_path, selection=Selection(frozenset({"SL402"}), "/"))
    assert {item.code for item in found} == told


HOOK = """
import torch

class ClipHook:
    def on_backward(self, task):
        torch.nn.utils.clip_grad_norm_(task.model.parameters(), 1.0)
"""
TRAINS = """
import torch

def train(task, hook, optimizer, scaler=torch.amp.GradScaler()):
    scaler.scale(task.loss()).backward()
{unscale}    hook.on_backward(task)
    scaler.step(optimizer)
    scaler.update()
"""
UNSCALES = "    scaler.unscale_(optimizer)\n"


@pytest.mark.parametrize(
    ("trainer", "told"),
    [
        (TRAINS.format(unscale=""), ["SL407"]),
        (TRAINS.format(unscale=UNSCALES), []),
        (
            "import torch\n\ndef train(task, hook):\n    task.loss().backward()\n    hook.on_backward(task)\n",
            [],
        ),
    ],
)
def test_a_clip_in_a_hook_of_a_project_that_scales_its_losses(
    trainer: str, told: list[str], tmp_path: Path
) -> None:
    (tmp_path / "hooks.py").write_text(HOOK)
    (tmp_path / "train.py").write_text(trainer)
    request = Request(
        Settings(root=tmp_path, level=Level.POSSIBLE),
        Selection(frozenset({"SL406", "SL407"}), "/"),
        use_cache=False,
        jobs=1,
    )
    assert [d.code for d in check([str(tmp_path)], request, CATALOG).diagnostics] == told


def marked(root: Path) -> set[tuple[str, str, str]]:
    """(file, rule, file of the chain) of each mark."""
    marks: set[tuple[str, str, str]] = set()
    for path in (*root.rglob("*.py"), *root.rglob("*.ipynb")):
        for code, files in _MARK.findall(path.read_text()):
            name = str(path.relative_to(root))
            marks |= {(name, code, via.strip()) for via in files.split(",")}
    return marks


@pytest.mark.parametrize("shape", SHAPES)
def test_a_loss_of_probabilities_is_told_with_the_files_that_lead_to_it(shape: str) -> None:
    root = PROJECTS / shape
    told = {
        (
            str(Path(item.filename).relative_to(root)),
            item.code,
            str(Path(step.filename or item.filename).relative_to(root)),
        )
        for item in found_in(root)
        for step in item.derivation
    }
    assert marked(root) <= told
    assert {(name, code) for name, code, _ in told} == {(name, code) for name, code, _ in marked(root)}


HELPED = "import torch\nfrom lib.helpers import positive\n\ndef loss(x):\n    return torch.log(positive(x))\n"
HELPERS = "import torch\n\ndef positive(x):\n    return x.abs() + 1e-3\n"


@pytest.mark.parametrize("added", ["lib/helpers.py", "src/lib/helpers.py", "train/lib/helpers.py"])
def test_a_package_that_comes_later_counts(added: str, tmp_path: Path) -> None:
    for name, text in {"pyproject.toml": "[project]\n", "train/loss.py": HELPED, "other.py": HELPERS}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    settings = Settings(root=tmp_path, source=tmp_path / "pyproject.toml", level=Level.POSSIBLE)
    request = Request(settings, Selection(frozenset({"SL101"}), "/"), jobs=1)

    def codes() -> list[str]:
        return [item.code for item in check([str(tmp_path)], request, CATALOG).diagnostics]

    assert codes() == codes() == ["SL101"]
    (tmp_path / added).parent.mkdir(parents=True)
    (tmp_path / added).write_text(HELPERS)
    assert codes() == codes() == []
    (tmp_path / added).unlink()
    assert codes() == ["SL101"]


@pytest.mark.parametrize(
    ("serving", "told"),
    [
        ("from model import attend", {"a"}),
        ("from wrapped import attend", {"a"}),
        ("import other", set()),
        ("from b.model import attend", {"b"}),
    ],
)
def test_a_script_speaks_for_what_it_imports_and_not_for_other_programs(
    serving: str, told: set[str], tmp_path: Path
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "model.py").write_text(ATTENTION)
    (tmp_path / "a" / "wrapped.py").write_text("import torch\nfrom model import attend\n")
    (tmp_path / "a" / "serve.py").write_text(CASTS.replace("from model import attend", serving))
    assert {
        Path(item.filename).parent.name
        for item in found_in(tmp_path, selection=Selection(frozenset({"SL403"}), "/"))
    } == told
