import os
from dataclasses import replace
from pathlib import Path

import pytest

from stablelint.diagnostic import Diagnostic, Level, Position, Severity, Span, Status
from stablelint.workspace.baseline import BaselineError, marked, read, unknown, write


def finding(root: Path, row: int, expression: str = "torch.log(x)", name: str = "a.py") -> Diagnostic:
    span = Span(Position(row, 1), Position(row, 5))
    return Diagnostic(
        "SL101",
        "unguarded-log",
        os.fspath(root / name),
        span,
        "m",
        Severity.ERROR,
        Status.VIOLATED,
        Level.LIKELY,
        expression,
    )


def test_what_was_recorded_is_known_wherever_it_moves(tmp_path: Path) -> None:
    path = str(tmp_path / "known.json")
    write(path, [finding(tmp_path, 3)], str(tmp_path))
    assert unknown(read(path), [finding(tmp_path, 30)], str(tmp_path)) == []
    assert unknown(read(path), [finding(tmp_path, 3, "torch.log( x )")], str(tmp_path)) == []


def test_another_expression_file_or_one_more_of_the_same_is_new(tmp_path: Path) -> None:
    path = str(tmp_path / "known.json")
    write(path, [finding(tmp_path, 3)], str(tmp_path))
    other = finding(tmp_path, 3, "torch.log(y)")
    elsewhere = finding(tmp_path, 3, name="b.py")
    again = finding(tmp_path, 9)
    found = [finding(tmp_path, 3), again, other, elsewhere]
    assert unknown(read(path), found, str(tmp_path)) == [again, other, elsewhere]


def test_a_baseline_holds_wherever_the_project_lies(tmp_path: Path) -> None:
    path = str(tmp_path / "known.json")
    write(path, [finding(tmp_path / "one", 3)], str(tmp_path / "one"))
    assert unknown(read(path), [finding(tmp_path / "two", 3)], str(tmp_path / "two")) == []


def test_equal_findings_have_different_fingerprints(tmp_path: Path) -> None:
    found = [finding(tmp_path, row) for row in range(1, 5)]
    marks = [mark for _, mark in marked(found, str(tmp_path))]
    assert len(set(marks)) == 4
    ((_, other),) = marked([replace(found[0], message="other")], str(tmp_path))
    assert other == marks[0]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 1, "findings": [1]}', '{"version": 9, "findings": []}']
)
def test_a_file_that_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(BaselineError) as caught:
        read(str(path))
    assert caught.value.problems[0].filename == str(path)


def test_a_missing_baseline_says_how_to_record_one(tmp_path: Path) -> None:
    with pytest.raises(BaselineError) as caught:
        read(str(tmp_path / "gone.json"))
    assert "--write-baseline" in (caught.value.problems[0].hint or "")


def test_a_baseline_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="cannot write"):
        write(str(tmp_path / "no" / "known.json"), [], str(tmp_path))
    assert list(tmp_path.iterdir()) == []
