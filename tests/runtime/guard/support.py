"""Programs that go wrong, run under the guard with its rules."""

import runpy
from pathlib import Path
from typing import Any

import pytest

import stablelint
from stablelint.runtime.guard.api import Report


def report_of(program: Path, **options: Any) -> Report:
    """What the guard, with `options`, says of the fault that ends the program."""
    with pytest.raises(stablelint.NonFiniteError), stablelint.guard(**options) as guard:
        runpy.run_path(str(program), run_name="__main__")
    (report,) = guard.reports
    assert isinstance(report, Report)
    return report
