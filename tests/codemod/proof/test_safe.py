import pytest
import torch

from tests.codemod.differential.tried import fixed

SUMMED = """import torch


def f(a, b):
    a = a.float()
    first = torch.exp(a)
    {}
    return torch.log(first + torch.exp(b))
"""


@pytest.mark.parametrize("between", ["b = b + 1", "b = a * 2"])
def test_what_stands_where_the_rewrite_does_may_have_been_given_another_value(between: str) -> None:
    assert "torch.logaddexp(a, b)" in fixed(SUMMED.format(between), unsafe=True)[0]


@pytest.mark.parametrize("between", ["a = a + 1", "a[0] = 1"])
def test_what_the_rewrite_computes_later_must_keep_its_value(between: str) -> None:
    assert "logaddexp" not in fixed(SUMMED.format(between), unsafe=True)[0]


@pytest.mark.parametrize(("region", "is_safe"), [("torch.no_grad()", True), ("region()", False)])
def test_where_no_gradient_is_recorded_no_operand_changes(region: str, is_safe: bool) -> None:
    source = (
        "import torch\n\n\ndef f(x: torch.Tensor, region):\n    x = x.float()\n    ratio = torch.exp(x)\n"
        f"    with {region}:\n        print((ratio - 1).mean())\n    print(ratio * 2)\n"
    )
    assert ("torch.expm1(x)" in fixed(source, unsafe=False)[0]) is is_safe


@pytest.mark.parametrize("wait", ["await x", "yield from x"])
def test_what_is_waited_for_is_not_what_comes_back(wait: str) -> None:
    kind = "async def" if "await" in wait else "def"
    source = f"import torch\n\n\n{kind} f(x):\n    p = torch.log(torch.sigmoid(({wait})))\n    print(p)\n"
    assert f"torch.sigmoid(({wait}))" in fixed(source, unsafe=True)[0]


def test_what_a_context_gives_is_not_the_context() -> None:
    source = (
        "import torch\n\n\ndef f(held):\n    with held as x:\n        return torch.log(torch.sigmoid(x))\n"
    )
    assert "logsigmoid(x)" in fixed(source, unsafe=True)[0]


def test_a_loss_that_is_made_where_it_is_called_is_that_loss() -> None:
    source = (
        "import torch\n\n\ndef f(x, y):\n    p = torch.log_softmax(x, dim=-1)\n"
        "    return torch.nn.CrossEntropyLoss()(p, y)\n"
    )
    assert "torch.nn.CrossEntropyLoss()(x, y)" in fixed(source, unsafe=True)[0]


WRITTEN = """import torch
import torch.nn.functional as F


class Model:
    def step(self):
        self.x = self.x * 0.5

    def f(self, x):
        x = x * 1
        q = x.view(-1)
        xs = [x]
        self.x = x
        p = torch.softmax({}, dim=-1)
        {}
        return torch.log(p)
"""


@pytest.mark.parametrize(
    ("operand", "between"),
    [
        ("x", "x.mul_(0.5)"),
        ("x", "q.mul_(0.5)"),
        ("x", "x.data.mul_(0.5)"),
        ("x", "x[..., 0] = 0.5"),
        ("x", "xs[0].mul_(0.5)"),
        ("x", "self.x.mul_(0.5)"),
        ("x", "q += 1"),
        ("xs[0]", "xs[0] += 1"),
    ],
)
def test_an_operand_that_is_written_into_gets_no_name_for_what_it_held(operand: str, between: str) -> None:
    assert "log_softmax" not in fixed(WRITTEN.format(operand, between), unsafe=True)[0]


@pytest.mark.parametrize(
    ("operand", "between"),
    [
        ("x", "x, q = q, x"),
        ("xs[0]", "xs[0] = x * 0.5"),
        ("self.x", "self.x = x * 0.5"),
        ("x", "other = x * 1"),
    ],
)
def test_an_operand_that_is_given_anew_is_named_for_what_it_was(operand: str, between: str) -> None:
    assert "log_softmax" in fixed(WRITTEN.format(operand, between), unsafe=True)[0]


def test_a_loss_that_takes_more_than_the_models_result_gets_no_logits() -> None:
    source = (
        "import torch\n\n\ndef f(w):\n    w = w * 1\n    p = 1 - torch.sigmoid(w)\n    w.mul_(0.5)\n"
        "    return torch.log(p)\n"
    )
    assert "logsigmoid" not in fixed(source, unsafe=True)[0]


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("def f(x, d=-1):\n    return torch.log(torch.exp(x).sum(d))", False),
        ("def f(x, d: int = -1):\n    return torch.log(torch.exp(x).sum(d))", True),
        ("def f(x):\n    return torch.log(torch.exp(x).sum(x.dim() - 1))", True),
        ("def f(x):\n    return torch.log(torch.exp(x).sum((0, 1)))", True),
    ],
)
def test_a_dimension_that_may_be_none_is_not_handed_to_what_wants_one(text: str, safe: bool) -> None:
    source = f"import torch\n\n\n{text}\n"
    assert ("logsumexp" in fixed(source)[0]) is safe
    assert "logsumexp" in fixed(source, unsafe=True)[0]


def test_a_dimension_is_written_as_the_number_that_it_was() -> None:
    source = (
        "import torch\n\n\ndef f(x):\n    d = 0\n    p = torch.softmax(x, dim=d)\n    d = 1\n"
        "    return torch.log(p)\n"
    )
    assert "dim=d)\n" not in fixed(source)[0].replace("p = torch.softmax(x, dim=d)\n", "")


