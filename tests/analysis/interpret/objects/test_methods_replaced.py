"""Methods in whose place others stand: by the class body, its file, another file, a decorator, a metaclass or a base."""

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.diagnostic import Status
from tests.analysis.support import CATALOG, proved, unmet

GUARDED = "    def g(self, z):\n        return z.abs() + 1\n"
OTHER = "    def h(self, z):\n        return z\n"
PLAIN = f"class C:\n{GUARDED}"
CALL = "\ndef f(x: torch.Tensor):\n    return 1 / C().g(x)\n"
MADE = "class D:\n    def g(self, z):\n        return z\n\n"


def statuses(folder: Path, classes: str) -> list[Status]:
    """What is said of the quotient where the classes stand in another file."""
    (folder / "pkg").mkdir()
    for name, text in {"__init__.py": "", "other.py": f"import torch\n{classes}"}.items():
        (folder / "pkg" / name).write_text(text)
    path, source = folder / "pkg" / "program.py", f"import torch\nfrom pkg.other import C\n{CALL}"
    found = check_source(source.encode(), str(path), CATALOG, AnalysisOptions(root=folder, discharged=True))
    return [d.status for d in (*found.diagnostics, *found.discharged) if d.code == "SL102"]


@pytest.mark.parametrize(
    "classes",
    [
        f"{PLAIN}{OTHER}    g = h\n",
        f"class C:\n{GUARDED}{GUARDED.replace('.abs() + 1', '')}",
        f"{PLAIN}    if torch.cuda.is_available():\n        def g(self, z):\n            return z\n",
        f"{PLAIN}    for g in [len]:\n        pass\n",
        f"class B:\n{GUARDED}{OTHER}    g = h\nclass C(B):\n    pass\n",
    ],
)
def test_the_last_definition_in_a_class_body_counts(classes: str, tmp_path: Path) -> None:
    assert statuses(tmp_path, classes) == [Status.UNGUARDED]
    assert unmet(classes + CALL, "import torch\n") != []


@pytest.mark.parametrize(
    "classes",
    [
        f"{PLAIN}C.g = lambda self, z: z\n",
        f"{PLAIN}setattr(C, 'g', lambda self, z: z)\n",
        f"{PLAIN}for name in ['g']:\n    setattr(C, name, lambda self, z: z)\n",
        f"{PLAIN}def patch():\n    C.g = lambda self, z: z\npatch()\n",
        f"class B:\n{GUARDED}class C(B):\n    pass\nB.g = lambda self, z: z\n",
        f"def swap(c):\n    c.g = lambda self, z: z\n    return c\n@swap\n{PLAIN}",
        f"class M(type):\n    pass\nclass C(metaclass=M):\n{GUARDED}",
        f"class B:\n    def __init_subclass__(cls):\n        cls.g = len\nclass C(B):\n{GUARDED}",
        f"{MADE}class C:\n    def __new__(cls):\n        return D()\n{GUARDED}",
        f"{MADE}class B:\n    def __new__(cls):\n        return D()\nclass C(B):\n{GUARDED}",
    ],
)
def test_a_method_that_other_code_may_replace_proves_nothing(classes: str, tmp_path: Path) -> None:
    assert statuses(tmp_path, classes) == [Status.ASSUMED]


@pytest.mark.parametrize(
    "classes",
    [
        PLAIN,
        f"{PLAIN}C.count = 0\n",
        f"from abc import ABCMeta\nclass C(metaclass=ABCMeta):\n{GUARDED}",
        f"from dataclasses import dataclass\n@dataclass\n{PLAIN}",
        f"class B:\n{GUARDED}class C(B):\n    pass\nC.h = len\n",
    ],
)
def test_a_method_that_stays_proves(classes: str, tmp_path: Path) -> None:
    assert statuses(tmp_path, classes) == [Status.DISCHARGED]


def test_an_object_that_is_called_may_have_another_method_for_it() -> None:
    code = (
        "class C:\n    def __call__(self, z):\n        return z.abs() + 1\ndef f(x):\n    return 1 / C()(x)\n"
    )
    assert proved(code, "import torch\n") != []
    assert proved(f"{code}C.__call__ = lambda self, z: z\n", "import torch\n") == []


def test_a_deleter_is_not_the_property() -> None:
    code = (
        "class C:\n    @property\n    def e(self):\n        return 1\n    @e.deleter\n    def e(self):\n        pass\n"
        "def f(x: torch.Tensor):\n    return 1 / (x.abs() + C().e)\n"
    )
    assert proved(code, "import torch\n") != []


