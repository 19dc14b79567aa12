"""The sample for judges keeps verdicts and is the same for the same seed."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import findings
import judgements
import sample
from findings import Finding


def finding(row: int, package: str = "timm", code: str = "SL101") -> Finding:
    return Finding(package, "timm/loss.py", row, 5, code, "x can be 0", f"torch.log(x{row})", "unguarded", ())


FOUND = [finding(row, package) for package in ("timm", "kornia") for row in range(1, 60)]


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No judgements yet: those of the project stay as they are."""
    monkeypatch.setattr(judgements, "PATH", tmp_path / "judgements.jsonl")


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


def test_a_verdict_outlives_a_moved_line_and_is_kept_when_not_drawn() -> None:
    rows = sample.merge([finding(1), finding(2)], [])
    rows[0].update(verdict="worth", reason="softmax, can be 0")
    rows[1].update(verdict="noise", reason="a count")
    sample.VERDICTS.write("mine", rows)

    known = sample.VERDICTS.read("mine")
    moved = sample.merge([replace(finding(1), row=70)], known)
    assert (moved[0]["place"], moved[0]["verdict"], moved[0]["reason"]) == (
        "timm/loss.py:70",
        "worth",
        "softmax, can be 0",
    )
    assert [row["verdict"] for row in sample.keep_judged(moved, known)] == ["noise"]


def test_the_same_expression_keeps_at_each_place_the_verdict_that_it_got_there() -> None:
    twice = [finding(1), replace(finding(1), row=70)]
    known = sample.merge(twice, [])
    known[0].update(verdict="worth", reason="raw logits")
    known[1].update(verdict="noise", reason="cosines")
    assert [row["verdict"] for row in sample.merge(twice, known)] == ["worth", "noise"]


def test_the_score_counts_judged_rows_alone() -> None:
    rows = sample.merge([finding(row) for row in range(4)], [])
    for row, verdict in zip(rows, ["worth", "worth", "noise"], strict=False):
        row["verdict"] = verdict
    assert sample.VERDICTS.score(rows).splitlines()[-1] == "all      2 of   3  67% over 1 packages"


def judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, found: list[Finding], *arguments: str) -> None:
    """Runs the script over one package in which `found` is all that is reported."""
    (tmp_path / "timm").mkdir(exist_ok=True)
    (tmp_path / "timm" / "loss.py").write_text("x\n" * 99)
    monkeypatch.setattr(sample, "find", lambda options: (found, {"timm": tmp_path}))
    monkeypatch.setattr(sys, "argv", ["sample.py", "--page", str(tmp_path / "page.md"), *arguments])
    sample.main()


@pytest.fixture
def table() -> str:
    """A table in which two findings are judged, beside the tables of the project."""
    rows = sample.merge([finding(1), finding(2), finding(3, "kornia")], [])
    for row, verdict in zip(rows, ["worth", "noise", "worth"], strict=True):
        row.update(verdict=verdict, reason="so")
    sample.VERDICTS.write("other", rows)
    return "other"


def test_another_table_keeps_what_is_not_reported_and_leaves_the_first_ones_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sample.VERDICTS.write(sample.BEFORE, sample.merge([finding(9)], []))
    before = sample.VERDICTS.read(sample.BEFORE)
    judged(monkeypatch, tmp_path, [finding(1), finding(5)], "--table", table)
    assert sample.VERDICTS.read(sample.BEFORE) == before
    assert not sample.VERDICTS.read(sample.JUDGED)
    rows = sample.VERDICTS.read(table)
    assert [(row["package"], row["expression"], row["verdict"]) for row in rows] == [
        ("kornia", "torch.log(x3)", "worth"),
        ("timm", "torch.log(x1)", "worth"),
        ("timm", "torch.log(x2)", "noise"),
        ("timm", "torch.log(x5)", ""),
    ]
    told = capsys.readouterr().out.splitlines()
    assert told[-3:] == [
        "all      1 of   1  100% over 1 packages",
        "gone     0 of   1  0% over 1 packages",
        "both     1 of   2  50% over 1 packages",
    ], "kornia was not looked at, so its finding is not gone"


def test_the_first_table_holds_the_sample_and_the_next_one_the_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, table: str
) -> None:
    sample.VERDICTS.write(sample.JUDGED, sample.VERDICTS.read(table))
    judged(monkeypatch, tmp_path, [finding(1)], "--table", sample.JUDGED)
    assert [row["expression"] for row in sample.VERDICTS.read(sample.JUDGED)] == ["torch.log(x1)"]
    assert [row["expression"] for row in sample.VERDICTS.read(sample.BEFORE)] == [
        "torch.log(x2)",
        "torch.log(x3)",
    ]


def test_an_unknown_verdict_is_refused_with_its_place() -> None:
    rows = sample.merge([finding(1)], [])
    rows[0]["verdict"] = "maybe"
    sample.VERDICTS.write("mine", rows)
    with pytest.raises(SystemExit, match=r"timm/loss\.py:1.*maybe"):
        sample.VERDICTS.read("mine")


def test_an_expression_over_two_lines_is_cut_exactly() -> None:
    lines = ["y = torch.log(", "    p)  # here"]
    text = findings._cut(lines, {"row": 1, "column": 5}, {"row": 2, "column": 7})
    assert text == "torch.log(\n    p)"
