"""A setting that another file sets otherwise is no longer assumed; results follow what other files say now."""

from pathlib import Path

import pytest

from stablelint.config import Settings
from stablelint.diagnostic import CALLED, Diagnostic, Level, Passed
from stablelint.workspace import pool
from stablelint.workspace.exchange import Exchange
from stablelint.workspace.kept import cache as cache_module
from stablelint.workspace.pipeline import check
from stablelint.workspace.result import CheckResult
from stablelint.workspace.selection import Selection
from stablelint.workspace.session import Request
from tests.analysis.support import CATALOG

LOSSES = """import torch
from torch import nn

def ratio(x, y, eps=1e-6):
    return x / (y.abs() + eps)

class Ratio(nn.Module):
    floor = 1e-6

    def __init__(self, tau=1.0):
        super().__init__()
        self.tau = tau

    def forward(self, x, y):
        return (x / self.tau) / (y.abs() + self.floor)
"""
CONTRADICTED = {
    "a keyword": ("from lib.losses import ratio\n\ndef f(x):\n    return ratio(x, x, eps=0.0)\n", "eps=0.0", 5),
    "a place": ("import lib.losses as l\n\ndef f(x):\n    return l.ratio(x, x, 0)\n", "eps=0", 5),
    "a constant": ("from lib.losses import ratio\nE = 0.0\n\ndef f(x):\n    return ratio(x, x, E)\n", "eps=0.0", 5),
    "a default of its own": ("from lib import ratio\n\ndef f(x, e=0.0):\n    return ratio(x, x, eps=e)\n", "eps=0.0", 5),
    "a partial": ("from functools import partial\nfrom lib import ratio\ng = partial(ratio, eps=0.0)\n", "eps=0.0", 5),
    "a constructor": ("from lib import Ratio\nloss = Ratio(0.0)\n", "tau=0.0", 15),
    "a subclass": (
        "from lib import Ratio\n\nclass R(Ratio):\n    def __init__(self):\n        super().__init__(tau=0.0)\n",
        "tau=0.0", 15,
    ),
    "a subclass by name": (
        "from lib import Ratio\n\nclass R(Ratio):\n    def __init__(self):\n        Ratio.__init__(self, 0.0)\n",
        "tau=0.0", 15,
    ),
    "an inherited constructor": ("from lib import Ratio\n\nclass R(Ratio):\n    pass\n\nr = R(tau=0.0)\n", "tau=0.0", 15),
    "a class attribute": ("from lib import Ratio\n\nclass R(Ratio):\n    floor = 0.0\n", "floor=0.0", 15),
    "an attribute": (
        "from lib import Ratio\n\nclass R(Ratio):\n    def set(self):\n        self.floor = 0.0\n", "floor=0.0", 15,
    ),
}  # fmt: skip
AGREED = {
    "the default itself": "from lib import ratio\n\ndef f(x):\n    return ratio(x, x, 1e-06)\n",
    "what cannot be told": "from lib import ratio\n\ndef f(x, options):\n    return ratio(x, x, options.eps)\n",
    "another positive number": "from lib import ratio, Ratio\n\ndef f(x):\n    return ratio(x, x, 1e-3) + Ratio(0.1)(x)\n",
    "another function of that name": "from other import ratio\n\ndef f(x):\n    return ratio(x, x, eps=0.0)\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache_module, "_RACY_NS", 0)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/__init__.py").write_text("from .losses import *\n")
    (tmp_path / "lib/losses.py").write_text(LOSSES)
    return tmp_path


def run(
    root: Path, *names: str, use_cache: bool = True, rules: frozenset[str] = frozenset({"SL102"})
) -> CheckResult:
    request = Request(
        Settings(root=root, level=Level.POSSIBLE),
        Selection(rules, "/"),
        discharged=True,
        use_cache=use_cache,
        jobs=1,
    )
    result = check([str(root / name) for name in names or (".",)], request, CATALOG)
    assert result.problems == ()
    return result


def of_losses(result: CheckResult) -> list[Diagnostic]:
    return [item for item in result.diagnostics if item.filename.endswith("losses.py")]


@pytest.mark.parametrize("name", CONTRADICTED)
def test_what_another_file_passes_takes_the_bound_away(name: str, project: Path) -> None:
    text, setting, row = CONTRADICTED[name]
    (project / "scripts").mkdir()
    (project / "scripts/train.py").write_text("import torch\n" + text)
    [found] = of_losses(run(project))
    assert found.span.start.row == row
    places = [(step.text, Path(step.filename or "").name) for step in found.derivation]
    assert (f"`{setting}` is passed", "train.py") in places


