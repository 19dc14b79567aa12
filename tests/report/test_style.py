import io

import pytest

from stablelint.report.style import PIPED_WIDTH, Style, wants_colour, width_of


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_colour_is_for_terminals() -> None:
    assert wants_colour(Terminal())
    assert not wants_colour(io.StringIO())


@pytest.mark.parametrize(
    ("name", "value", "terminal", "expected"),
    [
        ("NO_COLOR", "1", True, False),
        ("NO_COLOR", "", True, True),
        ("FORCE_COLOR", "1", False, True),
        ("TERM", "dumb", True, False),
    ],
)
def test_the_environment_decides(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, terminal: bool, expected: bool
) -> None:
    monkeypatch.setenv(name, value)
    assert wants_colour(Terminal() if terminal else io.StringIO()) is expected


def test_a_closed_stream_is_no_terminal() -> None:
    stream = io.StringIO()
    stream.close()
    assert not wants_colour(stream)


def test_width_of_a_pipe_is_fixed_and_of_columns_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert width_of(io.StringIO()) == PIPED_WIDTH
    monkeypatch.setenv("COLUMNS", "77")
    assert width_of(io.StringIO()) == 77


def test_without_colour_text_is_left_alone() -> None:
    assert Style(False).error("x") == "x"
    assert Style(True).error("x") == "\x1b[1;31mx\x1b[0m"
    assert Style(True).error("") == ""
