"""`fix --verified` takes what `verify` has proved about the very text of the site."""

import json
from pathlib import Path

import pytest

from cli.conftest import BAD, Run
from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog
from stablelint.codemod.propose import propose_all
from stablelint.runtime.verify.builder import build_site
from stablelint.runtime.verify.output.evidence import fingerprint


def record(project: Path, verdict: str) -> None:
    """Writes the verdict of the only site of bad.py, as `verify` does."""
    source = (project / "bad.py").read_bytes()
    catalog = load_catalog()
    report = check_source(source, str(project / "bad.py"), catalog, AnalysisOptions(root=project))
    (found,) = [item for item in propose_all(source, report.diagnostics) if item.code == "SL202"]
    assert found.fix is not None
    mark = fingerprint(build_site(found, catalog.rules["SL202"], source), source, found.fix.edits)
    (project / ".stablelint").mkdir(exist_ok=True)
    document = {"version": 1, "sites": {mark: {"verdict": verdict}}}
    (project / ".stablelint" / "verdicts.json").write_text(json.dumps(document))


@pytest.mark.parametrize("verdict", ["confirmed", "reachable", "latent"])
def test_a_proved_fix_is_written(run: Run, project: Path, verdict: str) -> None:
    record(project, verdict)
    outcome = run("fix", "--verified", "--apply")
    assert "Fixed 1 finding" in outcome.out
    assert "log_softmax(logits, dim=-1)" in (project / "bad.py").read_text()


@pytest.mark.parametrize("verdict", ["ineffective", "diverges", "not-reproduced", "not-reached"])
def test_any_other_verdict_is_no_proof(run: Run, project: Path, verdict: str) -> None:
    record(project, verdict)
    assert "Nothing to fix." in run("fix", "--verified", "--apply").out
    assert (project / "bad.py").read_text() == BAD


def test_a_proof_ends_with_an_edit_of_the_function(run: Run, project: Path) -> None:
    record(project, "confirmed")
    (project / "bad.py").write_text(BAD.replace("return", "logits = logits * 2\n    return"))
    assert "Nothing to fix." in run("fix", "--verified").out


@pytest.mark.parametrize("text", ["", "[]", '{"version": 1}', '{"version": 9, "sites": {}}'])
def test_damaged_evidence_is_no_evidence(run: Run, project: Path, text: str) -> None:
    (project / ".stablelint").mkdir()
    (project / ".stablelint" / "verdicts.json").write_text(text)
    assert run("fix", "--verified").code == 0
