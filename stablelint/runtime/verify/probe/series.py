"""The losses and steps of one process, and the order of the calls of its training loop. Never imports torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

_POINTS = 2000
_EVENTS = 400
# The faults that a rule, by its name, speaks of.
FAULTS = {
    "clip-before-unscale": frozenset({"clip-before-unscale"}),
    "clip-out-of-order": frozenset({"clip-after-step"}),
    "missing-zero-grad": frozenset({"missing-zero-grad"}),
    "scaler-protocol": frozenset({"missing-update", "unscaled-backward"}),
}
_CLIPS = ("clip_grad_norm_", "clip_grad_value_")


@dataclass(slots=True)
class Series:
    """Losses by number of the `backward` call; every n-th once there are many."""

    stride: int = 1
    losses: list[float] = field(default_factory=list)
    backwards: int = 0
    steps: int = 0
    first_bad_loss: int | None = None
    first_bad_step: int | None = None  # step whose gradients are not finite
    bad_losses: int = 0
    bad_steps: int = 0
    events: list[str] = field(default_factory=list)  # order of the calls of a training loop

    @property
    def bad(self) -> bool:
        """Whether a loss or a gradient at a step was not finite."""
        return bool(self.bad_losses or self.bad_steps)

    @property
    def first_bad(self) -> int | None:
        """The step of the first loss, else of the first gradient, that was not finite."""
        return self.first_bad_loss if self.first_bad_loss is not None else self.first_bad_step

    def note(self, name: str) -> None:
        """Remember that a call of the training loop was made."""
        if len(self.events) < _EVENTS:
            self.events.append(name)

    def loss(self, value: float) -> None:
        """Add a loss."""
        if not math.isfinite(value):
            self.bad_losses += 1
            if self.first_bad_loss is None:
                self.first_bad_loss = self.backwards
        if self.backwards % self.stride == 0:
            self.losses.append(value)
            if len(self.losses) > _POINTS:
                self.losses = self.losses[::2]
                self.stride *= 2
        self.backwards += 1

    def as_json(self) -> dict[str, object]:
        """For the `rerun` part of the output; a loss that is not finite is null."""
        return {
            "steps": self.steps,
            "backwards": self.backwards,
            "nonfinite_losses": self.bad_losses,
            "nonfinite_steps": self.bad_steps,
            "first_nonfinite_loss": self.first_bad_loss,
            "first_nonfinite_step": self.first_bad_step,
            "stride": self.stride,
            "losses": [value if math.isfinite(value) else None for value in self.losses],
        }


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
