"""The page and the text of a guarded run, from a report as the guarded process writes it."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from stablelint.report.context import Context
from stablelint.report.page import curves
from stablelint.report.run.text import render as render_text
from stablelint.report.run.text import render_page as render


@pytest.fixture
def report(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "train.py"
    path.write_text("import torch\nx = torch.log(p & <b>)\n")
    history = [
        {"step": step, "loss": 2.0**step, "gradient_norm": 10.0**step, "layers": [1.0, 10.0**step]}
        for step in range(5)
    ]
    history.append({"step": 5, "loss": "nan", "gradient_norm": None, "layers": []})
    event = {
        "kind": "nan",
        "phase": "forward",
        "origin": "loss",
        "filename": str(path),
        "location": {"row": 2, "column": 5},
        "end_location": {"row": 2, "column": 23},
        "expression": "torch.log(p & <b>)",
        "operation": "log",
        "module": None,
        "step": 5,
        "operands": [
            {
                "name": "p", "shape": [4, 3], "dtype": "float32", "device": "cpu",
                "min": 0.0, "max": 1.0, "zero": 2, "nan": 0, "inf": 0,
            }
        ],
        "parameter": None,
        "exact": True,
        "compared": ["loss of step 4"],
        "element": None,
        "note": None,
        "rank": None,
        "history": history,
        "layers": ["first", "second"],
        "growth": None,
    }  # fmt: skip
    cause = {
        "code": "SL101",
        "name": "unguarded-log",
        "summary": "log of 0",
        "url": "",
        "derivation": ["a <b> c"],
    }
    fix = {"applicability": "unsafe", "message": "keep it above 0", "diff": "a\nb\n-x = 1\n+x = 2\n"}
    return {
        "event": event,
        "cause": cause,
        "fix": fix,
        "verification": {"finite": True, "loss": 1.0, "note": "It is finite."},
    }


class Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("meta", "br", "line", "polyline", "circle"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_self_contained(report: dict[str, Any]) -> None:
    page = render([report])
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    assert "http" not in page
    assert "<mark>torch.log(p &amp; &lt;b&gt;)</mark>" in page
    assert page.count("<polyline") == 4  # loss, norm, two layers
    assert 'class="badge confirmed"' in page


def test_a_bad_value_is_a_dot_and_not_part_of_the_line() -> None:
    drawing = curves([(0, 1.0), (1, 2.0), (2, "nan")])
    assert drawing.count("<circle") == 1
    points = drawing.partition('points="')[2].partition('"')[0]
    assert len(points.split()) == 2


def test_the_text_names_place_cause_operands_and_proof(report: dict[str, Any]) -> None:
    text = render_text([report], Context(str(Path(report["event"]["filename"]).parent)))
    assert "train.py:2:5" in text
    assert "NaN[SL101]: log of 0" in text
    assert "bit for bit" in text
    assert "4×3" in text
    assert "confirmed: It is finite." in text


@pytest.mark.parametrize(
    ("count", "ends", "row"), [(1, (3.0, 3.0), "1 other 3"), (4, (1.0, 3.0), "4 others 1 to 3")]
)
def test_a_batch_stands_beside_the_others(
    report: dict[str, Any], count: int, ends: tuple[float, float], row: str
) -> None:
    number = {"value": 2.0, "others": ends}
    batch = [{"name": "", "others": count, **dict.fromkeys(("mean", "std", "largest"), number)}]
    text = render_text([{**report, "event": {**report["event"], "batch": batch}}], Context("/"))
    assert f"{row} " in " ".join(text.split())
    assert "this 2 2 2" in " ".join(text.split())


def test_a_fix_that_helps_only_with_the_others_is_said_so(report: dict[str, Any]) -> None:
    diff = "a\nb\n-x = 1\n+x = 3\n"
    together = {"fixes": 3, "finite": True, "note": "With the three it is finite.", "diff": diff}
    report["verification"] = {"finite": False, "note": "It still is not.", "with_all_fixes": together}
    text = render_text([report], Context(str(Path(report["event"]["filename"]).parent)))
    assert "not alone: It still is not." in text
    assert "replayed with the fix: confirmed: With the three it is finite." in text
    page = render([report])
    assert "It still is not." in page
    assert page.count('class="badge confirmed"') == 1
    assert "ineffective" not in page.partition("</style>")[2]


def test_no_report_is_said_so() -> None:
    assert "No NaN" in render([])


def test_an_expression_that_goes_wrong_again_is_told_once(report: dict[str, Any]) -> None:
    later = [{**report, "event": {**report["event"], "step": step}} for step in (6, 9)]
    text = render_text([report, *later], Context("."))
    assert text.count("[SL101]") == 1
    assert "again: step 6, 9" in text
    assert render([report, *later]).count('<section class="event">') == 1
    other = {**report, "event": {**report["event"], "rank": 1}}
    assert render_text([report, other], Context(".")).count("[SL101]") == 2
