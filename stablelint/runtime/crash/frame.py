"""The frames that an exception left, outermost first."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

from stablelint.runtime.program.frames import Site, is_library

_PYTHON = sysconfig.get_path("stdlib")
_NUMPY = f"{os.sep}site-packages{os.sep}numpy{os.sep}"


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of the traceback, with the instruction it had reached."""

    frame: FrameType
    site: Site

    @property
    def names(self) -> dict[str, Any]:
        """The values of all names, local ones first."""
        return {**self.frame.f_globals, **self.frame.f_locals}

    @property
    def mine(self) -> bool:
        """Whether it is the program's own code: neither torch's, nor Python's, nor NumPy's."""
        return is_of_program(self.site.code.co_filename)

    @property
    def of_numpy(self) -> bool:
        """Whether it is code of NumPy."""
        return _NUMPY in self.site.code.co_filename


def is_of_program(filename: str) -> bool:
    """Whether a file is the program's own: neither torch's, nor Python's, nor NumPy's."""
    of_python = filename.startswith(_PYTHON) and "site-packages" not in filename
    return not (is_library(filename) or of_python or _NUMPY in filename)


def frames_of(trace: TracebackType | None) -> Iterator[Frame]:
    """The frames of a traceback."""
    while trace is not None:
        yield Frame(trace.tb_frame, Site(trace.tb_frame.f_code, trace.tb_lasti))
        trace = trace.tb_next


def asks_for_sample(frame: Frame) -> bool:
    """Whether a data set is asked for one of its samples there."""
    code, names = frame.site.code, frame.frame.f_locals
    takes_one = code.co_name == "__getitem__" and code.co_argcount == 2
    return takes_one and "self" in names and code.co_varnames[1] in names
