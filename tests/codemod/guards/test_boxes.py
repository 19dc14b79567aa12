"""The exponential that scales an anchor is bounded as the detectors in use bound it."""

import pytest

from stablelint.codemod.propose import propose_all
from tests.analysis.support import report

LIMIT = "clamp(max=math.log(1000 / 16))"


def _written(lines: str) -> list[str]:
    names = ("x", "t", "v", "priors", "anchors", "anchor_w", "widths", "prior")
    arguments = ", ".join(f"{name}: torch.Tensor" for name in names)
    code = f"import torch\n\n\ndef f({arguments}):\n" + "".join(f"    {one}\n" for one in lines.split("; "))
    found = propose_all(code.encode(), report(code, imports="").diagnostics)
    fixes = [one.fix for one in found if one.code == "SL201" and one.fix is not None]
    return [" ".join(edit.content.split()) for fix in fixes for edit in fix.edits]


@pytest.mark.parametrize(
    ("lines", "bounded"),
    [
        ("return priors[:, 2:] * torch.exp(t[:, 2:] * v)", f"(t[:, 2:] * v).{LIMIT}"),
        ("return torch.exp(t[..., 2:4]) * anchors", f"t[..., 2:4].{LIMIT}"),
        ("w = t[..., 2]; return torch.exp(w) * anchor_w", f"w.{LIMIT}"),
        ("return t.exp() * widths", f"t.{LIMIT}"),
        ("return widths * 2 * torch.exp(t)", f"t.{LIMIT}"),
        ("w = torch.exp(t); return w * widths", f"t.{LIMIT}"),
        ("wh = torch.exp(t[..., 2:4]); return wh.square().sum()", f"t[..., 2:4].{LIMIT}"),
    ],
)
def test_what_scales_an_anchor_is_bounded_as_an_extent(lines: str, bounded: str) -> None:
    made = _written(lines)
    assert any(bounded in one for one in made), made
    assert "import math" in made


@pytest.mark.parametrize(
    "line",
    [
        "return prior * torch.exp(t)",
        "return priors[:, 2:] + torch.exp(t)",
        "return x[:, 2:] * torch.exp(t[:, 2:])",
        "wh = torch.exp(t); return wh.sum()",
        "return priors[:, :2] * torch.exp(t[:, :2])",
    ],
)
def test_what_is_no_extent_is_bounded_by_what_its_type_bears(line: str) -> None:
    made = " ".join(_written(line))
    assert f"clamp(max={88 if ' + ' in line else 80}.0)" in made
    assert LIMIT not in made
