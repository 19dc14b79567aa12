"""What imports lead to: helpers, models and constants of other files, read and never imported."""

import os
from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.analysis.files.project import Library, Project
from stablelint.catalog import Catalog, load_catalog
from stablelint.diagnostic import FileReport, Status
from stablelint.syntax.content import digest


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(entry_points=False)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def check(root: Path, name: str, catalog: Catalog) -> FileReport:
    options = AnalysisOptions(root=root, discharged=True)
    return check_source((root / name).read_bytes(), name, catalog, options)


def open_(report: FileReport) -> list[str]:
    return [d.code for d in report.diagnostics]


POSITIVE = "import torch\n\ndef positive(x):\n    return x.abs() + 1e-3\n"
USES_POSITIVE = "import torch\nfrom {} import positive\n\ndef loss(x):\n    return torch.log(positive(x))\n"

LAYOUTS = {
    "relative": ({"pkg/__init__.py": "", "pkg/h.py": POSITIVE}, ".h"),
    "absolute": ({"pkg/__init__.py": "", "pkg/h.py": POSITIVE}, "pkg.h"),
    "parent": (
        {"pkg/__init__.py": "", "h.py": "", "pkg/sub/__init__.py": "", "pkg/sub/h.py": POSITIVE},
        "pkg.sub.h",
    ),
    "re-exported": (
        {"pkg/__init__.py": "", "pkg/u/__init__.py": "from .h import positive\n", "pkg/u/h.py": POSITIVE},
        ".u",
    ),
    "re-exported under another name": (
        {
            "pkg/__init__.py": "",
            "pkg/u.py": "from .h import p as positive\n",
            "pkg/h.py": POSITIVE.replace("positive", "p"),
        },
        ".u",
    ),
    "re-exported with a star": (
        {"pkg/__init__.py": "", "pkg/u/__init__.py": "from .h import *\n", "pkg/u/h.py": POSITIVE},
        ".u",
    ),
    "from the package itself": ({"pkg/__init__.py": "from .h import positive\n", "pkg/h.py": POSITIVE}, "."),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_helper_of_another_file_discharges(layout: str, tmp_path: Path, catalog: Catalog) -> None:
    files, module = LAYOUTS[layout]
    write(tmp_path, {**files, "pkg/loss.py": USES_POSITIVE.format(module)})
    report = check(tmp_path, "pkg/loss.py", catalog)
    assert "SL101" not in {d.code for d in report.diagnostics}
    assert "SL101" in {d.code for d in report.discharged}


def test_a_helper_that_guards_nothing_does_not(tmp_path: Path, catalog: Catalog) -> None:
    helper = POSITIVE.replace("x.abs() + 1e-3", "x.softmax(-1)")
    write(tmp_path, {"pkg/__init__.py": "", "pkg/h.py": helper, "pkg/loss.py": USES_POSITIVE.format(".h")})
    found = check(tmp_path, "pkg/loss.py", catalog).diagnostics
    assert {d.status for d in found if d.span.start.row == 5} == {Status.VIOLATED}


def test_a_module_of_helpers_is_followed_through_its_name(tmp_path: Path, catalog: Catalog) -> None:
    use = "import torch\nfrom . import h\n\ndef loss(x):\n    return torch.log(h.positive(x))\n"
    write(tmp_path, {"pkg/__init__.py": "", "pkg/h.py": POSITIVE, "pkg/loss.py": use})
    assert "SL101" in {d.code for d in check(tmp_path, "pkg/loss.py", catalog).discharged}


def test_a_constant_of_a_file_without_torch_is_known(tmp_path: Path, catalog: Catalog) -> None:
    use = "import torch\nfrom .constants import EPS\n\ndef loss(x):\n    return torch.log(x.abs() + EPS)\n"
    write(tmp_path, {"pkg/__init__.py": "", "pkg/constants.py": "EPS = 1e-6\n", "pkg/loss.py": use})
    assert "SL101" in {d.code for d in check(tmp_path, "pkg/loss.py", catalog).discharged}


MODEL = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, classes), nn.Softmax(dim=-1))

    def forward(self, x):
        return self.body(x)
