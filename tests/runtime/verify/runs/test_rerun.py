"""The command once more with its fixes, and the whole of a verification."""

import json
import os
import re
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from stablelint.runtime.verify.outcome import Report
from stablelint.runtime.verify.output.emit_tests import emit_tests
from stablelint.runtime.verify.output.evidence import fingerprint, read_verdicts, write_verdicts
from stablelint.runtime.verify.site import Request, Site, Verdict
from stablelint.runtime.verify.verify import Verification, verify
from tests.forks import Servers
from tests.runtime.verify.programs import site_at
from tests.runtime.verify.support import LOG

PROGRAM = """\
import torch


def loss_of(p, q):
    return -torch.log(p).mean() + torch.sqrt(q).sum()


torch.manual_seed(0)
w = torch.nn.Parameter(torch.tensor([2.0, 3.0]))
for step in range(6):
    p = torch.relu(w - step)
    loss_of(p, w.abs() + 1).backward()
"""
FIXED_LOG = "torch.log(p.clamp_min(torch.finfo(p.dtype).tiny))"


@pytest.fixture(scope="module")
def verified(
    tmp_path_factory: pytest.TempPathFactory, servers: Servers
) -> tuple[Path, Verification, dict[str, Site]]:
    folder = tmp_path_factory.mktemp("rerun")
    path = folder / "train.py"
    path.write_text(PROGRAM, encoding="utf-8")
    sites = {
        "log": site_at(path, "torch.log(p)", FIXED_LOG, {"x": "p"}, **LOG),
        # a fix that keeps its own expression finite, and stops the program elsewhere
        "sqrt": site_at(
            path, "torch.sqrt(q)", "torch.sqrt(q.clamp_min(1e-12))", {"x": "q"}, backward="x > 0"
        ),
    }
    texts = {
        sites["log"].id: ("torch.log(p)", FIXED_LOG),
        sites["sqrt"].id: ("w.abs() + 1", "w.abs().missing"),
    }

    def compose(chosen: frozenset[str]) -> Mapping[str, bytes]:
        text = PROGRAM
        for site in chosen:
            text = text.replace(*texts[site])
        return {os.path.realpath(path): text.encode()}

    with open(folder / "output.txt", "wb") as output:
        request = Request(
            list(sites.values()),
            {str(path): path.read_bytes()},
            [sys.executable, "train.py"],
            compose,
            {site.id: fingerprint(site, path.read_bytes()) for site in sites.values()},
            directory=folder,
            search_seconds=0.0,
            output=output.fileno(),
        )
        with servers.running_commands():
            return path, verify(request), sites


def _report(verified: tuple[Path, Verification, dict[str, Site]]) -> Report:
    return verified[1].report


def test_the_site_that_fails_is_confirmed(verified: tuple[Path, Verification, dict[str, Site]]) -> None:
    log = _report(verified).sites[0]
    assert log.verdict is Verdict.CONFIRMED
    assert log.calls == 6
    assert log.witness is not None
    assert log.witness.origin == "captured"


def test_the_guilty_fix_is_found(verified: tuple[Path, Verification, dict[str, Site]]) -> None:
    report, sites = _report(verified), verified[2]
    assert report.rerun is not None
    assert report.rerun.passed is False
    assert report.rerun.guilty == (sites["sqrt"].id,)
    assert report.sites[1].verdict is Verdict.DIVERGES


def test_losses_are_watched(verified: tuple[Path, Verification, dict[str, Site]]) -> None:
    rerun = _report(verified).rerun
    assert rerun is not None
    losses = rerun.before.losses
    assert losses is not None
    assert losses.backwards == 6
    assert losses.first_bad_loss == 2


def test_the_document_holds_what_the_design_says(
    verified: tuple[Path, Verification, dict[str, Site]],
) -> None:
    document = json.loads(json.dumps(_report(verified).as_json(), allow_nan=False))
    site = document["sites"][0]
    assert {"code", "filename", "location", "end_location", "verdict", "captured", "witness"} <= set(site)
    assert site["location"] == {"row": 5, "column": 13}
    assert site["original"]["forward"]["inf"] > 0
    assert site["fixed"]["forward"] == {**site["fixed"]["forward"], "nan": 0, "inf": 0}


def test_evidence_is_known_until_the_code_changes(
    verified: tuple[Path, Verification, dict[str, Site]], tmp_path: Path
) -> None:
    path, verification, sites = verified
    kept = write_verdicts(tmp_path, verification.report.sites, ["python", "train.py"])
    assert (kept.parent / ".gitignore").read_text() == "*\n"
    known = read_verdicts(tmp_path)
    moved = b"import os\n\n\n" + path.read_bytes()
    site = sites["log"]
    assert known[fingerprint(site, path.read_bytes())] is Verdict.CONFIRMED
    shifted = site_at_text(tmp_path, moved)
    assert fingerprint(shifted, moved) in known
    edited = path.read_bytes().replace(b".mean()", b".sum()")
    assert fingerprint(site, edited) not in known
    (tmp_path / ".stablelint" / "verdicts.json").write_text("{broken", encoding="utf-8")
    assert read_verdicts(tmp_path) == {}


def site_at_text(folder: Path, text: bytes) -> Site:
    path = folder / "moved.py"
    path.write_bytes(text)
    return site_at(path, "torch.log(p)", FIXED_LOG, {"x": "p"}, **LOG)


def test_an_emitted_test_fails_before_the_fix_and_passes_after(
    verified: tuple[Path, Verification, dict[str, Site]],
) -> None:
    path, verification, _ = verified
    emitted = emit_tests(path.parent / "regression", verification)
    assert [item.name for item in emitted] == ["test_train_5_sl101.py"]
    emitted_test = runpy.run_path(str(emitted[0]))["test_train_5_sl101"]
    with pytest.raises(AssertionError, match=re.escape(f"use `{FIXED_LOG}`")):
        emitted_test()
    path.write_text(PROGRAM.replace("torch.log(p)", FIXED_LOG), encoding="utf-8")
    try:
        emitted_test()
    finally:
        path.write_text(PROGRAM, encoding="utf-8")


def test_a_site_that_cannot_be_examined_does_not_cost_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, forked: None
) -> None:
    from stablelint.runtime.verify import verify as whole
    from tests.runtime.verify.support import site

    good, bad = (site(text, None, {"x": "x"}, **LOG) for text in ("torch.log(x)", "torch.log2(x)"))
    examine = whole.examine

    def failing(each: Site, *arguments: object, **keywords: object) -> object:
        if each is bad:
            raise IndexError("out of range")
        return examine(each, *arguments, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(whole, "examine", failing)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text("import torch\n")
    report = verify(Request([bad, good], {"program.py": b"import torch\n"})).report
    assert [each.site for each in report.sites] == [good]
    assert report.problems == ("program.py:1: internal error: IndexError: out of range",)
