"""Explains the exception that ends a guarded process; the program's own traceback comes first."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch

from stablelint.runtime.audit.replayed import undisturbed
from stablelint.runtime.crash.explainers import explanation_of
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.frame import asks_for_sample, frames_of
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.trail import Trail
from stablelint.runtime.process.start import Plan
from stablelint.runtime.process.traceback import hide_own_frames
from stablelint.runtime.tracing.eager import eager

_COMPILER = "torch._dynamo."
_HINT = re.compile(r"Hint: the backtrace further above shows .*")
_NOTES = re.compile(r"^stablelint: (?:because|help) .*\n?", re.MULTILINE)  # of a worker, which are told below


def arm(plan: Plan) -> None:
    """From now on an exception that ends this process is explained in the plan's folder."""
    trail = Trail()
    trail.start()
    _tell_samples()
    previous = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        whole = error.args = _said(error, _without_trail)
        error.args = _said(error, lambda text: _NOTES.sub("", text))
        previous(kind, error, trace)
        error.args = whole
        found = explain(error, trail)
        if found is not None:
            plan.tell("crash", found.as_json(error))

    sys.excepthook = hook
    hide_own_frames()


def _said(error: BaseException, change: Callable[[str], str]) -> tuple[Any, ...]:
    """What an exception was raised with, its texts changed."""
    return tuple(change(one) if type(one) is str else one for one in error.args)


def _without_trail(text: str) -> str:
    """What torch says where graphs know their lines for this package's sake alone, as it says it otherwise."""
    by_program = torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
    return text if by_program else _HINT.sub(lambda _: _plain_hint(), text)


def _plain_hint() -> str:
    """What torch ends the error of a tensor that was written in place with."""
    with torch.autograd.set_detect_anomaly(False):
        try:
            given = torch.ones((), device="cpu", requires_grad=True)
            torch.autograd.grad(given.exp().add_(1), given)
        except RuntimeError as error:
            return "".join(re.findall("Hint: .*", str(error)))
    return ""


def explain(error: BaseException, trail: Trail | None = None) -> Explanation | None:
    """What is known of an exception; None where that is nothing."""
    if not isinstance(error, Exception):
        return None
    try:
        with eager():
            return explanation_of(Scene(_as_written(error), trail or Trail()))
    except Exception:  # an explanation that fails must not hide the error
        if os.environ.get("STABLELINT_TRACEBACK"):
            raise
        return None


def _tell_samples() -> None:
    """What a data set raises says for which sample it was, also in the traceback of a worker."""
    fetcher = torch.utils.data._utils.fetch._MapDatasetFetcher
    original: Callable[..., Any] = fetcher.fetch

    @functools.wraps(original)
    def fetch(self: Any, indices: Any) -> Any:
        try:
            return original(self, indices)
        except Exception as error:
            _note_sample(error)
            raise

    setattr(fetcher, "fetch", fetch)  # noqa: B010


def _note_sample(error: Exception) -> None:
    """Add to an exception for which sample of the program's data set it was raised, and what is known of it."""
    asked = next((one for one in frames_of(error.__traceback__) if one.mine and asks_for_sample(one)), None)
    found = explain(error) if torch.utils.data.get_worker_info() is not None else None
    if asked is not None:
        names, index = asked.frame.f_locals, asked.site.code.co_varnames[1]
        error.add_note(f"stablelint: sample {names[index]} of {type(names['self']).__name__}")
    elif found is None or found.kind != "data":
        return
    if found is not None:
        error.add_note(f"stablelint: because {found.summary}")
    for one in found.advice if found is not None and asked is not None else ():
        error.add_note(f"stablelint: help {one}")


def _as_written(error: Exception) -> Exception:
    """What the compiled function that failed raises as it was written; the compiler's own error where that is nothing."""
    frames = list(frames_of(error.__traceback__)) if type(error).__module__.startswith(_COMPILER) else []
    for place, one in enumerate(frames):
        names, home = one.frame.f_locals, str(one.frame.f_globals.get("__name__"))
        if home.startswith(_COMPILER) and {"fn", "args", "kwargs"} <= {*names}:
            try:
                with undisturbed():
                    names["fn"](*names["args"], **names["kwargs"])
            except Exception as again:  # whatever the program raises
                below = again.__traceback__.tb_next if again.__traceback__ is not None else None
                for above in frames[place::-1]:
                    below = TracebackType(below, above.frame, above.site.offset, above.frame.f_lineno)
                return again.with_traceback(below)
            break
    return error
