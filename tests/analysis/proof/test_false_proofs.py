"""Mechanisms that looked like proofs, on code that the engine was not written for, and are none."""

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from tests.analysis.support import CATALOG, IMPORTS, report

OPEN = {"unguarded", "violated"}


def statuses(code: str, rules: frozenset[str]) -> set[str]:
    found = report(code)
    return {d.status.value for d in (*found.diagnostics, *found.discharged) if d.code in rules}


LOGS = frozenset({"SL101", "SL204"})
QUOTIENTS = frozenset({"SL102", "SL206"})
ROOTS = frozenset({"SL103"})
FALSE = {
    "a uniform draw is 0, and so the end of a function that is infinite there": (
        "def f(n):\n    return torch.erfinv(2 * torch.rand(n) - 1)",
        frozenset({"SL104"}),
    ),
    "numbers that are drawn from 0 on, of some size": (
        "def f(n):\n    return 1 / torch.randint(5, (n,))",
        QUOTIENTS,
    ),
    "a fraction that is made whole": (
        "def f(x, a: float):\n    if a > 0:\n        return x / int(a)",
        QUOTIENTS,
    ),
    "a fraction that was made whole before it was tested": (
        "def f(x, a: float):\n    n = round(a)\n    if a > 0:\n        return x / n",
        QUOTIENTS,
    ),
    "a maximum over everything, a sum over rows": (
        "def f(x):\n    return torch.log(torch.sum(torch.exp(x - x.max()), 1))",
        LOGS,
    ),
    "a maximum over columns, a sum over rows": (
        "def f(x):\n    e = (x - x.max(0, keepdim=True)[0]).exp()\n    return e / e.sum(1, keepdim=True)",
        QUOTIENTS,
    ),
    "a weight beside the largest exponential": (
        "def f(x, w):\n"
        "    e = torch.exp(x - x.amax(1, keepdim=True)) * torch.sigmoid(w)\n"
        "    return torch.log(e.sum(1))",
        LOGS,
    ),
    "a maximum that was raised": (
        "def f(x):\n"
        "    m = x.amax(1, keepdim=True).clamp(min=0)\n"
        "    return torch.log(torch.exp(x - m).sum(1))",
        LOGS,
    ),
    "classes of which no sample is": (
        "def f(y):\n    return 1 / F.one_hot(y).sum(0)",
        QUOTIENTS,
    ),
    "a class's rows, summed over the batch": (
        "def f(a):\n    a = torch.sigmoid(a) + torch.eye(3)\n    return 1 / (a - 0.5).relu().sum(0)",
        QUOTIENTS,
    ),
    "NaN is replaced and inf is not": (
        "def f(x, y):\n    r = x / y\n    r[torch.isnan(r)] = 0\n    return r",
        QUOTIENTS,
    ),
    "inf is replaced and NaN is not": (
        "def f(w, i, n):\n"
        "    deg = torch.zeros(n).scatter_add_(0, i, w)\n"
        "    d = deg.pow(-0.5)\n"
        "    d[d == float('inf')] = 0\n"
        "    return d",
        ROOTS,
    ),
    "a guard whose square is 0": (
        "def f(x):\n    return 1 / (x.norm() + 1e-20)",
        QUOTIENTS,
    ),
    "a guard that is lost beside 1": (
        "def f(x):\n    return torch.log(1 + 1e-10 - torch.sigmoid(x))",
        LOGS,
    ),
    "a guard that float32 has not": (
        "def f(x):\n    return torch.log(F.relu(x) + 1e-50)",
        LOGS,
    ),
    "a clamp undone through a view": (
        "def f(x):\n    n = x.clamp(min=1e-6)\n    n.view(-1).sub_(1.)\n    return torch.log(n)",
        LOGS,
    ),
    "a mask of some length, none of which need be true": (
        "def f(x, mask):\n    m = mask > 0\n    if m.numel() > 0:\n        return x / m.sum()",
        QUOTIENTS,
    ),
    "the parameters of what is called with constants": (
        "def f(net):\n    return net(torch.ones(3)).clamp(min=0).sqrt()",
        ROOTS,
    ),
    "the parameters of a layer": (
        "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.table = nn.Embedding(3, 4)\n\n"
        "    def f(self):\n        return self.table.weight[torch.arange(3)].clamp(min=0).sqrt()",
        ROOTS,
    ),
    "the parameters of a function that nobody shows": (
        "def f():\n    return helper(torch.ones(3)).clamp(min=0).sqrt()",
        ROOTS,
    ),
    **{
        f"what is written into a row, by `{rows}`": (
            f"def f(x):\n    y = x.abs() + 1\n    {rows}[0].zero_()\n    return 1 / y",
            QUOTIENTS,
        )
        for rows in (
            "list(y)",
            "[*y]",
            "sorted(y, key=torch.sum)",
            "[min(y, key=torch.sum)]",
            "([] + list(y))",
        )
    },
    "a target that was tested, as often as there are elements of what a mask leaves": (
        "def f(x, m, y):\n    if y.size(0) == 0:\n        return x.sum()\n    x = x[m > 0]\n"
        "    return F.mse_loss(x, y.unsqueeze(-1).repeat(1, x.shape[0]))",
        frozenset({"SL502"}),
    ),
    "what is written into a row of a list that has grown": (
        "def f(x):\n    y = x.abs() + 1\n    rows = []\n    rows.extend(y)\n    rows[0].zero_()\n    return 1 / y",
        QUOTIENTS,
    ),
    "a function that changes its argument and returns it": (
        "def _clear(t):\n    t.zero_()\n    return t\n\n"
        "def f(y):\n    x = torch.ones(3)\n    z = _clear(x)\n    return y / x",
        QUOTIENTS,
    ),
    "a nested function that changes what stands around it": (
        "def f(y):\n    x = torch.ones(3)\n    def clear():\n        x.zero_()\n    clear()\n    return y / x",
        QUOTIENTS,
    ),
    "a test of what is made of the operand and of much else": (
        "def f(n, z, w):\n    m = n.relu()\n    z = z - m.sqrt() * w\n    u = z / m\n"
        "    return u.masked_fill(z.abs() <= 1, 0)",
        QUOTIENTS,
    ),
    "a number of Python's, of whose steps NaN is replaced": (
        "def f(x, bins: int):\n    n = bins - 1\n    step = 1.0 / n\n"
        "    return torch.nan_to_num(torch.linspace(0, step, 5) * x)",
        QUOTIENTS,
    ),
    "a quotient that float16 does not hold": (
        "@torch.no_grad()\ndef f(x):\n    return 1 / x.half().clamp(min=1e-6)",
        QUOTIENTS,
    ),
    "numbers of a default type that cannot hold them": (
        "torch.set_default_dtype(torch.float16)\ndef f(n):\n    return 1 / torch.full((n,), 1e-9)",
        QUOTIENTS,
    ),
    "windows that reach into a border of zeros": (
        "def f(x):\n    return 1 / F.unfold(x.abs() + 1, 3, padding=1)",
        QUOTIENTS,
    ),
    "means of windows that reach into a border of zeros": (
        "def f(x, n):\n    return 1 / (F.avg_pool2d(x.clamp(min=1), 3, 1, n) - 0.5)",
        QUOTIENTS,
    ),
    "all but one of the places that are bad": (
        "def f(x):\n    x[torch.nonzero(x <= 0)[0]] = 1\n    return torch.log(x)",
        LOGS,
    ),
    "the sum of rows of a selection that was copied": (
        "def f(x):\n    v = x[x > 1e-6].contiguous().abs()\n    return torch.log(v.sum(-1))",
        LOGS,
    ),
    "products at places": (
        'def f(x, i):\n    return 1 / torch.ones(5).scatter_reduce(0, i, x.sigmoid(), "prod")',
        QUOTIENTS,
    ),
    "means at places": (
        'def f(x, i):\n    return 1 / (torch.ones(5).scatter_reduce(0, i, x.sigmoid(), "mean") - 0.9)',
        QUOTIENTS,
    ),
    "what is taken away at places": (
        "def f(x, i):\n    return 1 / torch.ones(5).index_add(0, i, x.abs() + 1, alpha=-1)",
        QUOTIENTS,
    ),
    "what is scaled at places": (
        'def f(x, i):\n    return 1 / torch.ones(5).scatter(0, i, 0.5, reduce="multiply")',
        QUOTIENTS,
    ),
    "a mapping that another one overrides": (
        'def f(x, options):\n    return x / ({"n": 1} | options)["n"]',
        QUOTIENTS,
    ),
    "a quotient that is cut to a whole number": (
        'def f(x):\n    return 1 / torch.div(x.abs() + 1, 2, rounding_mode="floor")',
        QUOTIENTS,
    ),
    "a distance to the maximum, beside a bound that nobody knows": (
        "def f(x, t):\n    return 1 / torch.sum(x - x.max() > -1 / (1 - t))",
        QUOTIENTS,
    ),
}


