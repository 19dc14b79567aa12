from hypothesis import given
from hypothesis import strategies as st

from stablelint.report.cells import crop, hung, lay_out, one_line, plain, width, wrap

lines = st.text(st.characters(exclude_characters="\n\r"), max_size=60)


def test_tabs_wide_and_combining_characters() -> None:
    assert lay_out("\ta文e\u0301b") == ("    a文e\u0301b", [0, 4, 5, 7, 8, 8, 9])
    assert lay_out("ab\tc") == ("ab  c", [0, 1, 2, 4, 5])


def test_code_over_several_lines_reads_as_on_one() -> None:
    assert one_line("(\n    -0.5 * f(\n        x, [\n  y,\n z\n]\n    )\n)") == "(-0.5 * f(x, [y, z]))"
    assert one_line("a  +\n  b ( c )") == "a + b ( c )"


@given(lines)
def test_every_character_has_its_cell(line: str) -> None:
    shown, cells = lay_out(line)
    assert len(cells) == len(line) + 1
    assert cells == sorted(cells)
    assert cells[-1] == width(shown)


@given(lines)
def test_what_is_shown_holds_no_control_codes(line: str) -> None:
    shown, _ = lay_out(line)
    assert all(ord(character) >= 32 and not 127 <= ord(character) < 160 for character in shown)


@given(lines.map(lambda line: lay_out(line)[0]), st.integers(0, 50), st.integers(3, 40))
def test_a_cropped_line_fits(line: str, shift: int, room: int) -> None:
    assert width(crop(line, shift, room)) <= room + 1


def test_cropping_marks_what_is_left_out() -> None:
    assert crop("abcdefghij", 0, 10) == "abcdefghij"
    assert crop("abcdefghij", 0, 5) == "abcd…"
    assert crop("abcdefghij", 4, 4) == "…fg…"
    assert crop("abcdefghij", 5, 5) == "…ghij"


@given(st.text(alphabet="ab 文", max_size=80), st.integers(4, 30))
def test_wrapping_keeps_the_words_and_the_width(text: str, columns: int) -> None:
    wrapped = wrap(text, columns)
    assert " ".join(wrapped).split() == text.split()
    assert all(width(line) <= columns or " " not in line for line in wrapped)


def test_what_does_not_fit_behind_a_lead_stands_below_it_or_on_a_narrow_line_at_the_left() -> None:
    text = "one two three four five six seven eight"
    assert list(hung("lead: ", text, 36)) == ["lead: one two three four five six", "      seven eight"]
    assert list(hung("a longer lead: ", text, 36, shown="A: ", paint=str.upper)) == [
        "A: ONE TWO THREE FOUR",
        "      FIVE SIX SEVEN EIGHT",
    ]
    assert list(hung("lead: ", text, 24, indent=2)) == ["lead: one two three four", "  five six seven eight"]


def test_plain_text_is_one_line() -> None:
    assert plain("a\n b\t\x1bc") == "a b ?c"
