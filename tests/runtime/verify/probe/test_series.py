"""The order of calls in a training loop."""

import pytest

from stablelint.runtime.verify.probe.series import faults

GOOD = [
    "zero_grad",
    "scale",
    "backward",
    "unscale_",
    "clip_grad_norm_",
    "scaler.step",
    "step",
    "scaler.update",
]


def test_a_loop_in_order_has_no_fault() -> None:
    assert faults(GOOD * 3) == frozenset()
    assert faults(["zero_grad", "backward", "clip_grad_norm_", "step"] * 3) == frozenset()


@pytest.mark.parametrize(
    ("without", "fault"),
    [
        ("unscale_", "clip-before-unscale"),
        ("zero_grad", "missing-zero-grad"),
        ("scaler.update", "missing-update"),
        ("scale", "unscaled-backward"),
    ],
)
def test_what_is_missing_is_named(without: str, fault: str) -> None:
    assert faults([event for event in GOOD if event != without] * 3) == {fault}


def test_clipping_after_the_step_is_named() -> None:
    assert faults(["zero_grad", "backward", "step", "clip_grad_norm_"] * 2) == {"clip-after-step"}
