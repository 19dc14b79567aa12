"""The losses and steps of one process, and the order of the calls of its training loop. Never imports torch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

_POINTS = 2000
_EVENTS = 400


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

    def to_json(self) -> dict[str, object]:
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