@pytest.mark.parametrize("name", AGREED)
def test_what_agrees_with_the_bound_leaves_it(name: str, project: Path) -> None:
    (project / "train.py").write_text("import torch\n" + AGREED[name])
    result = run(project)
    assert of_losses(result) == []
    assert len(result.discharged) == 3


@pytest.mark.parametrize(
    ("caller", "status"),
    [
        ("", "discharged"),
        ("from lib.norms import _scaled\n\ndef f(x, y):\n    return _scaled(x, y)\n", "unguarded"),
    ],
)
def test_a_private_function_that_another_file_calls_is_given_anything(
    caller: str, status: str, project: Path
) -> None:
    (project / "lib/norms.py").write_text(
        "import torch\n\ndef _scaled(x, y):\n    return x / y\n\n"
        "def scaled(x, y):\n    return _scaled(x, y.abs() + 1)\n"
    )
    (project / "train.py").write_text("import torch\n" + caller)
    result = run(project)
    [found] = (d for d in (*result.diagnostics, *result.discharged) if d.filename.endswith("norms.py"))
    assert found.status.value == status


@pytest.mark.parametrize(
    ("caller", "open_"),
    [("", False), ("from lib.norms import _size\n\ndef f(x):\n    return _size(x)\n", True)],
)
def test_a_private_function_that_another_file_calls_may_be_trained_through(
    caller: str, open_: bool, project: Path
) -> None:
    (project / "lib/norms.py").write_text(
        "import torch\n\ndef _size(x):\n    return torch.sqrt(x.abs())\n\n"
        "@torch.no_grad()\ndef size(x):\n    return _size(x)\n"
    )
    (project / "train.py").write_text("import torch\n" + caller)
    assert bool(run(project, rules=frozenset({"SL103"})).diagnostics) is open_


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are examined."""
    names: list[str] = []
    guarded = pool._guarded
    monkeypatch.setattr(
        pool,
        "_guarded",
        lambda task, path, *told: names.append(Path(path).name) or guarded(task, path, *told),
    )
    return names


def test_an_edit_of_one_file_reaches_those_that_depend_on_it(project: Path, looked: list[str]) -> None:
    caller = project / "train.py"
    text = "import torch\nfrom lib import ratio\n\ndef f(x):\n    return ratio(x, x, eps={})\n"
    seen = []
    for eps in ("1e-6", "0.0", "0.0", "1e-3"):
        caller.write_text(text.format(eps))
        looked.clear()
        seen.append((len(of_losses(run(project))), sorted(looked)))
    assert seen == [
        (0, ["losses.py", "train.py"]),
        (1, ["losses.py", "train.py"]),
        (1, []),
        (0, ["losses.py", "train.py"]),
    ]


@pytest.mark.parametrize(("caller", "examined"), [("a.py", 1), ("train.py", 2)])
def test_a_file_is_told_what_those_before_it_have_shown(
    caller: str, examined: int, project: Path, looked: list[str]
) -> None:
    (project / caller).write_text(
        "import torch\nfrom lib import ratio\n\ndef f(x):\n    return ratio(x, x, eps=0.0)\n"
    )
    assert len(of_losses(run(project))) == 1
    assert looked.count("losses.py") == examined


def test_a_constructor_is_examined_once_whoever_calls_it(project: Path, looked: list[str]) -> None:
    (project / "train.py").write_text(
        "import torch\nfrom lib import Ratio\n\nclass R(Ratio):\n"
        "    def __init__(self, width):\n        super().__init__()\n        self.width = width\n"
    )
    assert of_losses(run(project)) == []
    assert looked.count("losses.py") == 1


HELPERS = """import torch

def positive(x):
    return x.clamp_min(1e-6)

def other(x):
    return x + 1
