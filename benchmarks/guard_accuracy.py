"""Which detector names the origin: every scenario of the tests under the guard and under other detectors.

For each detector: alarms on faulty programs, how many of these name the very expression (file, row, columns),
how many at least its row, and alarms on healthy programs. Usage: python benchmarks/guard_accuracy.py
"""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
import traceback
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from guard_detectors import DETECTORS, SKIPPED, FoundError

from stablelint.runtime.guard import NonFiniteError
from tests.runtime.guard.test_scenarios import BENIGN, FAULTY, expected_in


def outcome(detector: str, path: Path) -> tuple[bool, int | None, int | None]:
    """Whether there was an alarm, and the row and column it names."""
    said = io.StringIO()
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(said),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        try:
            with DETECTORS[detector]():
                runpy.run_path(str(path), run_name="__main__")
        except NonFiniteError as error:
            location = error.event.location
            if location is None or location.filename != str(path):
                return True, None, None
            return True, location.row, location.span.start.column if location.span else None
        except FoundError as error:
            return True, _last_row(error, path), None
        except RuntimeError:
            # anomaly detection tells the forward line in a warning that holds a traceback
            told = "".join(str(warning.message) for warning in caught)
            return True, _row_in(told, path), None
    return False, None, None


def _last_row(error: Exception, path: Path) -> int | None:
    rows = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    return rows[-1] if rows else None


def _row_in(text: str, path: Path) -> int | None:
    lines = [line for line in text.splitlines() if f'File "{path}"' in line]
    return int(lines[-1].rpartition("line ")[2].partition(",")[0]) if lines else None


def main() -> None:
    torch.set_num_threads(1)
    print(f"{'detector':<18} {'alarm':>9} {'expression':>11} {'row':>9} {'false alarms':>13}")
    for detector in DETECTORS:
        alarms = exact = rows = 0
        for path in FAULTY:
            expected = expected_in(path)
            alarm, row, column = outcome(detector, path)
            alarms += alarm
            spot = (expected.row, expected.start)
            anywhere = expected.start is None  # growth has no one place
            rows += alarm and (anywhere or row == expected.row)
            exact += alarm and column is not None and (anywhere or (row, column) == spot)
        false = sum(outcome(detector, path)[0] for path in BENIGN)
        total = len(FAULTY)
        counts = f"{alarms:>4} / {total} {exact:>6} / {total} {rows:>4} / {total}"
        print(f"{detector:<18} {counts} {false:>8} / {len(BENIGN)}")
    for detector in SKIPPED:
        print(f"{detector:<18} skipped: it is not installed")


if __name__ == "__main__":
    main()
