"""What is called for a function, however its class or a decorator keeps it."""

import ast
import importlib
from pathlib import Path
from types import ModuleType

import pytest

from stablelint.runtime.verify.witness.objects import Maker, parameters_of
from stablelint.runtime.verify.witness.project import Project
from stablelint.runtime.verify.witness.subject import Subject, UnmadeError, around, subjects
from stablelint.runtime.verify.witness.uses import uses_of


def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **texts: str) -> dict[str, ModuleType]:
    """Modules of these texts."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    return {name: importlib.import_module(name) for name in texts}


def subject(module: ModuleType, wanted: str) -> Subject:
    """The first way to call the function that `wanted` stands in."""
    text = Path(str(module.__file__)).read_text()
    row = next(number for number, line in enumerate(text.splitlines(), 1) if wanted in line)
    place = around(ast.parse(text), row)
    assert place is not None
    return next(subjects(place, module, Maker(vars(module), Project({str(module.__file__): text}))))


@pytest.mark.parametrize(
    "decorator", ["property", "functools.cached_property", "torch.distributions.utils.lazy_property"]
)
def test_a_property_is_called_on_its_object(
    decorator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"properties_{decorator.replace('.', '_')}"
    text = f"import functools, torch\nclass A:\n    @{decorator}\n    def root(self):\n        return 2.0\n"
    found = subject(loaded(tmp_path, monkeypatch, **{name: text})[name], "return 2.0")
    assert found.owner is not None
    assert found.function(found.owner()) == 2.0


def test_a_function_is_found_in_the_closure_that_hides_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "def twice(f):\n    def both(x):\n        return f(x) + f(x)\n    return both\n"
        "@twice\ndef root(x):\n    return x ** 0.5\n"
    )
    module = loaded(tmp_path, monkeypatch, hidden_root=text)["hidden_root"]
    assert subject(module, "** 0.5").function(4.0) == 2.0


def test_what_another_function_has_replaced_is_not_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def root(x):\n    return x ** 0.5\ndef root(x):\n    return x\n"
    module = loaded(tmp_path, monkeypatch, replaced_root=text)["replaced_root"]
    with pytest.raises(UnmadeError):
        subject(module, "** 0.5")


def test_a_method_of_an_abstract_class_is_called_on_what_another_module_derives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = (
        "import abc\nclass Base(abc.ABC):\n    @abc.abstractmethod\n    def scale(self): ...\n"
        "    def root(self, x):\n        return (x * self.scale()) ** 0.5\n"
    )
    derived = "from abstract_base import Base\nclass Own(Base):\n    def scale(self):\n        return 1.0\n"
    module = loaded(tmp_path, monkeypatch, abstract_base=base, derived_own=derived)["abstract_base"]
    found = subject(module, "** 0.5")
    assert found.owner is not None
    assert found.function(found.owner(), 4.0) == 2.0
    assert eval(found.head.removesuffix(".root"))


def test_the_forward_of_an_autograd_function_is_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "import torch\nclass Root(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n        return x.sqrt() if ctx.needs_input_grad[0] else x\n"
    )
    found = subject(loaded(tmp_path, monkeypatch, applied_root=text)["applied_root"], "sqrt")
    assert (found.head, list(uses_of(found.node, found.takes_self))) == ("Root.apply", ["x"])


def test_a_constructor_is_given_what_it_hands_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "from dataclasses import dataclass\n"
        "class Base:\n    def __init__(self, size: int, rate: float, depth: int, scale: float = 1.0):\n"
        "        self.size = size\n"
        "class Own(Base):\n    def __init__(self, name: str, **kwargs):\n"
        "        super().__init__(3, depth=2, **kwargs)\n"
        "@dataclass\nclass Settings:\n    rate: float\n"
        "@dataclass\nclass More(Settings):\n    depth: int\n"
    )
    module = loaded(tmp_path, monkeypatch, handed_on=text)["handed_on"]
    assert {name: uses.keyword for name, uses in parameters_of(module.Own).items()} == {
        "name": False,
        "rate": True,
    }
    assert list(parameters_of(module.More)) == ["rate", "depth"]
    assert Maker(vars(module), Project({})).first(module.Own) == ["'mean', rate=0.5"]
