"""What facts hold of a line of code."""

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog

CATALOG = load_catalog(entry_points=False)


def facts_of(code: str, root: Path) -> set[str]:
    """The facts of the only finding in a file."""
    text = f"import torch\n\n{code}\n".encode()
    (found,) = check_source(text, "part.py", CATALOG, AnalysisOptions(root=root)).diagnostics
    return {reason.fact for reason in found.because}


@pytest.mark.parametrize(
    ("fact", "holds", "fails"),
    [
        ("made_of_call", "return a / (b.weigh() - both)", "return a / (b - both)"),
        ("union", "return both / (a + b - both)", "return both / (a + b - a * b)"),
        ("drawn", "return torch.rand(3).log()", "return a.log()"),
        ("updates", "a /= b", "a = a / b"),
        ("rooted", "return a / ((b * b + 1).sqrt() - both)", "return a / (b * b + 1 - both)"),
        ("magnitude", "return a / (b.abs() * both)", "return a / (b * both)"),
        ("only_read", "return int(a / b)", "return both * (a / b)"),
        ("only_read", "print(f'{a / b}')", "both.copy_(a / b)"),
        ("only_read", "return a / b > both", "return (a / b)[both > 0]"),
        ("only_read", "return (a / b).item()", "return (a / b).mean()"),
        ("looks_for_nan", "c = a / b\n    return c[c.isfinite()]", "c = a / b\n    return c[c > 0]"),
    ],
)
def test_a_fact_holds_of_one_line_and_not_of_another(
    fact: str, holds: str, fails: str, tmp_path: Path
) -> None:
    head = "def part(a, b, both):\n    "
    assert fact in facts_of(head + holds, tmp_path)
    assert fact not in facts_of(head + fails, tmp_path)


def test_one_over_a_count_less_one_is_no_union(tmp_path: Path) -> None:
    assert "union" not in facts_of("def part(n):\n    return 1 / (n - 1)", tmp_path)
