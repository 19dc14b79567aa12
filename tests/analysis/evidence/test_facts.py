"""What facts hold of a line of code."""

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog

CATALOG = load_catalog(entry_points=False)


def facts_of(code: str, root: Path) -> set[str]:
    """The facts of the only finding in a file."""
    text = f"import numpy as np\nimport torch\n\n{code}\n".encode()
    (found,) = check_source(text, "part.py", CATALOG, AnalysisOptions(root=root)).diagnostics
    return {reason.fact for reason in found.because}


@pytest.mark.parametrize(
    ("fact", "holds", "fails"),
    [
        ("made_of_call", "return a / (b.weigh() - both)", "return a / (b - both)"),
        ("array", "return a / np.linalg.norm(b)", "return a / b.norm()"),
        ("normed", "return a / b.norm()", "return a / b.sum()"),
        ("normed", "return a / a.norm(dim=-1, keepdim=True)", "return a / a.sum(dim=-1, keepdim=True)"),
        ("spread", "return a / b.std(correction=0)", "return a / b.sum()"),
        ("spread", "return (a - a.mean()) / a.std(correction=0)", "return (a - a.mean()) / a.sum()"),
        ("no_gradient", "with torch.no_grad():\n        return a.log()", "return a.log()"),
        ("telling_form", "return torch.cos(a) ** torch.tanh(b)", "return torch.cos(a) ** -2"),
        (
            "telling_form",
            "s = a @ b + both\n    return (s.exp() - s).sum()",
            "s = a @ b + both\n    return s.exp().sum()",
        ),
        ("own_measure", "return (a * b).sum() / b.sum()", "return a.sum() / b.sum()"),
        ("own_measure", "return a / (a * both).sum()", "return (a.T @ a) / (a.shape[0] - 1)"),
        ("log_scale", "logvar = a @ b\n    return logvar.exp()", "scores = a @ b\n    return scores.exp()"),
        (
            "log_scale",
            "logvar = a @ b\n    return logvar.exp()",
            "variance = a @ b\n    return variance.log()",
        ),
        (
            "log_scale",
            "logvar = a @ b\n    return logvar.exp()",
            "logvar = (a.abs() + 2).log()\n    return (logvar * b).exp()",
        ),
        (
            "log_scale",
            "logvar = a @ b\n    return logvar.exp()",
            "logvar = np.dot(a, b)\n    return np.exp(logvar)",
        ),
        ("logged", "return ((a.abs() + 2).log() * b).exp()", "return ((a.abs() + 2) * b).exp()"),
        ("number", "return a.item() / b", "return a / b"),
        ("offset", "return a / (1 + b)", "return a / (both + b)"),
        ("offset", "return torch.log1p(a)", "return torch.log(a)"),
        ("updates", "a /= b", "a = a / b"),
        ("rooted", "return a / ((b * b + 1).sqrt() - both)", "return a / (b * b + 1 - both)"),
        ("magnitude", "return a / (b.abs() * both)", "return a / (b * both)"),
        ("magnitude", "return a.abs().log()", "return (both - a.abs()).exp()"),
        ("only_read", "return int(a / b)", "return both * (a / b)"),
        ("only_read", "return torch.round(a / b)", "return torch.relu(a / b)"),
        ("only_read", "print(f'{a / b}')", "both.copy_(a / b)"),
        ("only_read", "return a / b > both", "return (a / b)[both > 0]"),
        ("only_read", "return (a / b).item()", "return (a / b).mean()"),
        ("only_read", "both.log('ratio', a / b)", "return both.add(a / b)"),
        ("only_read", "both.log({'ratio': a / b})", "both.add({'ratio': a / b})"),
        ("only_read", "c = a / b; print(c)", "c = a / b; print(c); return c"),
    ],
)
def test_a_fact_holds_of_one_line_and_not_of_another(
    fact: str, holds: str, fails: str, tmp_path: Path
) -> None:
    head = "def part(a, b, both):\n    "
    assert fact in facts_of(head + holds, tmp_path)
    assert fact not in facts_of(head + fails, tmp_path)


@pytest.mark.parametrize(("name", "shown"), [("ratio", True), ("accuracy", False)])
def test_no_gradient_is_shown_of_a_figure_that_people_read(name: str, shown: bool, tmp_path: Path) -> None:
    code = f"def {name}(hits, n):\n    return torch.where(n == 0, 0.0, hits / n)"
    assert ("shown" in facts_of(code, tmp_path)) is shown
