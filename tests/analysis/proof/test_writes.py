"""What is written in place, scaled or marked: no more is believed of it than what is true of every element."""

import pytest

from tests.analysis.support import findings, report, unmet

HEAD = "import torch\n\n\ndef f(x: torch.Tensor, index):\n"


@pytest.mark.parametrize(
    "body",
    [
        "a = x.abs()\n    b = x.abs()\n    a.fill_(1)\n    return 1 / b",
        "return 1 / torch.zeros(3, 4).scatter(1, index, 1.0)",
        "return 1 / (x == x)",
        "return 1 / torch.add(torch.ones(3), torch.ones(3), alpha=-1)",
        "w = x > 0\n    w.fill_(2)\n    return 1 / (w - 1)",
        "v = x.int()\n    v[v > -1] = 0.1\n    return 1 / (v + 2)",
    ],
)
def test_what_may_be_zero_is_told(body: str) -> None:
    assert [one.code for one in findings(f"{HEAD}    {body}\n")] == ["SL102"]


def test_equal_tensors_are_not_one_tensor() -> None:
    body = "a = x.exp()\n    b = x.exp()\n    a.zero_()\n    return torch.log(1.5 - b)"
    assert [one.code for one in findings(f"{HEAD}    {body}\n")][-1:] == ["SL101"]


def test_what_a_nested_function_writes_into_makes_no_two_tensors_one() -> None:
    body = (
        "a = x.abs() + 1\n    def halve(t):\n        t.mul_(-0.5)\n"
        "    b = x.abs() + 1\n    halve(b)\n    a.relu_()\n    return 1 / (b + 1)"
    )
    assert [one.code for one in findings(f"{HEAD}    {body}\n")] == ["SL102"]


def test_a_row_with_a_mark_counts_at_least_one() -> None:
    assert findings(f"{HEAD}    return 1 / torch.zeros(3, 4).scatter(1, index, 1.0).sum(1)\n") == []


@pytest.mark.parametrize(
    "write",
    ["w = z\n        w += 0.5", "w = z.view(-1)\n        w.add_(0.5)"],
)
@pytest.mark.parametrize("zeros", ["torch.zeros(3)", "index - index"])
def test_a_function_writes_into_its_argument_by_another_name(write: str, zeros: str) -> None:
    body = f"v = {zeros}\n    def g(z):\n        {write}\n    g(v)\n    return torch.atanh(v * 2)"
    assert [one.code for one in findings(f"{HEAD}    {body}\n")] == ["SL104"]


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("torch.atanh((x == x.max()).sum())", "SL104"),
        ("1 / torch.zeros(3, 4).scatter(1, index, 1.0).mean(0)", "SL102"),
        ("1 / torch.bincount(index).scatter(0, index, 0.5).sum(0)", "SL102"),
        ("torch.log(x[x > 0.5].sum(-1))", "SL101"),
        ("1 / (x ** -0.5).sign()", "SL102"),
    ],
)
def test_a_count_is_at_least_one_and_no_more(expression: str, code: str) -> None:
    assert code in [one.code for one in findings(f"{HEAD}    return {expression}\n")]


@pytest.mark.parametrize(
    "take",
    [
        "w = [v].pop()",
        "xs = [v, x]\n    w = xs[index]",
        "xs = [v]\n    xs += [x]\n    w = xs.pop(0)",
        'w = {"a": v}.get("a")',
        'd = {"a": v}\n    w = d.pop("a")',
        "w = next(iter([v]))",
        'for _, w in {"a": v}.items():\n        w.fill_(0)',
        "for w in reversed([x, v]):\n        w.fill_(0)",
    ],
)
def test_what_is_taken_out_of_a_container_may_be_what_was_put_in(take: str) -> None:
    body = f"v = x.abs() + 1\n    {take}\n    w.fill_(0)\n    return torch.log(v)"
    assert "SL101" in [one.code for one in findings(f"{HEAD}    {body}\n")]


def test_a_scatter_of_another_package_writes_into_nothing_that_is_given() -> None:
    code = "from torch_scatter import scatter_add\n\n\ndef f(x, index):\n    return 1 / scatter_add(x.exp(), index, dim=0)\n"
    assert "SL102" in [one.code for one in findings(code)]


HELPER = "def h(z):\n    z.mul_(-1)\n\n\n"


@pytest.mark.parametrize(
    "helper",
    [
        "def g(z):\n    h(z)\n",
        "def g(z):\n    h(z)\n    return z.abs() + 1\n",
        "def g(*zs):\n    return i(*zs)\n\n\ndef i(z):\n    h(z.view(-1))\n",
        "def g(z):\n    i([z])\n\n\ndef i(zs):\n    for z in zs:\n        h(z)\n",
        "def g(z):\n    list(map(lambda w: w.neg_(), [z]))\n",
        "def g(z):\n    def i(w):\n        w.neg_()\n    i(z)\n    return 1\n",
        "def g(z):\n    return i(z, 3)\n\n\ndef i(z, n):\n    h(z)\n    return g(z) if n else z\n",
        "class A:\n    def step(self, z):\n        h(z)\n\n\nclass B(A):\n    def step(self, z):\n"
        "        super().step(z)\n        return 1\n\n\ndef g(z):\n    B().step(z)\n",
        "class A:\n    def __init__(self, z):\n        self.z = z\n    def go(self):\n        h(self.z)\n\n\n"
        "def g(z):\n    A(z).go()\n",
    ],
)
def test_a_helper_of_a_helper_writes_into_what_it_is_handed(helper: str) -> None:
    code = f"{HELPER}{helper}\n\ndef f(x: torch.Tensor):\n    v = x.abs() + 1\n    g(v)\n    return torch.log(v)\n"
    assert "SL101" in [one.code for one in findings(code)]


def test_a_helper_in_a_loop_writes_for_the_next_turn() -> None:
    body = "v = x.abs() + 1\n    for i in range(3):\n        r = torch.log(v)\n        h(v)\n    return r"
    assert "SL101" in [one.code for one in findings(f"{HELPER}def f(x: torch.Tensor):\n    {body}\n")]


def test_a_helper_of_a_helper_leaves_what_it_does_not_write_into() -> None:
    code = f"{HELPER}def g(z, w):\n    h(z)\n    return w\n\n\ndef f(x: torch.Tensor):\n    v = x.abs() + 1\n"
    assert unmet(f"{code}    g(x.clone(), v)\n    return torch.log(v)\n") == []


@pytest.mark.parametrize("left", ["return z", "return z.view(-1)"])
def test_a_finally_writes_into_what_is_returned(left: str) -> None:
    code = f"def g(z):\n    try:\n        {left}\n    finally:\n        z.mul_(-1)\n\n\n"
    call = "def f(x: torch.Tensor):\n    return torch.log(g(x.abs() + 1))\n"
    assert "SL101" in [one.code for one in findings(code + call)]


def test_a_method_of_a_base_that_is_not_seen_may_write_into_what_it_is_handed() -> None:
    code = (
        "from package import Base\n\n\nclass A(Base):\n    def step(self, z):\n        super().step(z)\n        return 1\n"
        "\n\ndef f(x: torch.Tensor):\n    v = x.abs() + 1\n    A().step(v)\n    return torch.log(v)\n"
    )
    assert ("SL101", "discharged") not in [(d.code, d.status.value) for d in report(code).discharged]


def test_what_stands_in_for_nan_has_no_say_in_the_type() -> None:
    body = "v = torch.nan_to_num(x.half(), 2, index, 2)\n    v.fill_(1e-6)\n    return 1 / v"
    assert [one.code for one in findings(f"{HEAD}    {body}\n")] == ["SL102"]
