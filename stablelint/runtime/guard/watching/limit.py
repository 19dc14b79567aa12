"""A gradient norm beyond its limit, given or learned from the run, is warned of before it ends in a NaN."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from stablelint.runtime.guard.reporting.event import Warned
from stablelint.runtime.guard.watching.meter import Meter
from stablelint.runtime.guard.watching.step_state import StepState
from stablelint.runtime.tensors.names import Names

_KEPT = 64
_AGAIN = 10.0  # times the norm that was warned of last


class NormLimit:
    """Tells `on_warned` of norms beyond the limit, and again only when they have grown tenfold since."""

    def __init__(self, given: float | None, on_warned: Callable[[Warned], None], names: Names) -> None:
        self.given = given
        self.warned: deque[Warned] = deque(maxlen=_KEPT)
        self._on_warned = on_warned
        self._names = names

    def look(self, state: StepState, norm: float, layers: tuple[float, ...], meter: Meter) -> None:
        """The norm of a step is known, and that of each layer."""
        limit = self.given if self.given is not None else state.history.learned_limit()
        last = self.warned[-1].norm if self.warned else 0.0
        if limit is None or norm <= max(limit, _AGAIN * last):
            return
        largest = max(range(len(layers)), key=layers.__getitem__)
        name = self._names.in_order(meter.measured)[largest] if largest < len(meter.measured) else None
        warned = Warned(state.step, norm, limit, self.given is None, name, layers[largest])
        self.warned.append(warned)
        self._on_warned(warned)
