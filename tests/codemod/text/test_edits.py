import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablelint.codemod.text.diff import patch, unified_diff
from stablelint.codemod.text.edits import OverlappingEdits, apply_edits, conflict, select
from stablelint.codemod.text.source import SourceError, SourceText
from stablelint.diagnostic import Applicability, Edit, Fix, Position, Span

TEXT = "alpha\nbeta\ngamma\n"


def edit(start: int, end: int, content: str, text: str = TEXT) -> Edit:
    return Edit(SourceText.of_text(text).span(start, end), content)


def fix(*edits: Edit) -> Fix:
    return Fix(Applicability.SAFE, "m", edits)


def test_edits_are_made_at_their_places_in_any_order() -> None:
    edits = [edit(6, 10, "BETA"), edit(0, 5, "A"), edit(17, 17, "end")]
    assert apply_edits(TEXT.encode(), edits) == b"A\nBETA\ngamma\nend"


def test_equal_insertions_are_made_once() -> None:
    assert apply_edits(TEXT.encode(), [edit(0, 0, "x\n"), edit(0, 0, "x\n")]) == b"x\n" + TEXT.encode()


def test_edits_that_meet_in_one_text_are_refused() -> None:
    with pytest.raises(OverlappingEdits, match="line 1"):
        apply_edits(TEXT.encode(), [edit(0, 4, "x"), edit(2, 5, "y")])
    with pytest.raises(OverlappingEdits):
        apply_edits(TEXT.encode(), [edit(0, 0, "x"), edit(0, 0, "y")])


def test_an_insertion_at_the_edge_of_a_replacement_is_no_conflict() -> None:
    assert not conflict(edit(0, 0, "x"), edit(0, 5, "y"))
    assert not conflict(edit(5, 5, "x"), edit(0, 5, "y"))
    assert conflict(edit(3, 3, "x"), edit(0, 5, "y"))
    assert apply_edits(TEXT.encode(), [edit(0, 5, "y"), edit(0, 0, "x")]).startswith(b"xy\n")


def test_of_conflicting_fixes_the_first_is_taken_whole() -> None:
    shared = edit(0, 0, "import torch\n")
    fixes = [
        fix(shared, edit(0, 5, "a")),
        fix(edit(3, 7, "b"), edit(11, 12, "c")),
        fix(shared, edit(11, 13, "d")),
    ]
    assert select(fixes) == ([0, 2], [1])


def test_fixes_that_break_a_line_at_one_place_are_made_one_after_the_other() -> None:
    breaking = fix(edit(0, 0, "\n  "), edit(5, 10, "x"))
    replacing = fix(edit(0, 4, "\n  y"))
    before = fix(edit(5, 5, "z"))
    assert select([replacing, breaking]) == ([0], [1])
    assert select([breaking, before]) == ([0], [1])
    assert select([breaking, fix(edit(0, 0, "\n  "), edit(12, 13, "x"))]) == ([0, 1], [])


def test_an_edit_outside_the_file_is_an_error() -> None:
    for position in (Position(9, 1), Position(1, 7), Position(0, 1), Position(1, 0)):
        with pytest.raises(SourceError, match="outside"):
            apply_edits(TEXT.encode(), [Edit(Span(position, position), "x")])


LINES = st.text(st.sampled_from("aé😀\t\x0c\u2028\x85 \n\r"), max_size=30)


@given(LINES)
def test_positions_and_offsets_are_inverse(text: str) -> None:
    source = SourceText.of_text(text)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] != "\r\n":
            position = source.position(offset)
            if offset <= source.line_end(position.row):
                assert source.offset(position) == offset


@given(LINES, st.data())
def test_an_edit_changes_its_span_and_nothing_else(text: str, data: st.DataObject) -> None:
    source = SourceText.of_text(text)
    row = data.draw(st.integers(1, len(source.starts)))
    start = data.draw(st.integers(source.line_start(row), source.line_end(row)))
    end = data.draw(st.integers(start, source.line_end(row)))
    after = apply_edits(text.encode(), [Edit(source.span(start, end), "X")])
    assert after.decode() == text[:start] + "X" + text[end:]