"""
USERS = {
    "use.py": "import torch\nfrom helpers import positive\n\ndef f(x):\n    return x / positive(x)\n",
    "train.py": "import torch\nfrom lib import ratio\n\ndef f(x):\n    return ratio(x, x, eps=0.0)\n",
    "test.py": "import torch\nfrom lib import Ratio\n\ndef f(x):\n    return Ratio(tau=2.0)(x, x)\n",
}


@pytest.mark.parametrize(
    ("file", "old", "new", "also"),
    [
        ("helpers.py", "import torch", "# A line more.\nimport torch", []),
        ("helpers.py", "x + 1", "x + 2", []),
        ("helpers.py", "def other(x):", "def another(x):", []),
        ("helpers.py", "1e-6", "0.0", ["use.py"]),
        ("helpers.py", "def positive", "def negative", ["use.py"]),
        ("train.py", "import torch", "# A line more.\nimport torch", ["losses.py"]),  # which names the line
        ("test.py", "import torch", "# A line more.\nimport torch", []),
        ("test.py", "2.0", "0.0", ["losses.py"]),
    ],
)
def test_no_other_file_is_examined_again(
    file: str, old: str, new: str, also: list[str], project: Path, looked: list[str]
) -> None:
    for name, text in {"helpers.py": HELPERS, **USERS}.items():
        (project / name).write_text(text)
    before, path = run(project), project / file
    path.write_text(path.read_text().replace(old, new))
    looked.clear()
    after = run(project)
    assert sorted(looked) == sorted([file, *also])
    assert after == run(project, use_cache=False)
    assert (after.diagnostics != before.diagnostics) == bool(also)


@pytest.mark.parametrize("name", [*CONTRADICTED, "a class between"])
@pytest.mark.parametrize("cached", [True, False])
def test_a_file_alone_is_told_what_the_whole_project_would_tell(
    name: str, cached: bool, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "pyproject.toml").touch()
    if name in CONTRADICTED:
        text = CONTRADICTED[name][0]
    else:
        text = "from use import Middle\n\nclass Last(Middle):\n    floor = 0.0\n"
        (project / "use.py").write_text(
            "import torch\nfrom lib import Ratio\n\nclass Middle(Ratio):\n    pass\n"
        )
    (project / "train.py").write_text("import torch\n" + text)
    whole = run(project) if cached else None
    alone = run(project, "lib/losses.py")
    looked: list[str] = []
    monkeypatch.setattr(pool, "_guarded", lambda task, path, *told: looked.append(path))
    again = run(project, "lib/losses.py")
    assert alone.diagnostics == again.diagnostics != ()
    assert looked == [], "what a file passes is kept, as an answer is"
    if whole is not None:
        assert of_losses(whole) == list(alone.diagnostics)
    assert alone.files == 1


def test_a_glimpse_of_a_file_is_no_answer_to_a_check_of_it(project: Path) -> None:
    (project / "pyproject.toml").touch()
    (project / "train.py").write_text(
        "import torch\nfrom lib import ratio\n\ndef f(x):\n    return ratio(x, x, eps=0.0) / x.sum()\n"
    )
    run(project, "lib/losses.py")
    assert [item.span.start.row for item in run(project, "train.py").diagnostics] == [5]


def test_outside_of_a_project_a_file_stands_alone(project: Path) -> None:
    (project / "train.py").write_text(
        "import torch\nfrom lib import ratio\n\ndef f(x):\n    return ratio(x, x, eps=0.0)\n"
    )
    assert len(of_losses(run(project))) == 1
    assert of_losses(run(project, "lib/losses.py")) == []


def test_neither_number_nor_order_of_processes_matters(project: Path) -> None:
    for name, (text, _, _) in CONTRADICTED.items():
        (project / f"{name.replace(' ', '_')}.py").write_text("import torch\n" + text + "# line\n" * 4000)
    settings = Settings(root=project, level=Level.POSSIBLE)
    results = [
        check(
            [str(project)],
            Request(settings, Selection(frozenset({"SL102"}), "/"), use_cache=False, jobs=jobs),
            CATALOG,
        )
        for jobs in (1, 2, 3)
    ]
    assert results[0].diagnostics
    assert results[0] == results[1] == results[2]


def test_what_another_file_makes_for_a_call_is_no_operation_of_it(project: Path) -> None:
    net = (
        "from torch import nn\n\ndef block(n):\n    return nn.Sequential(nn.Linear(n, 4), nn.Linear(4, 2))\n"
    )
    (project / "lib/net.py").write_text(net)
    use = "import torch\nfrom torch import nn\nfrom lib.net import block\n\ndef f(x):\n    layer = nn.Linear(3, 3)\n"
    (project / "use.py").write_text(use + "    return block(layer.in_features)(layer(x))\n")
    assert run(project).problems == ()


CONFIG = """import torch

EPS = 1e-3
TABLE = {"eps": 1e-3}

def clear(x):
    x.zero_()

def by_constant(x):
    return 1 / (x.abs() + EPS)

def by_table(x):
    return 1 / (x.abs() + TABLE["eps"])

class Base:
    def _scaled(self, x, n):
        return x / n

    def scaled(self, x):
        return self._scaled(x, 2)
