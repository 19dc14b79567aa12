import pytest

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
