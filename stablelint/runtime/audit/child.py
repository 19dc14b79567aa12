"""The audit inside a process of an audited command: its results go to the plan's folder."""

from __future__ import annotations

import atexit
import json
import os
import sys
from pathlib import Path

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
            _store(plan, found)

    found = Audit(plan.steps or None, end)
    atexit.register(store)
    return found.__enter__()


def _store(plan: Plan, found: Audit) -> None:
    path = Path(plan.folder) / f"audit-{os.getpid()}.json"
    try:
        path.with_suffix(".part").write_text(json.dumps({"process": os.getpid(), **found.as_json()}), "utf-8")
        os.replace(path.with_suffix(".part"), path)
    except OSError as error:
        sys.stderr.write(f"stablelint: cannot store {path}: {error.strerror}\n")
