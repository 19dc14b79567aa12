import pytest

from stablelint.codemod.templates.hoist import name_for
from stablelint.codemod.templates.operand import parse_operand
from stablelint.diagnostic import Binding
from tests.codemod.support import proposal, rewritten

TEST = 'a == float("-inf")'
GUARDED = "torch.where($d, 0, $e)"


def _written(before: str, middle: str = "") -> str:
    source = f"import torch\n\n\ndef f(a):\n{before}{middle}    y = torch.exp(a)\n    return y\n"
    given = proposal(
        source,
        "a",
        GUARDED,
        occurrence=source.index("exp(a") and source[: source.index("exp(a") + 5].count("a") - 1,
        d=Binding(TEST),
        e="a",
    )
    return rewritten(source, given)


def test_a_condition_is_written_by_the_name_it_has() -> None:
    assert "torch.exp(torch.where(mask, 0, a))" in _written(f"    mask = {TEST}\n")


@pytest.mark.parametrize(
    "middle",
    [
        "    a = a + 1\n",
        "    mask = None\n",
        "    a[0] = 1\n",
        "    a.add_(1)\n",
        "    for mask in ():\n        pass\n",
    ],
    ids=["its operand anew", "its name anew", "an element", "in place", "a loop"],
)
def test_a_name_is_not_used_once_something_has_changed(middle: str) -> None:
    assert f"torch.where({TEST}, 0, a)" in _written(f"    mask = {TEST}\n", middle)


def test_a_name_from_before_a_branch_serves_within_it() -> None:
    before = f"    mask = {TEST}\n    if a.ndim:\n    "
    assert "torch.where(mask, 0, a)" in _written(before)


def test_a_name_from_before_a_loop_does_not_serve_within_it() -> None:
    before = f"    mask = {TEST}\n    while True:\n    "
    assert f"torch.where({TEST}, 0, a)" in _written(before)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("a + b - c", "total"),
        ("a - b", "difference"),
        ("torch.amax(a.abs(), dim=-1)", "largest"),
        ("torch.unsqueeze(torch.sum(a * b), dim=-1)", "total"),
    ],
)
def test_a_value_is_named_for_what_it_is_and_not_for_its_view(value: str, name: str) -> None:
    assert name_for(parse_operand(value)) == name
