"""The last lines of `stablelint fix`: a fix that was withheld is told once, and not offered again."""

from dataclasses import replace

from report import sample
from stablelint.diagnostic import Applicability, Diagnostic, Edit, Fix
from stablelint.report.context import Context
from stablelint.report.fixes import summary
from stablelint.workspace.fixing import FileFix

CONTEXT = Context(str(sample.FOLDER))


def unsafe(text: str) -> Diagnostic:
    place = sample.span(1, 1, 1, 2)
    fix = Fix(Applicability.UNSAFE, "keep it above 0", (Edit(place, text),))
    return replace(sample.diagnostic("SL101", "unguarded-log", place, "bad"), expression=text, fix=fix)


def lines(withheld: Diagnostic, *left: Diagnostic) -> list[str]:
    stays = replace(withheld, fix=None, fix_withheld="a comment would be lost")
    item = FileFix(withheld.filename, b"x", b"x", withheld=(stays,), left=left)
    return list(summary([item], 0, True, CONTEXT))


def test_what_was_withheld_is_not_offered() -> None:
    first, second = unsafe("log(x)"), unsafe("log(y)")
    assert not any("--unsafe-fixes" in line for line in lines(first, first))
    assert (
        "1 finding has a rewrite that can change values: `--unsafe-fixes`." in lines(first, first, second)[-1]
    )


def test_where_only_proved_fixes_are_asked_for_the_others_are_counted() -> None:
    item = FileFix("f.py", b"x", b"x", left=(unsafe("log(x)"),))
    told = list(summary([item], 0, False, CONTEXT, verified=True))
    assert told == ["Nothing to fix.", "1 finding has a rewrite that no run has proved: `stablelint verify`."]
