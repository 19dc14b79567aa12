"""What runs have seen decides: confirmed to the top, sound to the end, by the text of the function."""

from dataclasses import replace
from pathlib import Path

import fake_engine
import pytest

from stablelint.analysis.evidence import score
from stablelint.config import Settings
from stablelint.diagnostic import Diagnostic, Level
from stablelint.runtime.verify.outcome import Report, SiteReport, WitnessShown
from stablelint.runtime.verify.output.evidence import enclosing_text
from stablelint.runtime.verify.site import Site, Verdict
from stablelint.workspace.fixing import FileFix, Wanted, fix_text
from stablelint.workspace.pipeline import check
from stablelint.workspace.result import CheckResult
from stablelint.workspace.runs.evidence import Observation, informed, reason_of, write_observations
from stablelint.workspace.selection import Selection
from stablelint.workspace.session import Request

SELECTION = Selection(frozenset({"SL101", "SL201"}), "/")
SOURCE = "import torch\n\n\ndef f(x):\n    torch.exp(x)\n    return torch.log(x)\n"
LOG, EXP = ("SL101", "torch.log(x)"), ("SL201", "torch.exp(x)")
WITNESS = WitnessShown("varied", "a call", (), "1 Inf", None, line="f(torch.full((), 99.0))  # inf")
EXTENT = {"x": {"min": 0.25, "max": 4.0, "zeros": 0}}

pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture(autouse=True)
def _fixed_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the measured weights are does not matter to what a run has seen."""
    monkeypatch.setattr(score, "weights", lambda: score.Weights(-2.0, {}))


def kept(root: Path, which: tuple[str, str], verdict: Verdict, calls: int = 10, ran: bool = True) -> None:
    """Writes what a verification of `SOURCE` in a.py has seen."""
    code, expression = which
    span = next(item.span for item in findings(root) if item.code == code)
    site = Site(code, "a.py", span, expression, expression, None, {"x": "x"})
    witness = WITNESS if verdict in (Verdict.CONFIRMED, Verdict.REACHABLE) else None
    seen = SiteReport(site, verdict, calls, EXTENT, witness=witness)
    write_observations(root, Report((seen,), command=("python",) if ran else ()), {"a.py": SOURCE.encode()})


def findings(root: Path) -> tuple[Diagnostic, ...]:
    return checked(root).diagnostics


def checked(root: Path, text: str = SOURCE, **settings: object) -> CheckResult:
    (root / "a.py").write_text(text)
    request = Request(Settings(root=root, **settings), SELECTION, use_cache=False)  # type: ignore[arg-type]
    return check([str(root / "a.py")], request, fake_engine.CATALOG)  # type: ignore[arg-type]


def of(result: CheckResult, which: tuple[str, str]) -> Diagnostic:
    return next(item for item in result.diagnostics if item.code == which[0])


@pytest.mark.parametrize("verdict", [Verdict.CONFIRMED, Verdict.REACHABLE])
def test_a_confirmed_finding_is_raised_to_the_top_with_its_witness(tmp_path: Path, verdict: Verdict) -> None:
    assert of(checked(tmp_path), EXP).level is Level.POSSIBLE
    kept(tmp_path, EXP, verdict)
    seen = of(checked(tmp_path), EXP)
    assert seen.level is Level.LIKELY
    assert seen.confidence > 0.95
    assert seen.because[0].fact == "seen_failing"
    assert "f(torch.full((), 99.0))" in seen.because[0].sentence


def test_a_sound_one_goes_to_the_end_and_says_the_range(tmp_path: Path) -> None:
    kept(tmp_path, LOG, Verdict.NOT_REPRODUCED, calls=1200)
    result = checked(tmp_path)
    seen = of(result, LOG)
    assert seen.level is Level.POSSIBLE
    assert result.rest[-1] == seen
    assert seen.confidence < 0.01
    assert seen.because[0].sentence == "1,200 evaluations in a run had `x` in [0.25, 4]"


def test_code_that_deals_with_it_goes_to_the_end(tmp_path: Path) -> None:
    kept(tmp_path, LOG, Verdict.HANDLED)
    assert of(checked(tmp_path), LOG).because[0].fact == "seen_handled"
    assert of(checked(tmp_path), LOG).level is Level.POSSIBLE


@pytest.mark.parametrize(
    "change",
    [
        {"origin": "made"},
        {"calls": 2},
        {"least": {}},
        {"zeros": {"x": 1}},
        {"verdict": "ineffective"},
        {"verdict": "diverges"},
    ],
    ids=["made calls", "few calls", "no range", "zeros", "a fix that fails", "a fix that changes values"],
)
def test_what_shows_little_decides_nothing(change: dict[str, object]) -> None:
    sound = Observation(
        "SL101", "", "log(x)", "command", 9, "not-reproduced", {"x": 1.0}, {"x": 2.0}, {"x": 0}
    )
    assert reason_of(sound) is not None
    assert reason_of(replace(sound, **change)) is None  # type: ignore[arg-type]


def test_an_edit_of_the_function_makes_it_another_one_and_a_move_does_not(tmp_path: Path) -> None:
    kept(tmp_path, EXP, Verdict.CONFIRMED)
    moved = checked(tmp_path, "# moved\n" + SOURCE)
    assert of(moved, EXP).level is Level.LIKELY
    edited = checked(tmp_path, SOURCE.replace("return torch.log(x)", "return torch.log(x) + 1"))
    assert of(edited, EXP).level is Level.POSSIBLE
    assert enclosing_text(SOURCE.encode(), 5) == enclosing_text(("# moved\n" + SOURCE).encode(), 6)


def test_other_findings_of_the_function_stay_as_they_are(tmp_path: Path) -> None:
    before = of(checked(tmp_path), LOG)
    kept(tmp_path, EXP, Verdict.CONFIRMED)
    assert of(checked(tmp_path), LOG) == before


def test_a_text_that_cannot_be_parsed_or_read_has_no_observations(tmp_path: Path) -> None:
    kept(tmp_path, EXP, Verdict.CONFIRMED)
    found = [item for item in findings(tmp_path) if item.code == "SL201"]
    here = str(tmp_path / "a.py")
    assert [item.level for item in informed(found, tmp_path, {here: SOURCE.encode()})] == [Level.LIKELY]
    raw = [replace(item, because=(), level=Level.POSSIBLE) for item in found]
    assert list(informed(raw, tmp_path, {here: b"def f(:\n"})) == raw
    (tmp_path / "a.py").unlink()
    assert list(informed(raw, tmp_path)) == raw


def test_a_least_confidence_is_asked_of_what_the_runs_leave(tmp_path: Path) -> None:
    kept(tmp_path, LOG, Verdict.NOT_REPRODUCED)
    kept(tmp_path, EXP, Verdict.CONFIRMED)
    result = checked(tmp_path, min_confidence=0.5)
    assert [item.code for item in result.diagnostics] == ["SL201"]
    assert result.unsure == 1


def test_a_fix_is_not_written_for_what_a_run_has_seen_sound(tmp_path: Path) -> None:
    def fixed(**settings: object) -> bytes:
        request = Request(Settings(root=tmp_path, **settings), SELECTION)  # type: ignore[arg-type]
        outcome = fix_text(SOURCE.encode(), str(tmp_path / "a.py"), request, Wanted(SELECTION))
        assert isinstance(outcome, FileFix)
        return outcome.after

    assert b"log1p" in fixed()
    assert fixed(min_confidence=0.95) == SOURCE.encode()
    kept(tmp_path, LOG, Verdict.NOT_REPRODUCED)
    assert fixed() == SOURCE.encode()
    assert b"log1p" in fixed(level=Level.POSSIBLE)
