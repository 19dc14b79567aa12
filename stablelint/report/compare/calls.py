"""`stablelint.compare` and what goes with it, for programs and tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from stablelint.report.compare.text import render
from stablelint.report.context import Context
from stablelint.runtime.compare.tensors.tolerance import Tolerances
from stablelint.runtime.compare.within import (
    Recording,
    compare_functions,
    compare_recordings,
    compare_values,
    record_twice,
)
from stablelint.runtime.plain import plain

recording = Recording


class Report:
    """The result of a comparison: `same`, the report as data, and as text."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @property
    def same(self) -> bool:
        """Whether the two are the same."""
        return bool(self.data["same"])

    def __bool__(self) -> bool:
        return self.same

    def __str__(self) -> str:
        return render(self.data, Context(os.getcwd())).rstrip()


def compare(
    first: Any,
    second: Any,
    inputs: Sequence[Any] | None = None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
) -> Report:
    """Compare two recordings, two functions or modules on `inputs`, or two sets of tensors.

    Recordings are compared bit for bit; what has values within tolerances (by default those of the element type).
    With `inputs`, results and gradients are compared. Without, a module stands for its state.
    """
    if isinstance(first, Recording) and isinstance(second, Recording):
        return Report(plain(compare_recordings(first, second)))
    tolerances = Tolerances(rtol, atol, equal_nan)
    if inputs is not None:
        found = compare_functions(first, second, inputs, tolerances)
    else:
        found = compare_values(first, second, tolerances)
    names = {"kind": "tensors", "same": found.same, "first": "first", "second": "second"}
    return Report({**names, **plain(found)})


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
) -> None:
    """Raise AssertionError, with the tolerance report as its message, where two sets of tensors are not close."""
    report = compare(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if not report:
        raise AssertionError(str(report))


def assert_reproducible(function: Callable[[], object]) -> None:
    """Call `function` twice from the same random state; raise AssertionError, naming the expression, if they part.

    What it changes besides the generators (parameters, files) it must set itself anew.
    """
    report = compare(*record_twice(function))
    if not report:
        raise AssertionError(str(report))
