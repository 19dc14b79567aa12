"""`stablelint.guard` for training scripts: the guard and the rules, so that events carry their fix."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

if find_spec("torch") is None:
    raise ImportError(
        "the guard needs torch, which is not installed: pip install 'stablelint[verify]'", name="torch"
    )

from stablelint.runtime.audit import audit
from stablelint.runtime.guard import Guard, NonFiniteError, find_first_bad_batch, find_first_bad_checkpoint
from stablelint.workspace.advice import RuleAdviser

__all__ = ["NonFiniteError", "audit", "find_first_bad_batch", "find_first_bad_checkpoint", "guard"]


class guard(Guard):  # noqa: N801 - used as a context manager, `with stablelint.guard(model, optimizer):`
    """Watches training steps; on the first NaN or Inf names the expression, the cause and the fix.

    Takes what `stablelint.runtime.guard.Guard` takes; events are explained by the built-in rule pages.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("adviser", RuleAdviser())
        super().__init__(*args, **kwargs)