@pytest.mark.parametrize(
    ("source", "encoding"),
    [
        ("# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"), "iso-8859-1"),
        (b"\xef\xbb\xbfx = '\xc3\xa9'\r\n", "utf-8-sig"),
        ("# vim: set fileencoding=cp1251 :\nx = 'ж'\n".encode("cp1251"), "cp1251"),
        ("#!/usr/bin/python\n# coding: euc-jp\nx = '日'\n".encode("euc-jp"), "euc-jp"),
    ],
)
def test_the_encoding_of_the_file_is_kept(source: bytes, encoding: str) -> None:
    decoded = SourceText.decode(source)
    assert decoded.encoding == encoding
    assert decoded.encode(decoded.text) == source
    at = decoded.text.index("x = ")
    after = apply_edits(source, [Edit(decoded.span(at, at + 1), "yy")])
    assert after == source.replace(b"x = ", b"yy = ")


@pytest.mark.parametrize("source", [b"x = '\xff'\n", b"# coding: nonsense\n", b"# coding: ascii\n\xc3\xa9"])
def test_what_cannot_be_decoded_is_never_guessed(source: bytes) -> None:
    with pytest.raises(SourceError, match="decoded"):
        SourceText.decode(source)


def test_text_that_the_encoding_lacks_is_an_error() -> None:
    decoded = SourceText.decode(b"# coding: latin-1\nx = 1\n")
    with pytest.raises(SourceError, match="iso-8859-1"):
        decoded.encode("ж")


def test_a_diff_has_the_newlines_of_the_file() -> None:
    diff = unified_diff(b"a\r\nb\r\nc", b"a\r\nB\r\nc\r\n", "m.py")
    assert diff == (
        "--- a/m.py\n+++ b/m.py\n@@ -1,3 +1,3 @@\n a\r\n-b\r\n-c\n\\ No newline at end of file\n+B\r\n+c\r\n"
    )
    assert unified_diff(b"a\n", b"a\n", "m.py") == ""


def test_form_feeds_and_separators_stay_within_a_line_of_a_diff() -> None:
    before = "x = 'a\u2028b'\n\x0cy\n".encode()
    assert unified_diff(before, before.replace(b"y", b"z"), "m.py").count("\n-") == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\nb\nc", b"a\nX\nc\nd"),
        (
            "# coding: latin-1\ncafé = 1\nx = 2\n".encode("latin-1"),
            "# coding: latin-1\ncafé = 1\nx = 3\n".encode("latin-1"),
        ),
        ("# coding: cp932\n値 = 'ソ'\n".encode("cp932"), "# coding: cp932\n値 = 'ソ!'\n".encode("cp932")),
        ("é = 1\n".encode("utf-8-sig"), "é = 2\n".encode("utf-8-sig")),
        ("x = 'é\u2028\x85'\r\ny = 1\r\n".encode(), "x = 'é\u2028\x85'\r\ny = 2\r\n".encode()),
    ],
    ids=["ascii", "latin-1", "cp932", "byte-order mark", "separators"],
)
@pytest.mark.parametrize("name", ["m.py", "né 値.py"])
def test_a_patch_applies_whatever_the_encoding(
    tmp_path: Path, before: bytes, after: bytes, name: str
) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not here")
    (tmp_path / name).write_bytes(before)
    (tmp_path / "fix.patch").write_bytes(patch(before, after, name))
    subprocess.run(["git", "apply", "fix.patch"], cwd=tmp_path, check=True)
    assert (tmp_path / name).read_bytes() == after


@pytest.mark.parametrize(
    ("other", "taken"), [((1, 1, "(\n    "), [0]), ((1, 1, "x = 1\n"), [0, 1]), ((7, 7, "(\n    "), [0, 1])]
)
def test_of_two_fixes_in_a_line_that_one_breaks_the_other_waits(
    other: tuple[int, int, str], taken: list[int]
) -> None:
    assert select([fix(edit(3, 4, "y")), fix(edit(*other))])[0] == taken
