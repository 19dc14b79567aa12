import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablelint.diagnostic import Position, Span
from stablelint.syntax.source import SourceError, decode, parse, syntax_problem


def names(text: str) -> tuple[list[str], list[str]]:
    """Each name as the tree has it, and as the source has it at the name's place."""
    source = parse(text.encode(), "a.py")
    nodes = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name)]
    return [n.id for n in nodes], [source.segment(n) for n in nodes]


@pytest.mark.parametrize(
    "text",
    [
        "a = b\n",
        "a = 'é' + b\n",
        "a = '\U0001f600' + b; c = d\n",
        "a = b\r\nc = d\r\n",
        "a = (b +\n     c)\n",
        "\ufeffa = b\n",
        "a = '''\n\x0c''' + b\n",
        "if a:\n\tb = c\n",
        "x = a\x0c\ny = b\n",
    ],
)
def test_a_span_holds_what_it_is_of(text: str) -> None:
    expected, found = names(text)
    assert found == expected


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20))
def test_columns_count_characters(text: str) -> None:
    source = parse(f"({text!r}, name)".encode(), "a.py")
    node = source.tree.body[0].value.elts[1]
    start = len(f"({text!r}, ") + 1
    assert source.span(node) == Span(Position(1, start), Position(1, start + 4))


def test_a_segment_over_several_lines() -> None:
    source = parse(b"a = f(\n    1,\n    2,\n)\n", "a.py")
    assert source.segment(source.tree.body[0].value) == "f(\n    1,\n    2,\n)"


def test_an_encoding_is_taken_from_the_cookie() -> None:
    assert decode("# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"), "a.py").endswith("'é'\n")


@pytest.mark.parametrize(
    ("data", "row", "words"),
    [
        (b"x = 1\ny = '\xff'\n", 2, "0xff"),
        (b"x = '\xff'\n", 1, "byte 0xff is not utf-8"),
        (b"# -*- coding: klingon -*-\n", 1, "klingon"),
        (b"x = 1\ny = = 2\n", 2, "cannot parse"),
        (b"def f(:\n", 1, "cannot parse"),
        (b"x = 1\n  y = 2\n", 2, "cannot parse"),
        (b"x = 'a\n", 1, "cannot parse"),
        (b"x = 1\x00\n", 1, "cannot parse"),
    ],
)
def test_what_cannot_be_read_has_a_place_and_a_reason(data: bytes, row: int, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse(data, "a.py")
    problem = caught.value.problem
    assert problem.filename == "a.py"
    assert problem.position is not None
    assert problem.position.row == row
    assert words in problem.message
    assert syntax_problem(data, "a.py") == problem


def test_what_is_python_has_no_problem(recwarn: pytest.WarningsRecorder) -> None:
    assert syntax_problem(b"x = '\\d'\ny = x is 1\n", "a.py") is None
    assert syntax_problem(b"x = " + b"-" * 50_000 + b"1\n", "a.py") is None  # only too deep
    assert len(recwarn) == 0


def test_an_expression_too_deep_for_the_parser_is_a_problem() -> None:
    with pytest.raises(SourceError) as caught:
        parse(b"x = " + b"(" * 5000 + b"1" + b")" * 5000, "a.py")
    assert "cannot parse" in caught.value.problem.message


def test_warnings_of_the_parsed_code_are_not_ours(recwarn: pytest.WarningsRecorder) -> None:
    parse(b"x = '\\d'\ny = 1 is 1\n", "a.py")
    assert len(recwarn) == 0
