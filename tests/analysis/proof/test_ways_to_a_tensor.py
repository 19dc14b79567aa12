"""What is written into a tensor or an object, through whatever leads there: nothing of before is proved of it."""

from __future__ import annotations

import pytest

from tests.analysis.support import report, violated

TENSOR = "def f(x, y, flag):\n    v = x.abs() + 1\n    {}\n    return torch.log(v)"
WRITES = {
    "a bound method": "g = v.mul_\n    g(-1)",
    "one of several bound methods": "for g in [v.neg_]:\n        g()",
    "a bound method that is handed on": "list(map(v.mul_, [-1]))",
    "a method by its name": 'getattr(v, "mul_")(-1)',
    "a method by some name": "getattr(v, flag)(-1)",
    "the real part": "v.real.neg_()",
    "the largest by a key": "max([v, y], key=torch.sum).neg_()",
    "the largest of two by a key": "max(v, y, key=lambda t: t.sum()).neg_()",
    "either": "(v or y).neg_()",
    "either by another name": "w = y or v\n    w.neg_()",
    "both": "(flag and v).neg_()",
    "some entry": '{"a": v, "b": y}[flag].neg_()',
    "the rest of a tuple": "a, *rest = y, v\n    rest[0].neg_()",
    "what a pattern captures": "match (y, v):\n        case (a, b):\n            b.neg_()",
    "a named tuple": "P(v, y).a.neg_()",
    "a namespace": "p = SimpleNamespace(a=v)\n    p.a.neg_()",
    "a data class": "d = D(v)\n    d.t.neg_()",
    "a context": "with Z(v):\n        pass",
    "source that is run": 'exec("v.neg_()")',
    "source that is evaluated": 'eval("v.neg_()")',
}
HEAD = """\
from collections import namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

P = namedtuple("P", "a b")

@dataclass
class D:
    t: torch.Tensor

class Z:
    def __init__(self, t):
        self.t = t
    def __enter__(self):
        return self
    def __exit__(self, *a):
        self.t.neg_()

"""


def statuses(code: str) -> set[str]:
    found = report(HEAD + code)
    return {d.status.value for d in (*found.diagnostics, *found.discharged) if d.code in ("SL101", "SL102")}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_nothing_is_proved_of_a_tensor_that_was_written_into(write: str) -> None:
    found = statuses(TENSOR.format(write))
    assert found
    assert "discharged" not in found


@pytest.mark.parametrize(
    "write",
    ["g = y.mul_\n    g(-1)", "(y or x).neg_()", "a, *rest = v, y\n    rest[0].neg_()", "D(y).t.neg_()"],
)
def test_other_tensors_stay_proved(write: str) -> None:
    assert statuses(TENSOR.format(write)) == {"discharged"}


@pytest.mark.parametrize("write", ["cls.n = 0", "C.n = 0"])
def test_an_attribute_of_the_class_that_its_method_sets_is_not_believed(write: str) -> None:
    code = (
        f"class C:\n    n = 1\n    @classmethod\n    def reset(cls):\n        {write}\n"
        "    def f(self, x):\n        self.reset()\n        return x / self.n"
    )
    assert statuses(code) == {"unguarded"}


@pytest.mark.parametrize("run", ["model(x)", "self.run(x)", "model.solve(x)", "solve(model, x)"])
def test_a_counter_that_an_object_goes_on_from_is_not_zero(run: str) -> None:
    code = (
        "class A:\n    def run(self, x):\n        return self.model(x)\n"
        "    def f(self, x, solve):\n        model = self.model\n        model.n = 0\n"
        f"        y = {run}\n        return y / model.n"
    )
    assert statuses(code) == {"unguarded"}
    assert violated(HEAD + code) == []


def test_the_data_of_equal_tensors_are_not_one_tensor() -> None:
    code = "def f(x):\n    v = x.exp()\n    w = x.exp()\n    v.data.mul_(2)\n    w.data.mul_(0)\n    return 1 / v, 1 / w"
    assert "discharged" not in statuses(code)


def test_a_count_that_is_multiplied_by_zero_is_zero() -> None:
    assert violated("def f(x):\n    v = (x == x.max()).sum()\n    return 1 / (v * 0)") == [(3, "SL102")]
