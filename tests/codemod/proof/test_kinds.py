from __future__ import annotations

from dataclasses import replace

import pytest

from stablelint.diagnostic import Binding, Proposal
from tests.codemod.support import proposal, rewritten, span_of, withheld

LENGTH = "torch.linalg.vector_norm($x, dim=-1)"
BY_HAND = "torch.sqrt(torch.sum(d ** 2, dim=-1))"


@pytest.mark.parametrize(
    ("test", "kind"),
    [
        ("d.is_sparse or not d.is_floating_point()", "sparse"),
        ("not d.is_floating_point()", "integer"),
        ("not torch.is_floating_point(d)", "integer"),
        ("torch.is_complex(d)", "complex"),
    ],
)
def test_a_branch_for_another_kind_of_tensor_keeps_its_code(test: str, kind: str) -> None:
    source = f"import torch\nif {test}:\n    y = {BY_HAND}\n"
    assert (
        withheld(source, proposal(source, BY_HAND, LENGTH, x="d")) == f"the branch is one for {kind} tensors"
    )


@pytest.mark.parametrize("test", ["d.is_floating_point()", "not d.is_sparse", "e.is_sparse", "d.is_cuda"])
def test_other_branches_are_rewritten(test: str) -> None:
    source = f"import torch\nif {test}:\n    y = {BY_HAND}\n"
    assert "y = torch.linalg.vector_norm(d, dim=-1)" in rewritten(
        source, proposal(source, BY_HAND, LENGTH, x="d")
    )


def test_the_other_branch_of_a_test_is_for_the_other_kind() -> None:
    source = f"import torch\ny = d if d.is_floating_point() else {BY_HAND}\n"
    assert (
        withheld(source, proposal(source, BY_HAND, LENGTH, x="d")) == "the branch is one for integer tensors"
    )


BOUND = "$b.clamp_min(torch.finfo($b.dtype).tiny)"
BOUND_M = BOUND.replace("$b", "$m")


def bounded(source: str, name: str, template: str, end: int | None = None) -> Proposal:
    """A bound of the last place at which a name is read."""
    at = source.rindex(name, 0, end)
    span = span_of(source, name, start=at)
    made = proposal(source, name, template, **{name: Binding(name, span)})
    return replace(made, span=span)


@pytest.mark.parametrize(
    "before",
    [
        "def f(x, b=2.0):\n",
        "def f(x):\n    b = x.shape[0] / 2\n",
        "def f(x, b):\n    for _ in range(b // 3):\n        x = x + 1\n",
        "def f(self, x):\n    for group in self.param_groups:\n        pass\n    b = 1 - group['lr'] * math.sqrt(2)\n",
        "def f(x, state):\n    state['step'] = 0\n    b = 2 / (state['step'] + 1)\n",
        "def f(x, h, w):\n    b = min(x[0] / float(h), x[1] / float(w))\n",
    ],
)
def test_a_number_of_python_gets_no_method_of_a_tensor(before: str) -> None:
    source = f"import torch\n{before}    return x / b\n"
    made = bounded(source, "b", BOUND)
    assert withheld(source, made) == "`b` is a number of Python's, and no tensor"


def test_a_parameter_that_is_no_number_by_default_may_be_a_tensor() -> None:
    source = "import torch\ndef f(x, b=None):\n    return x / b\n"
    made = bounded(source, "b", BOUND)
    assert "x / b.clamp_min(torch.finfo(b.dtype).tiny)" in rewritten(source, made)


def test_what_is_complex_has_no_bound_unless_its_size_is_taken() -> None:
    source = (
        "import torch\ndef f(x):\n    k = torch.tensor(-1j) * x\n    return torch.exp(k), k.abs().sqrt()\n"
    )
    made = bounded(source, "k", "$k.clamp(max=80.0)", end=source.index(", k.abs"))
    assert withheld(source, made) == "`k` is complex"
    size = proposal(source, "k.abs()", "$k.clamp_min(1e-30)", k="k.abs()")
    assert "k.abs().clamp_min(1e-30).sqrt()" in rewritten(source, size)


def test_a_spectrum_is_complex_and_what_is_made_of_it_again_is_not() -> None:
    source = (
        "import torch\ndef f(x):\n    k = torch.fft.rfft(x)\n    return torch.sqrt(k), torch.fft.irfft(k)\n"
    )
    assert (
        withheld(source, bounded(source, "k", "$k.clamp_min(0)", end=source.index("), torch")))
        == "`k` is complex"
    )
    again = proposal(source, "torch.fft.irfft(k)", "$k.clamp_min(0)", k="torch.fft.irfft(k)")
    assert "torch.fft.irfft(k).clamp_min(0)" in rewritten(source, again)


def test_the_limits_for_integers_are_those_of_what_is_computed_with_them() -> None:
    source = "import torch\ndef f(j):\n    m = torch.arange(j)\n    return torch.sqrt(j - m * (m + 1))\n"
    text = "j - m * (m + 1)"
    assert "torch.sqrt((j - m * (m + 1)).clamp_min(1e-30))" in rewritten(
        source, proposal(source, text, BOUND, b=text)
    )


