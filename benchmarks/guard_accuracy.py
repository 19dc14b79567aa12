"""Which detector names the origin: every scenario of the tests under the guard and under other detectors.

For each detector: alarms on faulty programs, how many of these name the very expression (file, row, columns),
how many at least its row, and alarms on healthy programs. For the guard also, by origin, whether it told the origin.

Usage: python benchmarks/guard_accuracy.py [--page docs/guard.md]
"""

import argparse
import contextlib
import io
import runpy
import sys
import traceback
import warnings
from collections import defaultdict
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

import page
from guard_detectors import DETECTORS, SKIPPED, FoundError

from stablelint.runtime.guard import NonFiniteError
from tests.runtime.guard.test_scenarios import BENIGN, FAULTY, expected_in, watch


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


def by_origin() -> list[list[str]]:
    """For each origin: programs, those whose expression the guard names exactly, those whose origin it tells."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for path in FAULTY:
        expected, event = expected_in(path), watch(path)
        place = event.location if event is not None else None
        start = place.span.start if place is not None and place.span is not None else None
        spot = None if start is None else (start.row, start.column)
        count = counts[expected.origin]
        count[0] += 1
        count[1] += event is not None and (expected.start is None or spot == (expected.row, expected.start))
        count[2] += event is not None and event.origin.value == expected.origin
    return [[origin, *map(str, count)] for origin, count in sorted(counts.items())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="write the table into this page")
    options = parser.parse_args()
    cells: list[list[str]] = []
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
        cells.append([detector, str(alarms), str(exact), str(rows), str(false)])
    if options.page is not None:
        of = f"of {len(FAULTY)}"
        head = ["detector", f"alarms {of}", f"expression {of}", f"row {of}", f"false alarms of {len(BENIGN)}"]
        page.fill(options.page, "accuracy", page.table(head, cells))
        page.fill(
            options.page,
            "origins",
            page.table(["origin", "programs", "expression", "origin told"], by_origin()),
        )
    for detector in SKIPPED:
        print(f"{detector:<18} skipped: it is not installed")


if __name__ == "__main__":
    main()
