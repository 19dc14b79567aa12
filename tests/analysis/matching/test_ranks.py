"""A softmax that is told no dimension is told the one that is meant where the operand's shape shows it."""

import pytest

from tests.analysis.support import fixes


@pytest.mark.parametrize(
    "made", ["x.view(n, -1)", "x.reshape((n, 4)).relu()", "x.flatten(1) * 2", "torch.flatten(x, 1)"]
)
def test_of_two_dimensions_the_second_is_named(made: str) -> None:
    written = fixes(f"""
        def share(x: torch.Tensor, n: int):
            return F.softmax({made})
        """)
    assert "dim=1" in written["SL310"][0]


@pytest.mark.parametrize(
    "made",
    [
        "x",
        "x.view(n, *rest)",
        "x.view(n, -1).unsqueeze(0)",
        "x.view(n, -1) + y",
        "x.view(n)",
        "x.view(2, 3, 4)",
    ],
)
def test_where_the_dimensions_are_not_shown_none_is_called_safe(made: str) -> None:
    written = fixes(f"""
        def share(x: torch.Tensor, y: torch.Tensor, n: int, rest: tuple):
            return F.softmax({made})
        """)
    assert "dim=1" not in str(written.get("SL310"))
