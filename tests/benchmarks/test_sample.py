"""The sample for judges keeps verdicts and is the same for the same seed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import findings
import sample
from findings import Finding


def finding(row: int, package: str = "timm", code: str = "SL101") -> Finding:
    return Finding(package, "timm/loss.py", row, 5, code, "x can be 0", f"torch.log(x{row})", "unguarded", ())


FOUND = [finding(row, package) for package in ("timm", "kornia") for row in range(1, 60)]


def test_the_same_seed_draws_the_same_findings_in_any_order() -> None:
    assert sample.draw(FOUND, 20, 1, 99) == sample.draw(FOUND[::-1], 20, 1, 99)
    assert sample.draw(FOUND, 20, 1, 99) != sample.draw(FOUND, 20, 2, 99)


def test_one_finding_more_changes_one_drawn_finding_at_most() -> None:
    before = set(sample.draw(FOUND, 20, 1, 99))
    after = set(sample.draw([*FOUND, finding(99, "monai")], 20, 1, 99))
    assert len(before - after) <= 1


def test_no_package_gives_more_than_the_cap() -> None:
    drawn = sample.draw(FOUND, 20, 1, 5)
    assert [sum(item.package == name for item in drawn) for name in ("timm", "kornia")] == [5, 5]


def test_a_verdict_outlives_a_moved_line_and_is_kept_when_not_drawn(tmp_path: Path) -> None:
    table = tmp_path / "judged.csv"
    rows = sample.merge([finding(1), finding(2)], [])
    rows[0].update(verdict="worth", reason="softmax, can be 0")
    rows[1].update(verdict="noise", reason="a count")
    sample.VERDICTS.write(table, rows)

    known = sample.VERDICTS.read(table)
    moved = sample.merge([replace(finding(1), row=70)], known)
    assert (moved[0]["place"], moved[0]["verdict"], moved[0]["reason"]) == (
        "timm/loss.py:70",
        "worth",
        "softmax, can be 0",
    )
    assert [row["verdict"] for row in sample.keep_judged(moved, known)] == ["noise"]


def test_the_score_counts_judged_rows_alone() -> None:
    rows = sample.merge([finding(row) for row in range(4)], [])
    for row, verdict in zip(rows, ["worth", "worth", "noise"], strict=False):
        row["verdict"] = verdict
    assert sample.VERDICTS.score(rows).splitlines()[-1] == "all      2 of   3  67% over 1 packages"


def test_an_unknown_verdict_is_refused_with_its_place(tmp_path: Path) -> None:
    table = tmp_path / "judged.csv"
    rows = sample.merge([finding(1)], [])
    rows[0]["verdict"] = "maybe"
    sample.VERDICTS.write(table, rows)
    with pytest.raises(SystemExit, match=r"timm/loss\.py:1.*maybe"):
        sample.VERDICTS.read(table)


def test_an_expression_over_two_lines_is_cut_exactly() -> None:
    lines = ["y = torch.log(", "    p)  # here"]
    text = findings._cut(lines, {"row": 1, "column": 5}, {"row": 2, "column": 7})
    assert text == "torch.log(\n    p)"
