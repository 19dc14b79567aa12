"""Reports on comparisons: what text and page show of the same data."""

from typing import Any

import pytest

pytest.importorskip("torch")

import stablelint
from stablelint.report.compare import text as compare_text
from stablelint.report.context import Context


def test_two_recordings_are_told_with_the_expression_at_which_they_part() -> None:
    import torch

    def step(scale: float) -> None:
        x = torch.ones(3, requires_grad=True)
        (x * scale).sum().backward()

    with stablelint.recording("old") as first:
        step(2.0)
    with stablelint.recording("new") as second:
        step(3.0)
    report = stablelint.compare(first, second)
    assert not report
    assert report.data["difference"]["kind"] == "number"
    assert "`x * scale` is given another number: 2.0 and 3.0" in str(report)
    assert "loss, old" in str(report)
    page = compare_text.render_page(report.data)
    assert "<mark>x * scale</mark>" in page
    with stablelint.recording() as third:
        step(2.0)
    assert stablelint.compare(first, third)


def test_a_function_that_draws_anew_is_not_reproducible() -> None:
    import torch

    stablelint.assert_reproducible(lambda: torch.rand(2))
    with pytest.raises(AssertionError, match=r"torch\.rand\(2, generator=fresh\)"):
        stablelint.assert_reproducible(draw_from_fresh_generator)


def draw_from_fresh_generator() -> None:
    import torch

    fresh = torch.Generator()
    fresh.seed()
    torch.rand(2, generator=fresh)


def test_values_that_are_not_close_are_listed() -> None:
    import torch

    stablelint.assert_close({"a": torch.ones(2)}, {"a": torch.ones(2) + 1e-7})
    with pytest.raises(AssertionError, match=r"1 of 2 values apart"):
        stablelint.assert_close([torch.ones(2), torch.ones(1)], [torch.ones(2), torch.zeros(1)])


def test_two_modules_are_compared_by_results_and_gradients() -> None:
    import torch

    first, second = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    second.load_state_dict(first.state_dict())
    inputs = [torch.ones(4, 3, requires_grad=True)]
    assert stablelint.compare(first, second, inputs)
    with torch.no_grad():
        second.bias += 1
    report = stablelint.compare(first, second, inputs)
    assert [one["name"] for one in report.data["tensors"] if not one["same"]] == ["result 1"]


def chain() -> dict[str, Any]:
    link = {"index": 3, "step": 0, "phase": "forward", "expression": "a - b", "filename": "t.py", "row": 4}
    return {**link, "error": 1e-3, "growth": 900.0}


def test_the_growth_of_the_error_is_listed_and_plotted() -> None:
    told = {
        "label": "x",
        "steps": 1,
        "operations": 4,
        "full": True,
        "losses": [[0, 1.0], [1, "nan"]],
        "facts": {},
    }
    report = {
        "kind": "runs",
        "same": False,
        "summary": "the error grows",
        "runs": [told, {**told, "label": "y", "losses": [[0, 2.0], [1, 3.0]]}],
        "difference": None,
        "cause": None,
        "chain": [chain(), {**chain(), "index": 9, "error": "inf"}],
        "script": None,
        "notes": ["<b>"],
    }
    text = compare_text.render(report, Context("."))
    assert "a - b" in text
    assert "900" in text
    assert "limit on disk" in text
    page = compare_text.render_page(report)
    assert page.count('circle class="dot') == 2
    assert "error along the operations" in text
    assert "error along the operations" not in page  # it is drawn
    assert "<td>900</td>" in page
    assert "&lt;b&gt;" in page
