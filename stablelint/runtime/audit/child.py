"""The audit inside a process of an audited command: its results go to the plan's folder."""

from __future__ import annotations

import atexit
import os

from stablelint.runtime.audit.api import Audit
from stablelint.runtime.process.start import Plan


class AuditDone(SystemExit):
    """Ends the audited command once enough steps were seen: an exit, not an error."""


def start(plan: Plan) -> Audit:
    """Watch this process until it has taken the plan's steps, or to its end."""
    process = os.getpid()

    def end() -> None:
        found.finish()
        raise AuditDone(0)

    def store() -> None:
        if os.getpid() != process:
            return
        found.finish()
        if found.run.steps or found.run.forwards:
            plan.tell("audit", {"process": os.getpid(), **found.as_json()})

    found = Audit(plan.options["steps"] or None, end, plan.options["batches"])
    atexit.register(store)
    return found.__enter__()
