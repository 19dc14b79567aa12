"""The text of an explained error: lines of advice, and no place twice."""

from pathlib import Path
from typing import Any

import pytest

from stablelint.report.context import Context
from stablelint.report.run.crash import render


def _place(path: Path, row: int, start: int, end: int, text: str) -> dict[str, Any]:
    spot = {"location": {"row": row, "column": start}, "end_location": {"row": row, "column": end}}
    return {"filename": str(path), **spot, "expression": text}


@pytest.mark.parametrize(
    ("advice", "shown"),
    [
        ("x.flatten(1) passes", "x.flatten(1) in line 2 passes"),
        ("a[None] and b[None] pass", "a[None] and b[None] in line 2 pass"),
        ("x.float() in line 1 passes", "x.float() in line 1 passes"),
        ("nn.Linear(…, in_features=3) of fc passes", "nn.Linear(…, in_features=3) of fc passes"),
    ],
)
def test_advice_tells_its_line_and_no_place_is_told_twice(advice: str, shown: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("x = torch.from_numpy(past).view(2)\nnet(x)\n")
    whole = _place(path, 1, 1, 35, "x = torch.from_numpy(past).view(2)")
    operand = {"name": "x", "subject": "", "shape": [2], "dtype": "float64", "device": "cpu", "source": None}
    crash = {
        **_place(path, 2, 1, 7, "net(x)"),
        "error": "RuntimeError",
        "kind": "dtype",
        "summary": "x is float64",
        "advice": [advice],
        "because": [],
        "other": [("x is float64 from here on", _place(path, 1, 5, 27, "torch.from_numpy(past)"))],
        "operands": [{**operand, "made_at": whole}],
        "layers": [],
    }
    text = render(crash, Context(str(tmp_path)))
    assert f"= help: {shown}\n" in text
    assert "x comes from" not in text
    crash["other"] = []
    assert "x comes from: train.py:1:1: x = torch.from_numpy(past).view(2)" in render(
        crash, Context(str(tmp_path))
    )
