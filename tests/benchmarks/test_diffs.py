"""What is the matter with the diffs that would not be merged is counted from the judges' own words."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import diffs


def test_the_kinds_of_what_would_be_changed_are_counted() -> None:
    judged = [
        ("change", "form: a stable one exists"),
        ("change", "false: nobody looks at it"),
        ("change", "form: it has a name"),
        ("change", "clamped already"),
        ("merge", "form: as it should be"),
        ("", ""),
    ]
    rows = [{"verdict": verdict, "reason": reason} for verdict, reason in judged]
    assert diffs.kinds(rows) == {"form": 2, "false": 1, "unsorted": 1}
