"""Does memory grow from step to step, and what holds it at its peak?"""

from __future__ import annotations

from stablelint.runtime.audit.allocations import sized
from stablelint.runtime.audit.outcome import Outcome, Status, check, failed, passed, warned
from stablelint.runtime.audit.record import Run, place
from stablelint.runtime.plain import plural

ORDER = 9
_SHOWN = 4  # lines at the peak
_FULL = 0.9  # of a device: fragments and other processes need the rest
_RECENT = 3  # backward passes whose graphs may live on: names are rebound in the next step


@check(needs="five backward passes")
def freed_graphs(run: Run) -> Outcome | None:
    """The graph of a step is freed with it."""
    older = run.backwards[: -_RECENT * max(len(run.optimizers), 1)]
    if len(older) < 2:
        return None
    alive = sum(one.facts is not None and one.facts.kept() is not None for one in older)
    if alive >= 2:
        names = f", held by {', '.join(run.holders)}" if run.holders else ""
        text = f"the graphs of {alive} of {len(older)} earlier losses are still there{names}"
        return failed(text, "keep loss.item() or loss.detach()", *run.holders, at=run.holder_at)
    return passed(plural(len(older), "graph"))


@check(needs="five optimizer steps")
def gathered_tensors(run: Run) -> Outcome | None:
    """No name gathers tensors."""
    if len(run.steps) < 5:
        return None
    # What keeps graphs is told of by itself.
    growing = [name for name in run.growing if name.partition(" (")[0] not in run.holders]
    if growing:
        remedy = "keep numbers, or what is needed of them, on the CPU"
        return warned("grows with every step: {names}", remedy, *growing, at=run.growing_at)
    if run.growing:
        return Outcome(Status.UNSEEN, f"grows, and keeps graphs: {', '.join(run.growing)}")
    return passed("names hold as many tensors at the end as after the second step")


@check(needs="a GPU in use, and two optimizer steps")
def room_at_the_peak(run: Run) -> Outcome | None:
    """The GPU has room left at the peak of its memory."""
    if (peak := run.peak) is None:
        return None
    shown = [(sized(size), place(row)) for row, size in peak.parts[:_SHOWN]]
    at = next((line for _, line in shown if line is not None), None)
    parts = [
        f"{size} in line {line.row}: {line.expression}" if line is not None else f"{size} in backward passes"
        for size, line in shown
    ]
    parts.append(f"{sized(peak.before)} before the second step")
    text = f"{sized(peak.total)} of {sized(peak.capacity)} at the peak: {', '.join(parts)}"
    if peak.total > _FULL * peak.capacity:
        return warned(text, "a smaller batch, checkpointing of the largest part, or half precision", at=at)
    return Outcome(Status.PASSED, text, location=at)
