"""Recording and comparing inside a program: what `stablelint.recording` and `stablelint.compare` stand for."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch

from stablelint.runtime import supported  # noqa: F401
from stablelint.runtime.compare.command import LIMIT
from stablelint.runtime.compare.compiling.graph import run_once
from stablelint.runtime.compare.outcome import Comparison, describe
from stablelint.runtime.compare.parting.align import align
from stablelint.runtime.compare.recording.child import facts
from stablelint.runtime.compare.recording.recorder import Options, Recorder
from stablelint.runtime.compare.recording.trace import Trace, Writer
from stablelint.runtime.compare.session import notes_on, same, summary_of
from stablelint.runtime.compare.tensors.checkpoints import flat
from stablelint.runtime.compare.tensors.tolerance import Tolerance, Tolerances, compare_named
from stablelint.runtime.tensors.state import current_state, state_preserved


class Recording:
    """Records every operation of torch inside a `with` block into a temporary folder.

    Compiled functions run as they are written meanwhile. `every` and `limit` (bytes) bound what is kept.
    """

    def __init__(self, label: str = "recording", *, every: int = 1, limit: int = LIMIT) -> None:
        self.label = label
        self._folder = tempfile.TemporaryDirectory(prefix="stablelint-recording-")
        self._path = Path(self._folder.name) / "trace.jsonl"
        self._recorder = Recorder(Writer(self._path, limit, facts()), Options(every=every, statistics=True))

    def __enter__(self) -> Self:
        self._recorder.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recorder.__exit__(kind, error, trace)

    @property
    def trace(self) -> Trace:
        """What was recorded; complete when the block has ended."""
        return Trace(self._path)


def compare_recordings(first: Recording, second: Recording) -> Comparison:
    """Where two recordings part, bit for bit."""
    traces = first.trace, second.trace
    found = align(*traces)
    runs = summary_of(first.label, traces[:1]), summary_of(second.label, traces[1:])
    if found.parting is None:
        return Comparison("again", True, same(runs, found), runs, notes=notes_on(found))
    difference = describe(found.parting)
    return Comparison("again", False, difference.summary, runs, difference, notes=notes_on(found))


def compare_functions(
    first: Callable[..., Any], second: Callable[..., Any], inputs: Sequence[Any], tolerances: Tolerances
) -> Tolerance:
    """Results and gradients of two functions or modules on copies of the same inputs, from the same random state."""
    sides = []
    for function in (first, second):
        module = function if isinstance(function, torch.nn.Module) else torch.nn.Module()
        with state_preserved(module.parameters(), ()):  # generators too
            found = run_once(function, inputs)
            found |= {
                f"gradient of {name.removeprefix('_orig_mod.')}": one.grad
                for name, one in module.named_parameters()
                if one.grad is not None
            }
        sides.append(found)
    common = sides[0].keys() & sides[1].keys()  # two modules may call their parameters otherwise
    one, other = (
        {name: value for name, value in side.items() if name in common or name.startswith("result")}
        for side in sides
    )
    return compare_named(one, other, tolerances)


def compare_values(first: Any, second: Any, tolerances: Tolerances) -> Tolerance:
    """Tensors, nested containers of them, or modules: every leaf by name."""
    one, other = ({name or "value": value for name, value in flat(side)} for side in (first, second))
    return compare_named(one, other, tolerances)


def record_twice(function: Callable[[], object]) -> tuple[Recording, Recording]:
    """Call `function` twice from the same random state and record both calls."""
    state = current_state()
    recordings = []
    for label in ("first call", "second call"):
        state.restore()
        with Recording(label) as recording:
            function()
        recordings.append(recording)
    return recordings[0], recordings[1]
