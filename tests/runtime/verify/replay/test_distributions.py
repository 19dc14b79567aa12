"""Expressions that give a distribution are replayed by the log-probabilities it stands for."""

from dataclasses import replace

import pytest
import torch
from torch.distributions import Categorical, Distribution, Gamma, Independent, Normal

from stablelint.runtime.verify.replay.evaluate import log_probabilities, refused
from stablelint.runtime.verify.site import Verdict
from tests.runtime.verify.support import call, replay, site

SOURCE = b"import torch\nfrom torch.distributions import Bernoulli, Categorical, Normal\n"
SCALE = site(
    "Normal(m, s)",
    "Normal(m, s.clamp_min(torch.finfo(s.dtype).eps))",
    {"m": "m", "s": "s"},
    forward="s > 0",
    backward="s >= max ** (-1 / 3)",
    sample={"m": [-1.0, 1.0], "s": [0.1, 1.0]},
)


@pytest.mark.parametrize(
    ("scale", "verdict", "failed"),
    [
        (0.0, Verdict.CONFIRMED, "refused"),
        (1e-14, Verdict.CONFIRMED, "backward"),
        (0.5, Verdict.LATENT, "refused"),
    ],
)
def test_a_scale_is_judged_by_what_torch_makes_of_it(scale: float, verdict: Verdict, failed: str) -> None:
    operands = call(m=torch.zeros(3), s=torch.tensor([1.0, scale, 2.0]))
    decision = replay(SCALE, [operands], source=SOURCE).decision
    assert decision.verdict is verdict
    assert decision.witness is not None
    assert decision.witness.original_failed == failed
    assert decision.witness.fixed_failed is None


def test_a_scale_is_refused_though_compilation_has_switched_checks_off() -> None:
    before = Distribution._validate_args
    Distribution.set_default_validate_args(False)
    try:
        decision = replay(SCALE, [call(m=torch.zeros(1), s=torch.zeros(1))], source=SOURCE).decision
        assert not Distribution._validate_args
    finally:
        Distribution.set_default_validate_args(before)
    assert decision.witness is not None
    assert decision.witness.original_failed == "refused"


@pytest.mark.parametrize(
    ("original", "fixed"),
    [
        ("Categorical(probs=torch.softmax(z, dim=-1))", "Categorical(logits=z)"),
        ("Bernoulli(probs=torch.sigmoid(z))", "Bernoulli(logits=z)"),
    ],
)
def test_probabilities_that_saturate_lose_the_rare_outcomes(original: str, fixed: str) -> None:
    fault = site(original, fixed, {"z": "z"}, safe=True)
    saturated = replay(fault, [call(z=torch.tensor([[0.0, 200.0]]))], source=SOURCE).decision
    assert saturated.verdict is Verdict.CONFIRMED
    assert saturated.witness is not None
    assert saturated.witness.original_failed == "accuracy"
    assert (
        replay(fault, [call(z=torch.tensor([[0.0, 2.0]]))], source=SOURCE).decision.verdict is Verdict.LATENT
    )


def test_another_distribution_is_no_fix() -> None:
    swapped = replace(SCALE, fixed="Normal(m + 1, s.clamp_min(torch.finfo(s.dtype).eps))")
    found = replay(swapped, [call(m=torch.zeros(3), s=torch.ones(3))], source=SOURCE)
    assert found.decision.verdict is Verdict.DIVERGES


def test_a_singular_matrix_is_a_result() -> None:
    fault = site("torch.linalg.cholesky(a)", "torch.linalg.cholesky(a + 1e-3 * torch.eye(2))", {"a": "a"})
    assert replay(fault, [call(a=torch.zeros(2, 2))]).decision.verdict is Verdict.CONFIRMED
    with pytest.raises(RuntimeError) as singular:
        torch.linalg.cholesky(torch.zeros(2, 2))
    assert refused(singular.value)
    assert not refused(ValueError("operands of different shapes"))


def test_log_probabilities_carry_the_gradient() -> None:
    logits = torch.zeros(2, 3, requires_grad=True)
    assert log_probabilities(Categorical(logits=logits))[0].shape == (2, 3)
    scale = torch.ones(4, requires_grad=True)
    at_sample, at_distance, mean = log_probabilities(Independent(Normal(torch.zeros(4), scale), 1))
    (gradient,) = torch.autograd.grad(at_distance.sum(), scale)
    assert gradient.abs().max() < 1e-6, "a point one scale away is where the likelihood is flat in the scale"
    assert at_sample.requires_grad
    assert mean.tolist() == [0.0] * 4
    assert len(log_probabilities(Gamma(scale, scale))) == 1, "no point at a distance below zero"