DIAMOND = (
    "class A:\n    def g(self, z):\n        return z.abs() + 1\nclass B(A):\n    {}\n"
    "class C(A):\n    def g(self, z):\n        return z\nclass D(B, C):\n    pass\n"
    "def f(x: torch.Tensor):\n    return 1 / D().g(x)\n"
)
OBJECT = f"{PLAIN}    def swap(self):\n        self.g = lambda z: z\n"
TOLD = "class A:\n    def __init__(self, **kept):\n        {}\n" + GUARDED
MODULE = "class A(nn.Module):\n    def forward(self, z):\n        return z.abs() + 1\n"
IN_ORDER = f"{MODULE}def f(x):\n    s = nn.Sequential(A(), A())\n    {{}}\n    return 1 / s(x)\n"
HEAD = "import torch\nfrom torch import nn\n"


@pytest.mark.parametrize(
    "code",
    [
        DIAMOND.format("pass"),
        DIAMOND.format("def g(self, z):\n        return super().g(z)"),
        f"{PLAIN}{MADE}def f(x):\n    c = C()\n    c.__class__ = D\n    return 1 / c.g(x)\n",
        f"{OBJECT}def f(x):\n    c = C()\n    c.swap()\n    return 1 / c.g(x)\n",
        f"{TOLD.format('self.__dict__.update(kept)')}def f(x):\n    return 1 / A(g=len).g(x)\n",
        f"{TOLD.format('vars(self).update(kept)')}def f(x):\n    return 1 / A(g=len).g(x)\n",
        f"{TOLD.format('for name in kept:' + chr(10) + '            setattr(self, name, kept[name])')}"
        "def f(x):\n    return 1 / A(g=len).g(x)\n",
        f"{MODULE}    def __call__(self, z):\n        return super().__call__(z) * 0\ndef f(x):\n    return 1 / A()(x)\n",
        IN_ORDER.format("s[1] = nn.Identity()"),
        IN_ORDER.format("s.insert(2, nn.Identity())"),
        "def g(z, e=1):\n    return z.abs() + e\ng.__defaults__ = (0,)\ndef f(x):\n    return 1 / g(x)\n",
        "def g(z):\n    return z.abs() + 1\ng.__code__ = len.__code__\ndef f(x):\n    return 1 / g(x)\n",
    ],
)
def test_what_stands_in_the_place_of_a_method_or_layer_proves_nothing(code: str) -> None:
    assert [
        one for one in proved(code, HEAD) if code.split("\n")[one[0] - 1].lstrip().startswith("return 1 /")
    ] == []


@pytest.mark.parametrize(
    "code",
    [
        DIAMOND.replace("return z\n", "return z.abs() + 2\n").format("pass"),
        f"{PLAIN}def f(x):\n    c = C()\n    c.count = 1\n    return 1 / c.g(x)\n",
        f"{TOLD.format('setattr(self, ' + repr('size') + ', 1)')}def f(x):\n    return 1 / A().g(x)\n",
        IN_ORDER.format("s.append(nn.Softplus())")
        .replace("A(), A()", "nn.ReLU()")
        .replace("s(x)", "(s(x) + 1)"),
    ],
)
def test_what_stays_proves(code: str) -> None:
    assert proved(code, HEAD) != []


def test_the_class_of_an_object_is_told_by_type() -> None:
    code = "class C:\n    e = 1\n    def g(self, x):\n        return 1 / (x.abs() + type(self).e)\n"
    assert [rule for _, rule in unmet(code, HEAD)] == ["SL102"]


@pytest.mark.parametrize(
    "classes",
    [
        f"# C.g = nothing\n{PLAIN}",
        f'"""setattr(C, "g", f), or C.g = f."""\n{PLAIN}',
        f"from dataclasses import dataclass\n@dataclass\n{PLAIN}",
    ],
)
def test_what_a_comment_says_replaces_no_method(classes: str, tmp_path: Path) -> None:
    assert statuses(tmp_path, classes) == [Status.DISCHARGED]


def test_a_decorator_of_another_package_may_replace_methods_whatever_its_name(tmp_path: Path) -> None:
    assert statuses(tmp_path, f"from elsewhere import dataclass\n@dataclass\n{PLAIN}") == [Status.ASSUMED]
