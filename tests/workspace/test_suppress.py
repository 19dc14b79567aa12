import pytest

from stablelint.diagnostic import Diagnostic, Level, Position, Severity, Span, Status
from stablelint.workspace.suppress import mentions, suppress


def finding(
    row: int, end_row: int | None = None, code: str = "SL101", name: str = "unguarded-log"
) -> Diagnostic:
    span = Span(Position(row, 1), Position(end_row or row, 5))
    return Diagnostic(
        code, name, "f.py", span, "m", Severity.ERROR, Status.VIOLATED, Level.LIKELY, "torch.log(x)"
    )


def silenced(source: str, *findings: Diagnostic) -> list[bool]:
    outcome = suppress(source.encode(), "f.py", findings)
    return [item in outcome.silenced for item in findings]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NOQA",
        "# noqa: SL101",
        "# noqa:SL101",
        "# noqa: E501, SL101",
        "# noqa: E501 SL101",
        "# type: ignore  # noqa: SL101",
        "# stablelint: ignore",
        "# stablelint: ignore[SL101]",
        "# stablelint: ignore[SL102, SL101] the data is positive",
        "# stablelint: ignore[unguarded-log]",
        "# stablelint:ignore[SL101]",
    ],
)
def test_comments_that_silence(comment: str) -> None:
    assert silenced(f"y = log(x)  {comment}\n", finding(1)) == [True]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: E501",
        "# noqa: SL102",
        "# noqanda",
        "# stablelint: ignore[SL102]",
        "# stablelint: ignored",
        "# why",
    ],
)
def test_comments_that_do_not_silence(comment: str) -> None:
    assert silenced(f"y = log(x)  {comment}\n", finding(1)) == [False]


def test_text_in_a_string_is_no_comment() -> None:
    assert silenced("y = log('# noqa')\n", finding(1)) == [False]


def test_first_and_last_line_of_a_finding_count_but_not_those_between() -> None:
    source = "y = log(  {}\n    x  {}\n)  {}\n"
    for place, expected in ((0, True), (1, False), (2, True)):
        comments = ["", "", ""]
        comments[place] = "# noqa: SL101"
        assert silenced(source.format(*comments), finding(1, 3)) == [expected]


def test_the_line_behind_a_long_string_or_a_backslash_stands_for_the_lines_within() -> None:
    assert silenced('y = log(x, """\n\n""")  # noqa: SL101\n', finding(1)) == [True]
    assert silenced("y = log(x) + \\\n    2  # noqa: SL101\n", finding(1)) == [True]
    assert silenced("y = log(x)\nz = 2  # noqa: SL101\n", finding(1)) == [False]


def test_a_whole_file_can_be_silenced_for_all_or_some_rules() -> None:
    assert silenced("# stablelint: ignore-file\nlog(x)\n", finding(2)) == [True]
    source = "# stablelint: ignore-file[SL101] generated\nlog(x)\n"
    assert silenced(source, finding(2), finding(2, code="SL102", name="unguarded-division")) == [True, False]


@pytest.mark.parametrize(
    ("source", "columns"),
    [
        ("x = 1  # noqa: SL101\n", [(8, 21)]),
        ("x = 1  # stablelint: ignore[SL101, SL102]\n", [(29, 34), (36, 41)]),
        ("x = 1  # stablelint: ignore\n", [(8, 28)]),
        ("x = 1  # noqa: E501, SL103\n", [(22, 27)]),
        ("x = 1  # noqa\n", []),
        ("x = 1  # noqa: E501\n", []),
    ],
)
def test_comments_that_silence_nothing_are_reported(source: str, columns: list[tuple[int, int]]) -> None:
    unused = suppress(source.encode(), "f.py", []).unused
    assert [(item.span.start.column, item.span.end.column) for item in unused] == columns
    assert {item.code for item in unused} <= {"SL001"}


def test_only_the_unused_code_of_a_list_is_reported() -> None:
    outcome = suppress(b"log(x)  # noqa: SL101, SL102\n", "f.py", [finding(1)])
    assert [item.expression for item in outcome.unused] == ["SL102"]


def test_the_fix_removes_the_comment_and_the_space_before_it() -> None:
    (item,) = suppress(b"x = 1  # noqa: SL101\n", "f.py", []).unused
    assert item.fix is not None
    (edit,) = item.fix.edits
    assert (edit.span.start.column, edit.span.end.column, edit.content) == (6, 21, "")


def test_columns_count_characters() -> None:
    (item,) = suppress('x = "é文"  # noqa: SL101\n'.encode(), "f.py", []).unused
    assert item.span.start.column == 11


def test_a_file_that_cannot_be_tokenised_silences_nothing() -> None:
    assert silenced("log(x)  # noqa\n'''", finding(1)) == [False]
    assert suppress(b"\xff # noqa", "f.py", [finding(1)]).silenced == ()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"# stablelint: ignore", True),
        (b"# noqa: SL101", True),
        (b"# noqa: E501,SL1", True),
        (b"# noqa", False),
    ],
)
def test_files_without_findings_are_read_only_if_they_hold_a_comment_of_ours(
    data: bytes, expected: bool
) -> None:
    assert mentions(data) is expected
