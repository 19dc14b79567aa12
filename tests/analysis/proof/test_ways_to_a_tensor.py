"""What is written into a tensor or an object, through whatever leads there: nothing of before is proved of it."""

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
    "further arguments": "first(v, y)",
    "further named arguments": "out(y, out=v)",
    "a list that is passed": "listed([y, v])",
    "a mapping that is passed": 'out(y, **{"out": v})',
    "two views in turn": "w = v.view(-1)\n    w.pow_(2)\n    v.add_(1)\n    w.neg_()",
    "one of two tensors, twice": "w = v if flag else y\n    w.neg_()\n    v.abs_()\n    w.neg_()",
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

def first(*tensors):
    tensors[0].neg_()

def out(x, **options):
    options["out"].neg_()

def listed(tensors):
    tensors[-1].neg_()

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


@pytest.mark.parametrize("first", ["1", "torch.ones(3)"])
@pytest.mark.parametrize("write", ["cls.n = 0", "C.n = 0"])
def test_an_attribute_of_the_class_that_its_method_sets_is_not_believed(write: str, first: str) -> None:
    code = (
        f"class C:\n    n = {first}\n    @classmethod\n    def reset(cls):\n        {write}\n"
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


@pytest.mark.parametrize("call", ["tensors.append(x)", "print(tensors)"])
def test_a_list_that_is_read_or_grows_leaves_what_it_holds(call: str) -> None:
    code = f"def f(x):\n    v = x.abs() + 1\n    g([v], x)\n    return torch.log(v)\n\ndef g(tensors, x):\n    {call}"
    assert statuses(code) == {"discharged"}


def test_what_a_mask_selects_is_a_copy() -> None:
    assert statuses("def f(x):\n    x[x == 0].fill_(1)\n    return 1 / x") == {"unguarded"}


def test_no_element_needs_to_reach_a_mean_that_is_rounded() -> None:
    assert statuses("def f(x):\n    return 1 / (x >= x.mean()).sum()") == {"assumed"}


def test_objects_that_make_each_other_have_an_end() -> None:
    code = (
        "class A:\n    def __init__(self, x):\n        self.b = B(x)\n"
        "class B:\n    def __init__(self, x):\n        self.a = A(x)\n"
        "def f(x, g):\n    a, y = A(x), x.clamp(min=1)\n    g(a).mul_(0)\n    return torch.log(y)"
    )
    assert statuses(code) == {"discharged"}
