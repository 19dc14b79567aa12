"""At the end of a watched process: the search, and the last write."""

from __future__ import annotations

import sys

from stablelint.runtime.verify.probe.plan import Plan


def finish(plan: Plan) -> None:
    """Search for bad operands where that is wanted, then write everything that was recorded."""
    if "stablelint.runtime.verify.probe.watch" in sys.modules:
        from stablelint.runtime.verify.probe.watch import flush

        flush()
    if "stablelint.runtime.verify.probe.recorder" not in sys.modules:
        return
    from stablelint.runtime.verify.probe.recorder import RECORDER

    RECORDER.note_raised()
    RECORDER.flush()  # first, lest a search that is killed loses what the command showed
    if plan.fixes or RECORDER.failing:
        from stablelint.runtime.verify.probe.judge import judge_all

        judge_all(plan)
    if plan.search_seconds > 0:
        from stablelint.runtime.verify.probe.search import search_all

        search_all(plan.search_seconds, plan.search_parameters)
        RECORDER.flush()