@pytest.mark.parametrize(("code", "rules"), FALSE.values(), ids=FALSE)
def test_no_proof(code: str, rules: frozenset[str]) -> None:
    found = statuses(code, rules)
    assert found
    assert found & OPEN


TRUE = {
    "a maximum and a sum over rows": (
        "def f(x):\n    e = (x - x.max(1, keepdim=True)[0]).exp()\n    return e / e.sum(1, keepdim=True)",
        QUOTIENTS,
    ),
    "a maximum and a sum over everything": (
        "def f(x):\n    e = torch.exp(x - x.max())\n    return e / e.sum()",
        QUOTIENTS,
    ),
    "a maximum over rows, a sum over everything": (
        "def f(x):\n    return torch.log(torch.exp(x - x.amax(-1, keepdim=True)).sum())",
        LOGS,
    ),
    "an infinite inverse root of a count": (
        "def f(i):\n    d = torch.bincount(i).float().pow(-0.5)\n    d[d == float('inf')] = 0\n    return d",
        ROOTS,
    ),
    "NaN where the mask of both sums is empty": (
        "@torch.no_grad()\n"
        "def f(x, y):\n"
        "    m = (y > 0).float()\n"
        "    r = (x * m).sum(1) / m.sum(1)\n"
        "    r[torch.isnan(r)] = 0\n"
        "    return r",
        QUOTIENTS,
    ),
    "a quotient that float16 holds": (
        "@torch.no_grad()\ndef f(x):\n    return 1 / x.half().clamp(min=1e-3)",
        QUOTIENTS,
    ),
    "windows that lie within": (
        "def f(x):\n    return 1 / F.unfold(x.abs() + 1, 3)",
        QUOTIENTS,
    ),
    "means of windows that each hold an element": (
        "def f(x):\n    return torch.log(F.avg_pool2d(x.clamp(min=1), 3, padding=1))",
        LOGS,
    ),
    "the places at which a test holds": (
        "def f(x):\n    return torch.log(x[torch.nonzero(x > 0, as_tuple=True)])",
        LOGS,
    ),
    "whatever is not finite": (
        "@torch.no_grad()\ndef f(x, y):\n    r = x / y\n    r[~torch.isfinite(r)] = 0\n    return r",
        QUOTIENTS,
    ),
}


