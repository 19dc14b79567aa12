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


def bounded(source: str, name: str, template: str) -> Proposal:
    """A bound of the last place at which a name is read."""
    span = span_of(source, name, start=source.rindex(name))
    made = proposal(source, name, template, **{name: Binding(name, span)})
    return replace(made, span=span)


def test_an_operand_that_gets_its_value_later_is_not_read_before() -> None:
    source = (
        "import torch\ndef f(x, device):\n    w = torch.ones(3)\n    m = x.to(device)\n    return w * m\n"
    )
    moved = proposal(source, "torch.ones(3)", "$w.to($x.device)", w="torch.ones(3)", x=Binding("m"))
    assert withheld(source, moved) == "`m` has no value yet at this place"


def test_what_goes_into_a_function_of_numpys_may_be_no_tensor() -> None:
    source = "import torch\nimport numpy as np\ndef f(x, b):\n    return np.random.choice(3, p=x / b)\n"
    assert "goes into `numpy.random.choice`" in withheld(source, bounded(source, "b", BOUND))
    converted = source.replace("p=x / b", "p=(x / b).numpy()")
    assert "b.clamp_min(" in rewritten(converted, bounded(converted, "b", BOUND))


def test_one_result_does_not_take_the_place_of_two() -> None:
    source = "import torch\nvar, mean = torch.var_mean(x, 0)\n"
    made = proposal(source, "torch.var_mean(x, 0)", "torch.var($x, unbiased=False)", x="x")
    assert withheld(source, made) == "it gives two results, and the rewrite one"
