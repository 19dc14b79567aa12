"""What a configuration decides: defaults of parameters, and choices made in a constructor."""

import pytest

from tests.analysis.support import open_

MIXED = """
    def mixed(logits: torch.Tensor, {signature}):
        probs = torch.softmax(logits, -1)
        if {test}:
            probs = 0.99 * probs + 0.001
        return probs.log()
"""


@pytest.mark.parametrize(
    ("signature", "test"),
    [
        ("mix: float = 0.0", "mix"),
        ("mix: bool = False", "mix"),
        ("mix: str = 'none'", "mix == 'uniform'"),
        ("mix: bool", "mix"),
        ("mix=None", "mix is not None"),
    ],
)
def test_the_path_that_the_defaults_take_or_leave_open_is_reported(signature: str, test: str) -> None:
    code = MIXED.format(signature=signature, test=test)
    assert {line for line, _ in open_(code)} == {5}


CHOICE = """
    class Loss(nn.Module):
        def __init__(self, kind: str):
            super().__init__()
            self.kind = kind
            if self.kind == "builtin":
                self.loss = nn.CTCLoss(zero_infinity=True)
            elif self.kind == "plain":
                self.loss = nn.CTCLoss()
            else:
                raise ValueError(kind)

        def forward(self, x: torch.Tensor, y, n, m):
            if {test}:
                return self.loss(x.log_softmax(2), y, n, m)
            return x.sum()
    """


@pytest.mark.parametrize(
    "test",
    [
        "self.kind == 'builtin'",
        "self.kind == 'builtin' or self.kind == 'other'",
        "self.kind in ('builtin', 'x')",
    ],
)
def test_a_choice_made_in_the_constructor_holds_where_it_is_tested_again(test: str) -> None:
    assert open_(CHOICE.format(test=test)) == []


@pytest.mark.parametrize(
    "test", ["self.kind == 'plain'", "self.kind in ('builtin', 'plain')", "self.training"]
)
def test_a_choice_that_the_test_leaves_open_is_not_excluded(test: str) -> None:
    assert open_(CHOICE.format(test=test)) == [(14, "SL308")]


def test_a_divergence_of_what_is_clamped_by_a_named_number_is_finite() -> None:
    code = """
    def divergence(x: torch.Tensor, y: torch.Tensor):
        floor = 1e-8
        p = torch.softmax(x, -1).clamp(min=floor)
        q = torch.softmax(y, -1){clamp}
        return (p * (p.log() - q.log())).sum(-1)
    """
    assert open_(code.format(clamp=".clamp(min=floor)")) == []
    assert (5, "SL211") in open_(code.format(clamp=""))
