"""Findings of little confidence: a line each, most likely first, by file."""

import json
import os
from dataclasses import replace

from report import sample
from stablelint.diagnostic import RULE, Diagnostic, Level, Reason
from stablelint.report.context import Context
from stablelint.report.formats import render
from stablelint.report.rest import SHOWN, confidence_line
from stablelint.workspace.result import CheckResult

PIPED = Context(os.fspath(sample.FOLDER))
TERMINAL = replace(PIPED, terminal=True)
REASONS = (Reason("shown", "known operations lead to it", 1.5), Reason("mute", "weighs nothing", 0.0))


def possible(number: int, confidence: float, file: str = "a.py") -> Diagnostic:
    """A finding in the line `number`, whose expression no other line has."""
    place = sample.span(number, 1, number, 9)
    filename = os.fspath(sample.FOLDER / file)
    return replace(
        sample.LOG,
        expression=f"torch.log(x{number})",
        span=place,
        filename=filename,
        level=Level.POSSIBLE,
        confidence=confidence,
        because=REASONS,
    )


def result(*items: Diagnostic, level: Level = Level.LIKELY) -> CheckResult:
    return CheckResult(items, files=1, level=level)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if " SL101 " in line]


def test_the_most_likely_comes_first_and_files_stay_together() -> None:
    items = (possible(1, 0.1), possible(2, 0.4), possible(3, 0.2, "b.py"))
    text = render("full", result(*items), PIPED)
    assert [line.split()[0] for line in lines(text)] == ["2:1", "1:1", "3:1"]
    assert text.index("a.py") < text.index("b.py")
    assert "Found 3 possible findings in 1 file." in text


def test_a_terminal_is_given_a_screenful_and_a_pipe_everything() -> None:
    items = [possible(n, 1 / (n + 2)) for n in range(1, SHOWN + 4)]
    shown = render("full", result(*items), TERMINAL)
    assert len(lines(shown)) == SHOWN
    assert "… 3 more: `--level possible`" in shown
    assert len(lines(render("full", result(*items), PIPED))) == len(items)


def test_equal_expressions_are_told_once_with_their_other_places() -> None:
    items = [replace(possible(n, c, file), expression="torch.log(x)") for n, c, file in
             [(1, 0.1, "a.py"), (5, 0.1, "a.py"), (2, 0.04, "b.py")]]  # fmt: skip
    items[1] = replace(items[1], expression="torch.log( x )")
    text = render("full", result(*items, possible(9, 0.02)), PIPED)
    assert len(lines(text)) == 2
    assert lines(text)[0].endswith("unguarded-log, also at 5:1, b.py:2:1 (4%)")
    assert "Found 4 possible findings" in text
    narrow = render("full", result(*items), replace(PIPED, width=50))
    assert f"\n{' ' * 22}also at 5:1, b.py:2:1 (4%)\n" in narrow
    ran = replace(items[1], because=(Reason("seen_zero", "a run has seen 0", 1.0),))
    assert len(lines(render("full", result(items[0], ran), PIPED))) == 2


def test_a_confidence_is_rounded_down_and_never_to_nothing() -> None:
    text = render("full", result(*(possible(n, c) for n, c in enumerate((0.1399, 0.12, 0.001), 1))), PIPED)
    assert "below 14%" in text
    assert [line.split()[2] for line in lines(text)] == ["13%", "12%", "<1%"]


def test_at_the_level_possible_nothing_is_left_for_a_line() -> None:
    text = render("full", result(possible(1, 0.1), level=Level.POSSIBLE), TERMINAL)
    assert "--> a.py:1:1" in text
    assert "below" not in text


def test_a_confidence_tells_the_reasons_that_weigh() -> None:
    assert confidence_line(possible(1, 0.72)) == "72%; for: known operations lead to it"
    because = (Reason("in_script", "stands in a script", -1.4), Reason(RULE, "3 of 9 were worth it", 0.1))
    weighed = replace(possible(1, 0.2), because=because)
    assert confidence_line(weighed) == "20%; 3 of 9 were worth it; against: stands in a script"


def test_machines_are_told_the_confidence_of_everything() -> None:
    found = result(possible(1, 0.25))
    (item,) = json.loads(render("json", found, PIPED))
    assert (item["level"], item["confidence"]) == ("possible", 0.25)
    assert [reason["fact"] for reason in item["because"]] == ["shown"]
    (run,) = json.loads(render("sarif", found, PIPED))["runs"]
    assert (run["results"][0]["level"], run["results"][0]["rank"]) == ("note", 25.0)
    assert render("github", found, PIPED).startswith("::notice ")
    assert json.loads(render("gitlab", found, PIPED))[0]["severity"] == "info"


def test_findings_of_which_the_same_is_to_be_said_are_told_once() -> None:
    one, *others = (replace(possible(n, 0.3, f"{n}.py"), level=Level.LIKELY) for n in (1, 2, 3))
    apart = replace(others[0], message="another message", filename=one.filename)
    text = render("full", result(one, *others, apart), PIPED)
    assert text.count(f"SL101 unguarded-log: {one.message}\n") == 1
    assert (
        "= same: at 2 more places\n    2.py:2:1   30%  torch.log(x2)\n    3.py:3:1   30%  torch.log(x3)\n"
        in text
    )
    assert "another message" in text
    assert "Found 4 likely findings" in text
    assert len(json.loads(render("json", result(one, *others, apart), PIPED))) == 4
    assert render("concise", result(one, *others, apart), PIPED).count(" SL101 ") == 4
