"""Arguments of a call, kept for another one."""

from typing import cast

import torch

from stablelint.runtime.verify.probe.sample import copied_arguments


def test_a_call_on_copies_leaves_the_arguments_alone() -> None:
    module = torch.nn.BatchNorm1d(3)
    given = torch.randn(4, 3, requires_grad=True)
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    copies = copied_arguments({"self": module, "x": given})
    other, x = cast("torch.nn.BatchNorm1d", copies["self"]), cast("torch.Tensor", copies["x"])
    other(x).sum().backward()
    assert not torch.equal(cast("torch.Tensor", other.running_mean), before["running_mean"])
    assert all(torch.equal(buffer, before[name]) for name, buffer in module.named_buffers())
    assert (given.grad, module.weight.grad) == (None, None)
