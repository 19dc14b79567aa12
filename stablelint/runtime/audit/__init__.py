"""The audit: a few training steps under watch, and what they say about data, model, loop and reproducibility.

A recorder listens at the guard's hooks and at the hooks that torch has for all modules, and keeps copies; a
check is a function of what was recorded. Nothing of the program is changed: parameters, data and random state
are those of a run without the audit.
"""

from __future__ import annotations

from stablelint.runtime import supported  # noqa: F401
from stablelint.runtime.audit.api import Audit, audit
from stablelint.runtime.audit.outcome import Outcome, Status

__all__ = ["Audit", "Outcome", "Status", "audit"]
