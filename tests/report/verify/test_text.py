"""What a verification says at a terminal."""

from dataclasses import replace

import pytest

from stablelint.diagnostic import Position, Span
from stablelint.report.context import Context
from stablelint.report.style import Style
from stablelint.report.verify.text import meaning, render
from stablelint.runtime.verify.outcome import (
    OperandShown,
    Report,
    Rerun,
    Run,
    SiteReport,
    WitnessShown,
)
from stablelint.runtime.verify.site import Kind, Site, Verdict

SITE = Site(
    "SL101",
    "/project/loss.py",
    Span(Position(3, 5), Position(3, 17)),
    "torch.log(p)",
    "torch.log(p)",
    "torch.log(p.clamp_min(1e-30))",
    {"x": "p"},
    name="unguarded-log",
)
OPERAND = OperandShown("p", (2,), "float32", (0.0, 1.0), "float32 2")
WITNESS = WitnessShown(
    "captured", "captured 0", (OPERAND,), "1 Inf of 2 forward", "finite forward", failed="forward"
)
NO_FIX = replace(SITE, fixed=None, has_fix=False)
CONTEXT = Context(folder="/project", style=Style(False), width=100, rules={})


def _shown(report: Report) -> str:
    return render(report, CONTEXT)


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (
            SiteReport(SITE, Verdict.CONFIRMED, 3, witness=WITNESS),
            "fails on operands of this command; the fix cures it",
        ),
        (
            SiteReport(NO_FIX, Verdict.CONFIRMED, 3, witness=WITNESS),
            "fails on operands of this command; no fix is proposed",
        ),
        (
            SiteReport(NO_FIX, Verdict.LATENT, 3, witness=WITNESS),
            "fails on boundary operands alone; no fix is proposed",
        ),
        (
            SiteReport(SITE, Verdict.CONFIRMED, 3, witness=replace(WITNESS, failed="accuracy")),
            "loses most digits on operands of this command; the fix cures it",
        ),
        (
            SiteReport(SITE, Verdict.REACHABLE, 3, witness=replace(WITNESS, failed="refused")),
            "raises an error on inputs that a search found; the fix cures it",
        ),
        (
            SiteReport(SITE, Verdict.NOT_REPRODUCED, 3, witness=WITNESS, cases=1),
            "the original fails; its fix cannot be replayed by itself",
        ),
        (SiteReport(SITE, Verdict.NOT_REPRODUCED, 3), "it could not be evaluated outside its program"),
        (
            SiteReport(replace(SITE, kind=Kind.SEQUENCE), Verdict.NOT_REPRODUCED, 3),
            "nothing can be replayed",
        ),
        (SiteReport(SITE, Verdict.NOT_REPRODUCED, 3, cases=9), "healthy: nothing that was tried fails"),
        (SiteReport(SITE, Verdict.NOT_REPRODUCED, 0, cases=9), "nothing that was tried fails"),
        (
            SiteReport(replace(SITE, kind=Kind.SEQUENCE), Verdict.CONFIRMED, 3),
            "the command fails without the fix and not with it",
        ),
        (
            SiteReport(SITE, Verdict.INEFFECTIVE, 3, witness=replace(WITNESS, fixed_failed="error")),
            "the fix raises an error",
        ),
        (
            SiteReport(SITE, Verdict.DIVERGES, 3, witness=WITNESS, guilty=True),
            "the command is worse with this fix",
        ),
        (SiteReport(SITE, Verdict.DIVERGES, 3), "the fix changes healthy values"),
    ],
)
def test_the_meaning_of_a_verdict_is_that_of_the_very_site(report: SiteReport, expected: str) -> None:
    assert meaning(report) == expected


def test_a_proved_site_shows_its_witness() -> None:
    text = _shown(
        Report((SiteReport(SITE, Verdict.CONFIRMED, 1234, witness=WITNESS, notes=("seen twice",)),))
    )
    assert "--> loss.py:3:5" in text
    assert "- torch.log(p)\n" in text
    assert "+ torch.log(p.clamp_min(1e-30))\n" in text
    assert "on captured 0: p = float32 2 [0, 1]" in text
    assert "1,234 calls" in text
    assert "note: seen twice" in text
    assert "Verified 1 site: 1 confirmed." in text


def test_a_witness_that_shows_some_elements_of_many_says_so() -> None:
    large = replace(OPERAND, shape=(2, 4), values=(0.0, 0.0, 1.0, 1.0), text="float32 2×4")
    shown = _shown(
        Report((SiteReport(SITE, Verdict.CONFIRMED, 3, witness=replace(WITNESS, operands=(large,))),))
    )
    assert "p = float32 2×4 [0, 0, …, 1, 1]" in shown


def test_a_narrow_terminal_gets_narrow_lines() -> None:
    note = "the replay left out what the command itself had written into the tensor before"
    site = SiteReport(SITE, Verdict.CONFIRMED, 1234, witness=WITNESS, notes=(note,))
    narrow = render(Report((site,)), replace(CONTEXT, width=50))
    assert max(map(len, narrow.splitlines())) <= 50
    assert " ".join(narrow.split()) == " ".join(_shown(Report((site,))).split())


def test_sites_that_were_not_reached_take_a_line_each() -> None:
    unreached = SiteReport(SITE, Verdict.NOT_REACHED, notes=("the fix computes more",))
    text = _shown(Report((unreached, unreached)))
    assert "Verified nothing: none of 2 sites was reached." in text
    assert text.splitlines()[:4] == [
        "not-reached: the command never came here",
        "    loss.py:3:5: SL101 unguarded-log",
        "    loss.py:3:5: SL101 unguarded-log",
        "",
    ]


def test_the_rerun_names_the_guilty_fix() -> None:
    run = Run(0, 1.0)
    rerun = Rerun(run, replace(run, status=1), 1, "the command ended with status 1", False, (SITE.id,))
    text = _shown(Report((SiteReport(SITE, Verdict.DIVERGES, 3, guilty=True),), rerun))
    assert "rerun with 1 fix: failed, the command ended with status 1" in text
    assert "guilty: the fix of SL101 at loss.py:3" in text
