"""What of a run is recorded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Which steps are recorded (from `start`, before `stop`, every `every`th), and how.

    `judge` replays each operation in double precision on its own operands; `fill` writes zeros into memory that is
    asked for; `capture` is the index of the record whose operands and results are kept; with `modules` only what
    modules return is recorded; with `statistics` more than digests is told of results
    that are no inputs.
    """

    start: int = 0
    stop: int | None = None
    every: int = 1
    judge: bool = False
    fill: bool = False
    capture: int | None = None
    modules: bool = False
    statistics: bool = False

    def covers(self, step: int) -> bool:
        """Whether a step is recorded."""
        return self.start <= step and (step - self.start) % self.every == 0 and not self.over(step)

    def over(self, step: int) -> bool:
        """Whether no later step is."""
        return self.stop is not None and step >= self.stop
