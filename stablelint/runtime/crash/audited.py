"""An audited process whose errors are explained: a run of a few steps may as well end by one."""

from __future__ import annotations

from stablelint.runtime.audit import child
from stablelint.runtime.audit.api import Audit
from stablelint.runtime.crash.arm import arm
from stablelint.runtime.process.start import Plan


def start(plan: Plan) -> Audit:
    """Watch this process as an audit does, and explain the exception that ends it."""
    found = child.start(plan)
    arm(plan)
    return found
