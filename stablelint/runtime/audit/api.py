"""`stablelint.audit(model, loader, loss, optimizer)`, and the audit of whatever trains in a block."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import TracebackType
from typing import Any, Self

import torch

from stablelint.runtime.audit.outcome import Result, Status, judge
from stablelint.runtime.audit.record import Run
from stablelint.runtime.audit.recorder import Recorder
from stablelint.runtime.audit.replayed import undisturbed
from stablelint.runtime.audit.values import Histogram, histogram_of
from stablelint.runtime.plain import Json, plain

DEFAULT_STEPS = 10
_MOST_HISTOGRAMS = 24


class Audit:
    """Watches the training steps of a `with` block; afterwards `results` holds the answer of every check."""

    def __init__(
        self,
        steps: int | None = None,
        on_end: Callable[[], object] = lambda: None,
        batches: int | None = None,
    ) -> None:
        self.results: tuple[Result, ...] = ()
        self.histograms: tuple[Histogram, ...] = ()
        self._recorder = Recorder(steps, on_end, batches)

    def __enter__(self) -> Self:
        self._recorder.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()
        self._recorder.plain_graphs()  # once more: a framework may have put back what it found

    @property
    def run(self) -> Run:
        """What was recorded."""
        return self._recorder.run

    def finish(self) -> None:
        """Stop watching and judge; calling it again changes nothing."""
        if self.results:
            return
        self._recorder.look_at_names()
        self._recorder.stop()
        with undisturbed():
            self.results = judge(self.run)
        self.histograms = tuple(islice(_histograms(self.run), _MOST_HISTOGRAMS))

    @property
    def failed(self) -> tuple[Result, ...]:
        """The checks that failed."""
        return tuple(one for one in self.results if one.outcome.status is Status.FAILED)

    @property
    def warned(self) -> tuple[Result, ...]:
        """The checks that warned."""
        return tuple(one for one in self.results if one.outcome.status is Status.WARNED)

    def as_json(self) -> dict[str, Json]:
        """The audit as ``audit --output-format json`` prints it."""
        counts = Counter(one.outcome.status.value for one in self.results)
        return {
            "steps": len(self.run.steps),
            "counts": {status.value: counts[status.value] for status in Status},
            "trouble": list(dict.fromkeys(self.run.trouble)),
            "checks": plain(self.results),
            "histograms": plain(self.histograms),
        }

    def __str__(self) -> str:
        counts = Counter(one.outcome.status for one in self.results)
        lines = [", ".join(f"{counts[status]} {status}" for status in Status)]
        for one in (*self.failed, *self.warned):
            lines.append(
                f"{one.outcome.status} {one.check.name}: {one.outcome.evidence}; {one.outcome.remedy}"
            )
        return "\n".join(lines)


def audit(
    model: torch.nn.Module,
    loader: Iterable[Any],
    loss: Callable[..., torch.Tensor],
    optimizer: torch.optim.Optimizer,
    *,
    steps: int = DEFAULT_STEPS,
) -> Audit:
    """Audit `steps` steps of a usual loop over `loader`, taken by copies of model and optimizer.

    A batch is `(inputs, targets)` or `(input, …, targets)`; the loss is `loss(model(*inputs), targets)`. Random
    state, parameters and the optimizer's state are afterwards as they were. Raises ValueError for a batch that
    is neither.
    """
    found = Audit()
    model, optimizer = copy.deepcopy((model, optimizer))
    found.run.seeded.add("torch")  # seeds are the business of the program around
    with undisturbed(), found:
        for *inputs, targets in _batches(loader, steps):
            optimizer.zero_grad()
            loss(model(*inputs), targets).backward()
            optimizer.step()
    return found


def _batches(loader: Iterable[Any], steps: int) -> Iterator[tuple[Any, ...]]:
    taken = 0
    while taken < steps:
        before = taken
        for batch in islice(loader, steps - taken):
            if not isinstance(batch, (tuple, list)) or len(batch) < 2:
                raise ValueError(f"a batch is (inputs, targets), not {type(batch).__name__}")
            taken += 1
            yield tuple(batch)
        if taken == before:
            return


def _histograms(run: Run) -> Iterator[Histogram]:
    """Inputs, targets, and the weights at the end."""
    named = [(f"input {index}", one) for call in run.trained[:1] for index, one in enumerate(call.inputs)]
    for call in [one for one in run.losses if one.grad][:1]:
        named += [("output", call.input), ("target", call.target)]
    weights = [one for one in run.parameters.values() if one.tensor.dim() > 1]
    named += [(one.name, one.tensor) for one in weights]
    named += [(f"gradient of {one.name}", one.tensor.grad) for one in weights if one.tensor.grad is not None]
    return (found for title, tensor in named if (found := histogram_of(tensor, title)) is not None)