def test_what_a_call_hands_on_is_not_lost() -> None:
    source = "import torch\n\n\ndef f(x, **more):\n    return torch.log(torch.softmax(x, dim=-1, **more))\n"
    assert fixed(source, unsafe=True)[0] == source


@pytest.mark.parametrize("body", ["class K:\n    p = {}\n    r = {}\n", "p = {}\nr = {}\n"])
def test_a_name_of_a_class_or_a_file_stays_for_others(body: str) -> None:
    given = body.format("torch.softmax(w, dim=-1)", "torch.log(p)")
    source = f"import torch\n\nw = torch.ones(3, requires_grad=True)\n{given}"
    assert fixed(source)[0] == source
    assert "p = torch.softmax(w, dim=-1)" in fixed(source, unsafe=True)[0]


def test_a_function_stays_one_where_the_method_takes_less() -> None:
    source = (
        "import torch.nn.functional as F\n\n\ndef f(x, dim=None):\n    return F.softmax(x, dim=dim).log()\n"
    )
    assert "return F.log_softmax(x, dim=dim)" in fixed(source)[0]


@pytest.mark.parametrize(
    ("dim", "is_safe"), [("z, dim=1", True), ("z, 1", True), ("z, dim=-1", False), ("z", False)]
)
def test_a_rewrite_for_one_dimension_is_not_safe_where_none_is_given(dim: str, is_safe: bool) -> None:
    loss = f"F.cross_entropy(F.log_softmax({dim}), y)"
    source = f"import torch.nn.functional as F\n\n\ndef f(z, y):\n    return {loss}\n"
    assert (loss not in fixed(source)[0]) is is_safe


@pytest.mark.parametrize(
    ("between", "is_safe"),
    [
        ("n = helper.norm(x)", False),
        ("n = helper.exp().norm(x)", False),
        ("n = helper.weight.norm(x)", False),
        ("n = x.mul(helper)", True),
        ("n = torch.exp(helper).mul(x)", True),
        ("m = helper * 2; n = helper.mul(x)", True),
        ("m = helper[0] - 1; n = m.mul(x)", True),
        ("n = helper.norm()", True),
    ],
)
def test_a_method_of_what_nothing_shows_to_be_a_tensor_may_change_what_it_is_given(
    between: str, is_safe: bool
) -> None:
    source = (
        "import torch\n\n\ndef f(x, helper):\n    x = x.float()\n    s = torch.softmax(x, dim=-1)\n"
        f"    {between}\n    return torch.log(s) + n\n"
    )
    assert ("log_softmax(x, dim=-1)" in fixed(source)[0]) is is_safe
    assert "log_softmax(x, dim=-1)" in fixed(source, unsafe=True)[0]


@pytest.mark.parametrize(("call", "is_safe"), [("torch.vmap(g)(z)", False), ("g(z)", True)])
def test_a_softmax_that_is_mapped_stays_as_autocast_computes_it(call: str, is_safe: bool) -> None:
    source = (
        "import torch\n\n\ndef g(z):\n    z = z.float()\n    return torch.log(torch.softmax(z, dim=-1))\n\n\n"
        f"def f(z):\n    return {call}\n"
    )
    assert ("log_softmax" in fixed(source)[0]) is is_safe


@pytest.mark.parametrize(
    ("made", "behind"),
    [
        ("torch.softmax(z, -1)", "p.retain_grad()"),
        ("torch.softmax(z, -1)", "p.register_hook(print)"),
        ("torch.softmax(z, -1)", "g = torch.autograd.grad(z.sum(), p)"),
        ("torch.softmax(z[0], -1)", "z[0] = 1"),
        ("torch.softmax(self.z, -1)", "self.step()"),
    ],
)
def test_what_is_refuted_is_no_unsafe_fix_either(made: str, behind: str) -> None:
    step = "    def step(self):\n        self.z = self.z * 2\n\n"
    body = f"        p = {made}\n        {behind}\n        return torch.log(p)\n"
    source = f"import torch\n\n\nclass Model:\n{step}    def f(self, z):\n{body}"
    assert fixed(source, unsafe=True)[0] == source


@pytest.mark.parametrize(
    ("head", "is_safe"),
    [
        ("def f(x: torch.Tensor):\n    return ", False),
        ("@torch.no_grad()\ndef f(x: torch.Tensor):\n    return ", True),
        ("@torch.no_grad()\ndef f():\n    def g(x: torch.Tensor):\n        return ", False),
        ("def f(x: torch.Tensor):\n    with torch.inference_mode():\n        return ", True),
    ],
)
def test_expm1_takes_the_place_of_an_exponential_where_no_gradient_is_recorded(
    head: str, is_safe: bool
) -> None:
    """The gradient of `expm1` far below 0 is 0, as PyTorch computes it, and that of `exp` is not."""
    x = torch.tensor(-20.0, requires_grad=True)
    assert torch.autograd.grad(x.expm1(), x)[0] == 0
    assert torch.autograd.grad(x.exp() - 1, x)[0] > 0
    source = f"import torch\n\n\n{head}torch.exp(x.float()) - 1\n"
    assert ("torch.expm1(" in fixed(source, unsafe=False)[0]) is is_safe
