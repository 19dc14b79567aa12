from __future__ import annotations

import pytest

from tests.codemod.support import proposal, rewritten, withheld

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