"""
TRAIN = """import torch
from torch import nn
from .net import Net

model = Net(3)
criterion = nn.CrossEntropyLoss()

def step(x, y):
    return criterion(model(x), y)
"""


def test_softmax_in_an_imported_model_is_found_at_the_loss(tmp_path: Path, catalog: Catalog) -> None:
    write(tmp_path, {"pkg/__init__.py": "", "pkg/net.py": MODEL, "pkg/train.py": TRAIN})
    found = check(tmp_path, "pkg/train.py", catalog)
    assert "SL301" in open_(found)
    (proposal,) = (one for item in found.diagnostics for one in item.proposals)
    assert proposal.filename == str(tmp_path / "pkg/net.py")
    assert (proposal.kind, proposal.message) == ("delete", "pass the logits")


def test_softmax_in_an_imported_base_class_is_found(tmp_path: Path, catalog: Catalog) -> None:
    base = MODEL.replace("class Net", "class Base")
    net = "from .base import Base\n\nclass Net(Base):\n    '''torch'''\n"
    write(tmp_path, {"pkg/__init__.py": "", "pkg/base.py": base, "pkg/net.py": net, "pkg/train.py": TRAIN})
    assert "SL301" in open_(check(tmp_path, "pkg/train.py", catalog))


def test_a_model_that_returns_logits_is_clean(tmp_path: Path, catalog: Catalog) -> None:
    write(
        tmp_path,
        {
            "pkg/__init__.py": "",
            "pkg/net.py": MODEL.replace(", nn.Softmax(dim=-1)", ""),
            "pkg/train.py": TRAIN,
        },
    )
    assert open_(check(tmp_path, "pkg/train.py", catalog)) == []


BROKEN = {
    "a circle of imports": {"pkg/h.py": "from .loss import positive\n", "pkg/__init__.py": ""},
    "a longer circle": {
        "pkg/h.py": "from .i import positive\n",
        "pkg/i.py": "from .h import positive\n",
        "pkg/__init__.py": "",
    },
    "stars in a circle": {
        "pkg/h.py": "from .i import *\n",
        "pkg/i.py": "from .h import *\n",
        "pkg/__init__.py": "",
    },
    "no such file": {"pkg/__init__.py": ""},
    "no such name": {"pkg/h.py": "import torch\n", "pkg/__init__.py": ""},
    "no such package": {},
    "a file that does not parse": {"pkg/h.py": "import torch\ndef positive(:\n", "pkg/__init__.py": ""},
    "a file that is not text": {"pkg/h.py": "import torch\0\n", "pkg/__init__.py": ""},
    "a folder where a file is wanted": {"pkg/h.py/x": "", "pkg/__init__.py": ""},
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_import_that_leads_nowhere_leaves_the_value_unknown(
    name: str, tmp_path: Path, catalog: Catalog
) -> None:
    write(tmp_path, {**BROKEN[name], "pkg/loss.py": USES_POSITIVE.format(".h")})
    report = check(tmp_path, "pkg/loss.py", catalog)
    assert report.problems == ()
    assert [d.status for d in report.diagnostics if d.code == "SL101"] == [Status.UNGUARDED]


def test_functions_that_call_each_other_across_files_end(tmp_path: Path, catalog: Catalog) -> None:
    one = "import torch\nfrom .b import g\n\ndef f(x):\n    return torch.log(g(x))\n"
    two = "import torch\nfrom .a import f\n\ndef g(x):\n    return f(x) + 1\n"
    write(tmp_path, {"pkg/__init__.py": "", "pkg/a.py": one, "pkg/b.py": two})
    assert check(tmp_path, "pkg/a.py", catalog).problems == ()


@pytest.mark.parametrize(
    ("attr", "open_codes", "assumed"),
    [("width", [], ["SL102"]), ("zero", ["SL102"], []), ("other", ["SL102"], [])],
)
def test_an_attribute_of_a_parameter_is_that_of_the_class_it_is_annotated_with(
    attr: str, open_codes: list[str], assumed: list[str], tmp_path: Path, catalog: Catalog
) -> None:
    use = f"import torch\nfrom .h import Config\n\ndef f(c: Config | None, x):\n    return x / c.{attr}\n"
    config = "import torch\n\nclass Config:\n    width = 4\n    zero = 0.0\n"
    write(tmp_path, {"pkg/__init__.py": "", "pkg/h.py": config, "pkg/use.py": use})
    report = check(tmp_path, "pkg/use.py", catalog)
    assert open_(report) == open_codes
    assert [d.code for d in report.discharged if d.status is Status.ASSUMED] == assumed
    assert str(tmp_path / "pkg/h.py") in report.consulted


def test_the_report_names_the_files_that_were_consulted(tmp_path: Path, catalog: Catalog) -> None:
    write(tmp_path, {"pkg/__init__.py": "", "pkg/h.py": POSITIVE, "pkg/loss.py": USES_POSITIVE.format(".h")})
    consulted = check(tmp_path, "pkg/loss.py", catalog).consulted
    assert consulted[str(tmp_path / "pkg/h.py")].startswith(f"{digest(POSITIVE.encode())} ")


def test_a_file_that_would_matter_if_it_existed_is_named_too(tmp_path: Path, catalog: Catalog) -> None:
    write(tmp_path, {"pkg/__init__.py": "", "pkg/loss.py": USES_POSITIVE.format(".h")})
    assert check(tmp_path, "pkg/loss.py", catalog).consulted[str(tmp_path / "pkg/h.py")] == ""


def test_an_import_that_is_never_used_is_not_read(tmp_path: Path, catalog: Catalog) -> None:
    use = "import torch\nfrom .h import positive\n\ndef loss(x):\n    return torch.log(x)\n"
    write(tmp_path, {"pkg/__init__.py": "", "pkg/h.py": POSITIVE, "pkg/loss.py": use})
    assert check(tmp_path, "pkg/loss.py", catalog).consulted == {}


def test_a_change_of_the_helper_changes_the_outcome(tmp_path: Path, catalog: Catalog) -> None:
    write(tmp_path, {"pkg/__init__.py": "", "pkg/h.py": POSITIVE, "pkg/loss.py": USES_POSITIVE.format(".h")})
    assert "SL101" not in {d.code for d in check(tmp_path, "pkg/loss.py", catalog).diagnostics}
    (tmp_path / "pkg/h.py").write_text(POSITIVE.replace("+ 1e-3", "- 1.0"))
    assert "SL101" in {d.code for d in check(tmp_path, "pkg/loss.py", catalog).diagnostics}


def test_the_outcome_does_not_depend_on_what_was_checked_before(tmp_path: Path, catalog: Catalog) -> None:
    write(tmp_path, {"pkg/__init__.py": "", "pkg/net.py": MODEL, "pkg/train.py": TRAIN, "pkg/h.py": POSITIVE})
    write(tmp_path, {"pkg/loss.py": USES_POSITIVE.format(".h")})
    names = ["pkg/train.py", "pkg/loss.py", "pkg/net.py"]
    first = [check(tmp_path, name, catalog) for name in names]
    assert [check(tmp_path, name, catalog) for name in reversed(names)] == first[::-1]


def test_the_library_lets_go_of_files_beyond_its_capacity(tmp_path: Path) -> None:
    text = POSITIVE + "# " + "x" * 900 + "\n"
    write(tmp_path, {f"m{i}.py": text for i in range(8)})
    library = Library(capacity=3 * len(text))
    kept = [library.get(str(tmp_path / f"m{i}.py"), "") for i in range(8)]
    again = [library.get(str(tmp_path / f"m{i}.py"), "") for i in (7, 6, 5)]
    assert [a is b for a, b in zip(again, kept[:4:-1], strict=True)] == [True] * 3
    assert library.get(str(tmp_path / "m0.py"), "") is not kept[0]


def test_the_number_of_files_read_for_one_is_bounded(tmp_path: Path) -> None:
    count = 80
    write(tmp_path, {f"m{i}.py": f"import torch\nfrom m{i + 1} import f\nX{i} = {i}\n" for i in range(count)})
    project = Project(Library())
    loaded = [project.load(str(tmp_path / f"m{i}.py")) for i in range(count)]
    assert 10 < sum(module is not None for module in loaded) < count


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_as_good_as_none(tmp_path: Path, catalog: Catalog) -> None:
    write(tmp_path, {"pkg/__init__.py": "", "pkg/h.py": POSITIVE, "pkg/loss.py": USES_POSITIVE.format(".h")})
    (tmp_path / "pkg/h.py").chmod(0)
    assert check(tmp_path, "pkg/loss.py", catalog).problems == ()


OVERRIDABLE = {
    "a method": "    def n(self, x):\n        return x.abs() + 1\n    def f(self, x):\n        return 1 / self.n(x)\n",
    "a property": "    @property\n    def n(self):\n        return 2.0\n    def f(self, x):\n        return x / self.n\n",
    "a layer": (
        "    def __init__(self):\n        super().__init__()\n        self.n = torch.nn.Sigmoid()\n"
        "    def f(self, x):\n        return 1 / (self.n(x) + 1)\n"
    ),
}


@pytest.mark.parametrize("body", OVERRIDABLE.values(), ids=OVERRIDABLE)
def test_what_a_subclass_elsewhere_may_have_otherwise_is_assumed(
    body: str, tmp_path: Path, catalog: Catalog
) -> None:
    code = f"import torch\n\nclass A(torch.nn.Module):\n{body}"
    write(tmp_path, {"pkg/__init__.py": "", "pkg/a.py": code, "script.py": code})
    statuses = [
        {d.status.value for d in check(tmp_path, name, catalog).discharged if d.code == "SL102"}
        for name in ("pkg/a.py", "script.py")
    ]
    assert statuses == [{"assumed"}, {"discharged"}]


def test_a_margin_is_told_where_it_is_taken_and_not_at_each_call(tmp_path: Path, catalog: Catalog) -> None:
    helper = "def inner(x, eps=1e-10):\n    return x.clamp(min=eps, max=1.0 - eps)\n"
    use = "import torch\nfrom .h import inner\n\ndef f(x):\n    return torch.logit(inner(torch.sigmoid(x)))\n"
    write(tmp_path, {"pkg/__init__.py": "", "pkg/h.py": f"import torch\n\n{helper}", "pkg/use.py": use})
    assert "SL410" in open_(check(tmp_path, "pkg/h.py", catalog))
    assert "SL410" not in open_(check(tmp_path, "pkg/use.py", catalog))


WRITER = (
    "def h(z):\n    z.mul_(-1)\n\n\nclass Low:\n    def __init__(self, z):\n        self.z = z\n"
    "    def go(self):\n        h(self.z)\n"
)


@pytest.mark.parametrize(
    "body", ["h(z)", "h(z)\n    return z.abs()", "low.h(z)\n    return 1", "low.Low(z).go()\n    return 1"]
)
def test_a_helper_hands_on_to_one_of_another_file_that_writes(
    body: str, tmp_path: Path, catalog: Catalog
) -> None:
    use = "import torch\nfrom .mid import g\n\ndef loss(x):\n    v = x.abs() + 1\n    g(v)\n    return torch.log(v)\n"
    mid = f"from . import low\nfrom .low import h\n\ndef g(z):\n    {body}\n"
    write(tmp_path, {"pkg/__init__.py": "", "pkg/low.py": WRITER, "pkg/mid.py": mid, "pkg/loss.py": use})
    assert "SL101" in {d.code for d in check(tmp_path, "pkg/loss.py", catalog).diagnostics}
