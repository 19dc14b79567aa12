"""Forms written out by hand whose operands are bounded: nothing in them can fail."""

import pytest

from tests.analysis.support import discharged_by, function, open_, unmet

BOUNDED = {
    "SL212": ("p = x.clamp(1e-6, 1 - 1e-6)", "-(t * p.log() + (1 - t) * (1 - p).log()).mean()"),
    "SL205": ("p = x.clamp(-30, 30)", "torch.log(1 + torch.exp(p))"),
    "SL204": ("p = torch.tanh(x) * 5", "torch.log(torch.exp(p).sum(-1))"),
    "SL206": ("p = x.clamp(-10, 10)", "p.exp() / p.exp().sum(-1, keepdim=True)"),
    "SL203": ("p = x.clamp(-5, 5)", "torch.sigmoid(p).log()"),
}


@pytest.mark.parametrize("code", BOUNDED)
def test_a_form_whose_operations_all_stay_in_their_domain_is_discharged(code: str) -> None:
    bounded, line = BOUNDED[code]
    program = function(line, before=bounded, parameters="x: torch.Tensor, t: torch.Tensor")
    assert unmet(program) == []
    assert code in discharged_by(program)
    free = program.replace(bounded, "p = x")
    assert [found for _, found in open_(free)] == [code]


@pytest.mark.parametrize("bound", ["max=30", "-200, 30", "0, 1"])
def test_a_bound_on_one_side_discharges_nothing(bound: str) -> None:
    lines = {
        "max=30": "torch.log(torch.exp(p).sum(-1))",
        "-200, 30": "torch.log(torch.exp(p).sum(-1))",
        "0, 1": "-(t * p.log() + (1 - t) * (1 - p).log()).mean()",
    }
    program = function(
        lines[bound], before=f"p = x.clamp({bound})", parameters="x: torch.Tensor, t: torch.Tensor"
    )
    assert open_(program) != []


def test_lost_digits_are_lost_within_bounds_too() -> None:
    program = function("torch.exp(x.clamp(-1, 1)) - 1")
    assert [code for _, code in open_(program)] == ["SL209"]


def test_weights_that_underflow_are_no_mask() -> None:
    program = function("(x * w).sum() / w.sum()", before="w = torch.exp(x.clamp(max=10))")
    assert "SL502" not in [code for _, code in open_(program)]
