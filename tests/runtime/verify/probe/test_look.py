"""Cheap questions about operands and gradients."""

import torch

from stablelint.runtime.verify.probe.look import Gradients


def test_a_gradient_is_told_from_another_and_from_itself_once_it_was_written_into() -> None:
    gradients = Gradients()
    healthy, sick = torch.ones(3), torch.tensor([1.0, float("nan"), 1.0])
    assert gradients.is_finite(healthy)
    assert not gradients.is_finite(sick)
    assert gradients.is_finite(healthy)
    healthy[0] = float("inf")
    assert not gradients.is_finite(healthy)


def test_a_gradient_that_was_looked_at_is_not_kept_alive() -> None:
    gradients = Gradients()
    assert gradients.is_finite(torch.ones(3))
    assert gradients._last is not None
    assert gradients._last[0]() is None