@pytest.mark.parametrize(("code", "rules"), TRUE.values(), ids=TRUE)
def test_a_proof(code: str, rules: frozenset[str]) -> None:
    assert statuses(code, rules) == {"discharged"}


@pytest.mark.parametrize("places", ["torch.nonzero(x > 0)", "(x > 0).nonzero(as_tuple=True)[0]"])
def test_places_are_assumed_to_be_those_of_one_dimension(places: str) -> None:
    assert statuses(f"def f(x):\n    return torch.log(x[{places}])", LOGS) == {"assumed"}


@pytest.mark.parametrize("count", ["len(xs)", "len(set(xs))", "x.size(0)", "x.shape[1]", "x.numel()"])
def test_that_there_is_something_is_assumed(count: str) -> None:
    found = report(f"def f(x: torch.Tensor, xs):\n    return x / {count}")
    assert [(d.status.value, bool(d.assumes)) for d in found.discharged] == [("assumed", True)]


def test_what_a_script_passes_to_a_public_function_is_assumed() -> None:
    code = "def scale(x, n):\n    return torch.sqrt(x.abs() + n)\n\nprint(scale(torch.randn(3), 0.1))"
    assert statuses(code, ROOTS) == {"assumed"}


def test_a_script_that_does_not_train_through_a_function_proves_nothing_of_who_may() -> None:
    code = (
        "def size(x):\n    return torch.sqrt((x - 1).pow(2).sum(1))\n\n"
        "with torch.no_grad():\n    print(size(torch.randn(3, 3)))"
    )
    assert statuses(code, ROOTS | {"SL105"}) & OPEN


def test_a_column_of_what_may_be_a_batch_of_matrices_is_assumed_not_to_vanish() -> None:
    code = "def f(x):\n    a = x.relu() + torch.eye(3)\n    return x / a.sum(0)"
    assert statuses(code, QUOTIENTS) == {"assumed"}


@pytest.mark.parametrize("guard", ["mask.float().sum() > 0", "mask.any()", "mask.bool().sum() > 0"])
def test_a_true_element_is_one_in_every_dtype(guard: str) -> None:
    code = f"def f(x, mask):\n    if {guard}:\n        return x[mask.bool()].mean()"
    assert not statuses(code, frozenset({"SL502"})) & OPEN


def test_what_a_callee_writes_is_a_guard_for_the_caller() -> None:
    code = (
        "def _raise(t):\n    t.clamp_(min=1.0)\n\ndef f(x: torch.Tensor, y):\n    _raise(x)\n    return y / x"
    )
    assert statuses(code, QUOTIENTS) == {"discharged"}


def test_a_test_proves_that_there_is_something() -> None:
    code = "def f(x, xs):\n    if not len(xs):\n        return x\n    return x / len(xs)"
    assert statuses(code, QUOTIENTS) == {"discharged"}


def test_callers_in_sight_do_not_tell_that_nobody_trains_through_a_public_function(tmp_path: Path) -> None:
    code = "def root(x):\n    return torch.sqrt((x**2).sum(-1))\n\n@torch.no_grad()\ndef f(x):\n    return root(x)\n"
    path = tmp_path / "package" / "sizes.py"
    path.parent.mkdir()
    (path.parent / "__init__.py").touch()
    found = check_source((IMPORTS + code).encode(), str(path), CATALOG, AnalysisOptions(root=tmp_path))
    assert {d.code for d in found.diagnostics} & {"SL103", "SL105"}
