"""The errors of compiled functions, as these raise them where they are run as they were written."""

from __future__ import annotations

from types import TracebackType

from stablelint.runtime.audit.replayed import undisturbed
from stablelint.runtime.crash.frame import frames_of

_COMPILER = "torch._dynamo."


def as_written(error: Exception) -> Exception:
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
