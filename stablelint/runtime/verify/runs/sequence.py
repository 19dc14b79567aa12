"""Fixes of the order of calls: what the training loop's own calls show before and after."""

from __future__ import annotations

from collections.abc import Sequence

# The faults that a rule, by its name, speaks of.
FAULTS = {
    "clip-before-unscale": frozenset({"clip-before-unscale"}),
    "clip-out-of-order": frozenset({"clip-after-step"}),
    "missing-zero-grad": frozenset({"missing-zero-grad"}),
    "scaler-protocol": frozenset({"missing-update", "unscaled-backward"}),
}
_CLIPS = ("clip_grad_norm_", "clip_grad_value_")


def faults(events: Sequence[str]) -> frozenset[str]:
    """Which orders of calls in a training loop are at fault.

    `clip-before-unscale`: gradients are clipped between a scaled backward and the scaler's step, with no
    `unscale_` in between. `missing-zero-grad`: two steps with no `zero_grad` between them. `clip-after-step`:
    no backward lies between a step and the clip that follows it. `missing-update`: two scaler steps with no
    `update` between them. `unscaled-backward`: a scaler steps though nothing was scaled.
    """
    found: set[str] = set()
    scaled = unscaled = False
    zeroed = updated = True
    fresh = False  # gradients were computed since the last step
    for event in events:
        if event == "scale":
            scaled, unscaled = True, False
        elif event == "unscale_":
            unscaled = True
        elif event == "backward":
            fresh = True
        elif event in _CLIPS:
            if scaled and not unscaled:
                found.add("clip-before-unscale")
            if not fresh:
                found.add("clip-after-step")
        elif event == "zero_grad":
            zeroed = True
        elif event == "scaler.update":
            updated = True
        elif event == "scaler.step":
            if not scaled:
                found.add("unscaled-backward")
            if not updated:
                found.add("missing-update")
            updated = scaled = unscaled = False
        elif event == "step":
            if not zeroed:
                found.add("missing-zero-grad")
            zeroed = fresh = False
    return frozenset(found)
