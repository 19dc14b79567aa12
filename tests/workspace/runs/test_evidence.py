"""What runs have seen is kept by the text of the function, and read without torch."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from stablelint.diagnostic import Position, Span
from stablelint.runtime.verify.outcome import Report, SiteReport, WitnessShown
from stablelint.runtime.verify.output.evidence import enclosing_text
from stablelint.runtime.verify.site import Site, Verdict
from stablelint.workspace.runs.evidence import (
    Key,
    Observation,
    function_digest,
    read_observations,
    write_observations,
)

SOURCE = "import torch\n\n\ndef f(x):\n    return torch.log( x )\n"
TEXT = enclosing_text(SOURCE.encode(), 5) or ""
SPAN = Span(Position(5, 12), Position(5, 26))
SITE = Site("SL101", "a.py", SPAN, "torch.log( x )", "torch.log( x )", None, {"x": "x"})
EXTENT = {"x": {"min": 0.0, "max": 2.5, "smallest": 0.0, "zeros": 3, "nan": 0, "inf": 0}}
WITNESS = WitnessShown("varied", "a call", (), "1 Inf of 1 forward", None, line="f(torch.zeros(()))  # inf")
SEEN = SiteReport(SITE, Verdict.CONFIRMED, 7, EXTENT, witness=WITNESS)


def _kept(
    root: Path, report: SiteReport, command: tuple[str, ...], source: str = SOURCE
) -> dict[Key, Observation]:
    write_observations(root, Report((report,), command=command), {"a.py": source.encode()})
    return read_observations(root)


def test_a_finding_in_a_function_of_the_same_text_has_an_observation(tmp_path: Path) -> None:
    found = _kept(tmp_path, SEEN, ("python", "a.py"))["SL101", function_digest(TEXT), "torch.log(x)"]
    assert (found.calls, found.verdict, found.origin) == (7, "confirmed", "command")
    assert (found.least, found.greatest, found.zeros) == ({"x": 0.0}, {"x": 2.5}, {"x": 3})
    assert found.witness == "f(torch.zeros(()))  # inf"


def test_another_text_has_none(tmp_path: Path) -> None:
    kept = _kept(tmp_path, SEEN, ("python", "a.py"))
    assert ("SL101", function_digest(TEXT.replace("x", "y")), "torch.log(x)") not in kept
    assert ("SL102", function_digest(TEXT), "torch.log(x)") not in kept


def test_made_calls_do_not_replace_those_of_a_command(tmp_path: Path) -> None:
    made = replace(SEEN, calls=2, verdict=Verdict.REACHABLE)
    for report, command, calls in ((made, (), 2), (SEEN, ("a",), 7), (made, (), 7)):
        found = _kept(tmp_path, report, command)
        assert found["SL101", function_digest(TEXT), "torch.log(x)"].calls == calls


def test_what_was_not_evaluated_is_not_kept(tmp_path: Path) -> None:
    assert not _kept(tmp_path, replace(SEEN, calls=0), ())


def test_a_damaged_file_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / ".stablelint").mkdir()
    (tmp_path / ".stablelint" / "observations.json").write_text('{"version": 1, "observations": [{}]}')
    assert not read_observations(tmp_path)


def test_reading_needs_no_torch() -> None:
    asked = (
        "import sys, pathlib; from stablelint.workspace.runs.evidence import read_observations; "
        "read_observations(pathlib.Path('.')); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", asked], check=False).returncode == 0
