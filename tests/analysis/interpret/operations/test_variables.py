"""`Variable(x)` is x, cut off its graph."""

from tests.analysis.support import discharged_by, open_

IMPORTS = "import torch\nfrom torch.autograd import Variable\n"


def test_the_elements_are_those_of_the_tensor() -> None:
    code = "def f(size):\n    u = Variable(torch.rand(size))\n    return torch.log(1 - u + 1e-6)\n"
    assert discharged_by(code, IMPORTS) == {"SL101": {"eps"}}


def test_what_is_written_into_it_is_written_into_the_tensor() -> None:
    code = "def f(x):\n    v = x.clamp(min=1)\n    u = Variable(v)\n    u.zero_()\n    return torch.log(v)\n"
    assert open_(code, IMPORTS) == [(5, "SL101")]


def test_one_that_requires_a_gradient_is_trained() -> None:
    code = "def f():\n    w = Variable(torch.ones(3), requires_grad=True)\n    return torch.log(w)\n"
    assert open_(code, IMPORTS) == [(3, "SL101")]


def test_one_that_is_told_to_require_none_stays_what_it_is() -> None:
    code = "def f():\n    w = torch.ones(3)\n    w.requires_grad_({})\n    return torch.log(w)\n"
    assert open_(code.format("False")) == []
    assert open_(code.format("True")) == [(4, "SL101")]