"""
WRITTEN = {
    "a constant": ("from lib import config\nconfig.EPS = 0\n", 10),
    "a constant by its module": ("import lib.config as c\n\ndef f():\n    c.EPS = 0\n", 10),
    "an entry": ('from lib.config import TABLE\nTABLE["eps"] = 0\n', 13),
    "an entry by its module": ('from lib import config\nconfig.TABLE["eps"] = 0\n', 13),
    "a private method of the base": (
        "from lib.config import Base\n\nclass A(Base):\n    def f(self, x):\n        return self._scaled(x, 0)\n", 17,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_what_another_file_writes_is_not_proved(name: str, project: Path) -> None:
    text, row = WRITTEN[name]
    (project / "lib/config.py").write_text(CONFIG)
    (project / "pyproject.toml").write_text("")
    assert [d.span.start.row for d in run(project, "lib").diagnostics if "config" in d.filename] == []
    (project / "train.py").write_text("import torch\n" + text)
    assert [d.span.start.row for d in run(project, "lib").diagnostics if "config" in d.filename] == [row]


@pytest.mark.parametrize("name", [name for name in WRITTEN if "private" not in name])
def test_what_a_file_without_torch_writes_is_not_proved(name: str, project: Path) -> None:
    text, row = WRITTEN[name]
    (project / "lib/config.py").write_text(CONFIG)
    (project / "pyproject.toml").write_text("")
    (project / "train.py").write_text(text)
    for checked in ("lib", "."):
        assert [d.span.start.row for d in run(project, checked).diagnostics if "config" in d.filename] == [
            row
        ]


def test_what_a_function_of_another_file_writes_into_is_not_proved(project: Path) -> None:
    (project / "lib/config.py").write_text(CONFIG)
    code = "import torch\nfrom lib.config import clear\n\ndef f(x):\n    y = x.abs() + 1\n    clear(y)\n    return 1 / y\n"
    (project / "train.py").write_text(code)
    assert [d.span.start.row for d in run(project, "train.py").diagnostics] == [7]


@pytest.mark.parametrize("decorator", ["", "@property"])
def test_a_method_of_a_subclass_in_another_file_takes_the_bound_away(decorator: str, project: Path) -> None:
    call = "self.least" if decorator else "self.least()"
    body = f"    {decorator}\n    def least(self):\n        return {{}}\n"
    (project / "lib/losses.py").write_text(
        f"import torch\n\nclass Base:\n{body.format(1e-6)}\n    def f(self, x):\n        return x / (x.abs() + {call})\n"
    )
    (project / "other.py").write_text(
        f"import torch\nfrom lib import Base\n\nclass Other(Base):\n{body.format(0.5)}"
    )
    assert of_losses(run(project)) == []
    (project / "other.py").write_text(
        f"import torch\nfrom lib import Base\n\nclass Other(Base):\n{body.format(0.0)}"
    )
    [found] = of_losses(run(project))
    assert "`least=0.0` is passed" in [step.text for step in found.derivation]


FLAT = "import torch\n\nclass Base:\n    def _scaled(self, x, n):\n        return x / n\n\n"
FLAT += "    def denominator(self, x):\n        return x.abs() + 1\n\n"
FLAT += "    def forward(self, x):\n        return self._scaled(x, 2.0) / self.denominator(x)\n"


@pytest.mark.parametrize(
    ("other", "proofs"),
    [
        ("", 2),
        ("from base import Base\n\nclass Sub(Base):\n    def other(self, x):\n        return x\n", 2),
        ("from base import Base\n\nclass Sub(Base):\n    def denominator(self, x):\n        return x\n", 1),
        ("from base import Base\n\nBase()._scaled(torch.ones(3), 0.0)\n", 1),
    ],
)
def test_files_beside_each_other_need_no_package_to_override_and_call(
    other: str, proofs: int, tmp_path: Path
) -> None:
    (tmp_path / "base.py").write_text(FLAT)
    (tmp_path / "sub.py").write_text(f"import torch\n{other}")
    assert len([d for d in run(tmp_path, use_cache=False).discharged if not d.assumes]) == proofs


def test_of_the_calls_of_some_objects_method_two_files_are_told() -> None:
    place = (":_step", CALLED)
    passes = {name: {place: (Passed(name, 1, ""), Passed(name, 2, ""))} for name in ("c.py", "a.py", "b.py")}
    assert Exchange(passes).current() == {place: (Passed("a.py", 1, ""), Passed("b.py", 1, ""))}