def test_an_operand_that_gets_its_value_later_is_not_read_before() -> None:
    source = (
        "import torch\ndef f(x, device):\n    w = torch.ones(3)\n    m = x.to(device)\n    return w * m\n"
    )
    moved = proposal(source, "torch.ones(3)", "$w.to($x.device)", w="torch.ones(3)", x=Binding("m"))
    assert withheld(source, moved) == "`m` has no value yet at this place"


@pytest.mark.parametrize(
    "before",
    [
        "    m = np.ones_like(b[0])\n    b = b.std()\n",
        "    m = np.zeros((b.shape[0], 2))\n    b = b.std()\n",
        "    b = table.loc['row'].std()\n",
        "    b = np.abs(x)\n",
        "    b = law.pdf(np.linspace(0, 1, 3)).max()\n",
    ],
)
def test_an_array_gets_no_method_of_a_tensor(before: str) -> None:
    source = f"import torch\nimport numpy as np\ndef f(x, b):\n{before}    return x / b\n"
    assert withheld(source, bounded(source, "b", BOUND)) == "`b` is an array or a table, and no tensor"


def test_what_goes_into_a_function_of_numpys_may_be_no_tensor() -> None:
    source = "import torch\nimport numpy as np\ndef f(x, b):\n    return np.random.choice(3, p=x / b)\n"
    assert "goes into `numpy.random.choice`" in withheld(source, bounded(source, "b", BOUND))
    converted = source.replace("p=x / b", "p=(x / b).numpy()")
    assert "b.clamp_min(" in rewritten(converted, bounded(converted, "b", BOUND))


def test_what_torch_makes_of_an_array_is_a_tensor() -> None:
    source = "import torch\nimport numpy as np\ndef f(x):\n    b = torch.from_numpy(np.ones(3))\n    return x / b\n"
    assert "b.clamp_min(" in rewritten(source, bounded(source, "b", BOUND))


def test_a_method_of_what_torch_computes_is_a_tensor_whatever_it_is_given() -> None:
    source = (
        "import torch\nimport numpy as np\ndef f(x, made):\n    b = made(np.ones(3))\n"
        "    return x / torch.norm(b, 2, 1).expand_as(b)\n"
    )
    text = "torch.norm(b, 2, 1).expand_as(b)"
    assert ".clamp_min(" in rewritten(source, proposal(source, text, BOUND, b=text))


def test_one_result_does_not_take_the_place_of_two() -> None:
    source = "import torch\nvar, mean = torch.var_mean(x, 0)\n"
    made = proposal(source, "torch.var_mean(x, 0)", "torch.var($x, unbiased=False)", x="x")
    assert withheld(source, made) == "it gives two results, and the rewrite one"


@pytest.mark.parametrize(
    "before",
    [
        "    if x.ndim:\n        m = F.one_hot(x)\n    else:\n        m = x\n    m = m.sum(dim=0)\n",
        "    m = torch.sum(F.one_hot(x), dim=0)\n",
    ],
)
def test_what_may_be_counted_in_integers_is_bounded_as_such(before: str) -> None:
    source = f"import torch\nimport torch.nn.functional as F\ndef f(x):\n{before}    return x / m\n"
    assert "m.clamp_min(1e-30)" in rewritten(source, bounded(source, "m", BOUND_M))


def test_an_item_of_a_dictionary_is_no_selection() -> None:
    source = (
        "import torch\n\n\nclass Log:\n    def __init__(self):\n        self.seen = {}\n\n"
        "    def mean(self, key):\n        return self.seen[key].mean()\n"
    )
    made = proposal(source, "self.seen[key].mean()", "$s.sum() / max($s.numel(), 1)", s="self.seen[key]")
    assert withheld(source, made) == "`self.seen[key]` is an item of a dictionary, and no selection by a mask"
    assert "selected" in rewritten(source.replace("{}", "torch.ones(3)"), made)


def test_an_attribute_that_is_a_number_at_first_may_still_be_one() -> None:
    source = (
        "import torch\n\n\nclass Log:\n    def __init__(self):\n        self.top = 1\n\n    def f(self, x):\n"
        "        self.top = max(self.top, x.max())\n        return x / self.top\n"
    )
    clamped = "$b.clamp_min(torch.finfo($b.dtype).tiny)"
    made = proposal(source, "self.top", clamped, occurrence=3, b="self.top")
    made = replace(made, bindings={"b": Binding("self.top", made.span)})
    assert "is a number of Python's" in withheld(source, made)


def test_a_number_that_one_branch_counts_is_no_tensor() -> None:
    source = "def f(n):\n    if n is None:\n        n = 2 * round(4.5) + 1\n    return 1 / (n - 1)\n"
    assert "number of Python's" in withheld(source, proposal(source, "n - 1", "$x + 1e-7", x="n - 1"))
