"""Does memory grow from step to step?"""

from __future__ import annotations

from stablelint.runtime.audit.outcome import Outcome, check, counted, failed, passed, warned
from stablelint.runtime.audit.record import Run

ORDER = 8
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
    return passed(counted(len(older), "graph"))


@check(needs="five optimizer steps")
def gathered_tensors(run: Run) -> Outcome | None:
    """No name gathers tensors."""
    if len(run.steps) < 5:
        return None
    if run.growing:
        text = f"grows with every step: {', '.join(run.growing)}"
        return warned(
            text, "keep numbers, or what is needed of them, on the CPU", *run.growing, at=run.growing_at
        )
    return passed("names hold as many tensors at the end as after the second step")
