import pytest

from tests.analysis.support import unguarded
from tests.matchers.support import findings

LINES = {
    "a filter": ("a, b = F.conv2d(x * x, k), F.conv2d(x, k)", "a - b ** 2", True),
    "a filter of the project's own": ("a, b = smooth(x ** 2, k), smooth(x, k)", "a - b * b", True),
    "a mean times its total": ("a, b = smooth(x * x, k), smooth(x, k)", "a - b * (b / n)", True),
    "scales": ("a, b = F.conv2d(x * x, k), F.conv2d(x, k)", "a / 3 - b.square() * 2.0", True),
    "parts of one result": ("a, b = smooth(x, k).chunk(2)", "b - a.pow(2)", True),
    "another filter": ("a, b = F.conv2d(x * x, k), F.avg_pool2d(x, 3)", "a - b ** 2", False),
    "a filter of something else": ("a, b = F.conv2d(y * y, k), F.conv2d(x, k)", "a - b ** 2", False),
    "no square": ("a, b = F.conv2d(x * x, k), F.conv2d(x, k)", "a - b", False),
    "a covariance": ("m = x.mean(0, keepdim=True)", "x.T @ x / n - m.T @ m", True),
    "a product with another mean": ("m = y.mean(0, keepdim=True)", "x.T @ x / n - m.T @ m", False),
    "a squared distance": ("a, b = x.norm(dim=1) ** 2, (y * y).sum(1)", "a + b - 2 * x @ y.T", True),
    "its exponential": (
        "a, b = x.norm(dim=1) ** 2, (y * y).sum(1)",
        "torch.exp(-(a + b - 2 * x @ y.T))",
        True,
    ),
    "its order": ("a, b = x.norm(dim=1) ** 2, (y * y).sum(1)", "(-(a + b - 2 * x @ y.T)).argmax(1)", False),
    "no lengths": ("a, b = x, y", "a + b - 2 * x @ y.T", False),
    "numbers": ("a, b = 1.0, n", "a - b ** 2", False),
}


@pytest.mark.parametrize(("before", "line", "told"), LINES.values(), ids=LINES.keys())
def test_the_square_of_what_averages_taken_from_an_average_of_squares(
    before: str, line: str, told: bool
) -> None:
    code = f"def f(x: torch.Tensor, y: torch.Tensor, k, n: int, smooth):\n    {before}\n    return {line}\n"
    assert bool(findings("SL227", code)) is told
    assert ((3, "SL227") in unguarded(code)) is told
