from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from stablelint.diagnostic import Edit, Position, Span
from stablelint.report.context import Sources, rewritten


def edit(row: int, column: int, end_row: int, end_column: int, content: str) -> Edit:
    return Edit(Span(Position(row, column), Position(end_row, end_column)), content)


def test_a_replacement_within_a_line() -> None:
    assert rewritten(["a = log(x)"], [edit(1, 5, 1, 8, "log1p")]) == [(1, ["a = log(x)"], ["a = log1p(x)"])]


def test_edits_of_one_line_are_one_hunk_and_of_distant_lines_two() -> None:
    lines = ["a b", "c", "d e"]
    edits = [edit(3, 1, 3, 2, "D"), edit(1, 1, 1, 2, "A"), edit(1, 3, 1, 4, "B")]
    assert rewritten(lines, edits) == [(1, ["a b"], ["A B"]), (3, ["d e"], ["D e"])]


def test_an_inserted_line_leaves_its_neighbours_out() -> None:
    assert rewritten(["import a", "x"], [edit(2, 1, 2, 1, "import b\n")]) == [(2, [], ["import b"])]


def test_a_deleted_line() -> None:
    assert rewritten(["a", "b", "c"], [edit(2, 1, 3, 1, "")]) == [(2, ["b"], [])]


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
def test_positions_outside_the_text_do_no_harm(row: int, column: int, end_row: int, end_column: int) -> None:
    rewritten(["ab", "c"], [edit(min(row, end_row), column, max(row, end_row), end_column, "x")])


def test_lines_end_where_python_ends_them(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"a\r\nb\x0cb\rc\nd")
    assert Sources().lines(str(path)) == ["a", "b\x0cb", "c", "d"]


def test_the_encoding_is_that_of_the_cookie(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes("# coding: latin-1\né".encode("latin-1"))
    assert Sources().lines(str(path))[1] == "é"
    path.write_bytes(b"# coding: nonsense\n")
    assert Sources().lines(str(path)) == []


def test_what_is_held_outranks_the_disk() -> None:
    assert Sources({"/nowhere.py": b"x = 1\n"}).lines("/nowhere.py")[0] == "x = 1"
