"""stablelint: a linter for the numbers in PyTorch code.

PYTEST_DONT_REWRITE (where a program is watched this package is loaded before pytest, which would complain of it)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stablelint.diagnostic import Applicability as Applicability
    from stablelint.diagnostic import Diagnostic as Diagnostic
    from stablelint.diagnostic import Edit as Edit
    from stablelint.diagnostic import Fix as Fix
    from stablelint.diagnostic import Position as Position
    from stablelint.diagnostic import Severity as Severity
    from stablelint.diagnostic import Span as Span
    from stablelint.diagnostic import Status as Status
    from stablelint.diagnostic import Step as Step
    from stablelint.report.compare.calls import assert_close as assert_close
    from stablelint.report.compare.calls import assert_reproducible as assert_reproducible
    from stablelint.report.compare.calls import compare as compare
    from stablelint.report.compare.calls import recording as recording
    from stablelint.workspace.api import CheckError as CheckError
    from stablelint.workspace.api import check as check
    from stablelint.workspace.api import fix as fix
    from stablelint.workspace.guarding import NonFiniteError as NonFiniteError
    from stablelint.workspace.guarding import audit as audit
    from stablelint.workspace.guarding import find_first_bad_batch as find_first_bad_batch
    from stablelint.workspace.guarding import find_first_bad_checkpoint as find_first_bad_checkpoint
    from stablelint.workspace.guarding import guard as guard

__version__ = "0.1.0"

# The public names, by the module that holds them. What needs torch is loaded on first use: `check` never pays for it.
_HOMES = {
    "stablelint.report.compare.calls": "assert_close assert_reproducible compare recording",
    "stablelint.diagnostic": "Applicability Diagnostic Edit Fix Position Severity Span Status Step",
    "stablelint.workspace.api": "CheckError check fix",
    "stablelint.workspace.guarding": "NonFiniteError audit find_first_bad_batch find_first_bad_checkpoint guard",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        from importlib import import_module

        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
