"""What is read from the graph of a result."""

import pytest
import torch

from stablelint.runtime.audit.graph import maker_of


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x.squeeze(),
        lambda x: x.squeeze(1),
        lambda x: x.squeeze((0, 1)),
        lambda x: x.view(-1),
        lambda x: x[:, 0],
        lambda x: x.T.double(),
        lambda x: x.expand(3, 2),
    ],
)
def test_the_maker_of_a_view_is_that_of_what_it_shows(view) -> None:  # type: ignore[no-untyped-def]
    assert maker_of(view(torch.ones(3, 1, requires_grad=True).relu())) == "relu"


def test_what_is_computed_of_a_view_is_made_by_that() -> None:
    assert maker_of(torch.ones(3, 1, requires_grad=True).relu().squeeze(1) * 2) == "mul"
    assert maker_of(torch.ones(3, 1)) is None
