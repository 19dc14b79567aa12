"""Operands that nobody captured."""

import torch

from stablelint.runtime.verify.operands.adversary import boundary_cases
from stablelint.runtime.verify.replay.compare import Role, prepare
from stablelint.runtime.verify.replay.values import Call, Context
from stablelint.runtime.verify.site import Verdict
from tests.runtime.verify.support import LOG, call, replay, site

SITE = site("torch.log(x)", "torch.log(x.clamp_min(torch.finfo(x.dtype).tiny))", {"x": "x"}, **LOG)


def test_the_boundary_is_tried_alone_mixed_with_what_was_captured_and_in_half_precision() -> None:
    captured = torch.tensor([[0.5, 2.0, 3.0], [4.0, 5.0, 6.0]])
    cases = boundary_cases(prepare(SITE, b"import torch\n"), [call(x=captured)])
    found = {case.label: case for case in cases}
    assert {"float32 x tied", "float32 empty", "float32 x masked row", "float32 ordinary"} <= set(found)
    alone = found["float32 x = 0"].call.operands["x"]
    mixed = found["float32 x mixed"].call.operands["x"]
    assert isinstance(alone, torch.Tensor)
    assert isinstance(mixed, torch.Tensor)
    assert alone.shape == mixed.shape == captured.shape
    assert not alone.any()
    assert 0 < int((mixed != captured).sum()) < captured.numel()
    halves = [case for case in cases if case.label.startswith(("float16", "bfloat16"))]
    assert halves
    assert not any(case.decisive for case in halves), "the site was never seen with them"
    assert all(case.role is not Role.CAPTURED for case in cases)


def test_autocast_is_as_before_after_a_replay() -> None:
    under = Call({"x": torch.ones(2)}, Context("bfloat16"))
    replay(SITE, [under])
    assert not torch.is_autocast_enabled("cpu")
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        replay(SITE, [call(x=torch.ones(2))])
        assert torch.is_autocast_enabled("cpu")
        assert not torch.is_grad_enabled()


def test_operands_are_invented_of_a_kind_that_the_fix_takes_too() -> None:
    guarded = site(
        "d / s",
        "d / torch.where(empty, 1, s)",
        {"x": "s"},
        hidden="((s == 0) & (d == 0)) * 1.0",
        guards_hidden=True,
    )
    found = replay(guarded).decision
    assert found.verdict is Verdict.LATENT
    refused = site("d / s", "d / s.no_such_method()", {"x": "s"})
    assert replay(refused).decision.verdict is Verdict.INEFFECTIVE, "no kind of operand suits that one"
