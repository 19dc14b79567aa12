"""NaN and infinities that do no harm: met on the spot, only compared, or passed over by what takes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.diagnostic import Level

from ..support import levels, likely, possible

CHOSEN = """
def scale(x: torch.Tensor, bound: float):
    size = x[x > bound].abs().mean()
    {then}
    return x / (size + 1)
"""


@pytest.mark.parametrize(
    ("then", "found"),
    [
        ("if torch.isnan(size): size = torch.tensor(1.0)", False),
        ("if not size.isfinite() or size == 0: size = x.new_ones(())", False),
        ("if torch.isnan(size): raise ValueError(size)", True),
        ("if torch.isnan(x).any(): size = torch.tensor(1.0)", True),
        ("size = size * 2", True),
    ],
)
def test_a_result_that_is_tested_for_nan_and_replaced_is_expected(then: str, found: bool) -> None:
    code = CHOSEN.format(then=then)
    assert (2, "SL502") in (likely(code) if found else possible(code))


@pytest.mark.parametrize(("owner", "found"), [("Processor", False), ("Loss(nn.Module)", True)])
def test_elements_that_are_replaced_keep_their_bad_gradient(tmp_path: Path, owner: str, found: bool) -> None:
    code = f"""
    class {owner}:
        def forward_scores(self, scores):
            probs = torch.softmax(scores, dim=1)
            logs = torch.log(probs)
            logs = torch.where(torch.isfinite(logs), logs, -1e4)
            return logs
    """
    assert (Level.LIKELY in levels(tmp_path, code)["SL202"]) is found


@pytest.mark.parametrize(("use", "found"), [("y[y < x[mask].mean()]", False), ("y - x[mask].mean()", True)])
def test_no_comparison_with_the_mean_of_nothing_holds(use: str, found: bool) -> None:
    code = f"""
    def harder(x: torch.Tensor, y: torch.Tensor, labels: torch.Tensor):
        mask = labels == 1
        return {use}
    """
    assert ((3, "SL502") in likely(code)) is found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("steps.log().log_softmax(1)", False),
        ("torch.softmax(torch.log(steps), 1)", False),
        ("steps.log() + 1", True),
    ],
)
def test_the_logarithm_of_0_becomes_a_share_of_0(tmp_path: Path, line: str, found: bool) -> None:
    code = f"""
    def _transitions(x: torch.Tensor):
        steps = F.relu(x)
        return {line}
    """
    assert (Level.LIKELY in levels(tmp_path, code)["SL101"]) is found


@pytest.mark.parametrize(("name", "found"), [("log_prob", False), ("evidence", True)])
def test_what_a_distribution_does_not_hold_has_probability_0(name: str, found: bool) -> None:
    code = f"""
    class Empirical:
        def sample(self):
            return self.values[0]

        def {name}(self, value: torch.Tensor, weights: torch.Tensor):
            hits = (self.values == value).float()
            return (weights.softmax(0) * hits).sum(-1).log()
    """
    assert ((7, "SL101") in likely(code)) is found


@pytest.mark.parametrize(("test", "found"), [("torch.isfinite(grad)", False), ("grad > 0", True)])
def test_an_infinite_cost_is_met_by_a_test_of_its_gradient(test: str, found: bool) -> None:
    code = f"""
    def cost(x, y, n, m):
        loss = F.ctc_loss(x, y, n, m, reduction="none")
        grad = loss.grad_fn(torch.ones_like(loss)).sum([0, 2])
        return loss[{test}].sum()
    """
    assert ((2, "SL308") in likely(code)) is found


@pytest.mark.parametrize(
    ("comment", "found"),
    [
        ("-inf at a zero entry, which no maximum picks", False),
        ("nan: TODO", True),
        ("the logarithm", True),
    ],
)
def test_a_comment_beside_the_line_states_what_comes_of_it(comment: str, found: bool) -> None:
    code = f"""
    def exponents(x: torch.Tensor):
        return torch.floor(torch.log2(F.relu(x)))  # {comment}
    """
    assert ((2, "SL101") in likely(code)) is found


def test_one_selection_is_reported_once_a_statement() -> None:
    code = """
    def silog(pred: torch.Tensor, target: torch.Tensor):
        valid = target > 0
        diff = target[valid] - pred[valid]
        return diff.pow(2).mean() - 0.5 * diff.mean().pow(2)
    """
    assert [rule for _, rule in likely(code)].count("SL502") == 1


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("return chosen.sample()", False),
        ("action = chosen.sample(); return action, chosen.log_prob(action)", True),
        ("return chosen", True),
    ],
)
def test_a_choice_that_is_only_drawn_from(line: str, found: bool) -> None:
    code = f"""
    class Policy(nn.Module):
        def forward(self, x):
            chosen = torch.distributions.Categorical(torch.softmax(x, dim=-1))
            {line}
    """
    assert ((3, "SL108") in likely(code)) is found


@pytest.mark.parametrize(
    ("inner", "level"), [("a - b.maximum(a)", Level.POSSIBLE), ("-a.relu()", Level.LIKELY)]
)
def test_the_logarithm_of_a_difference_of_equals(tmp_path: Path, inner: str, level: Level) -> None:
    code = f"""
    def difference_loss(a: torch.Tensor, b: torch.Tensor):
        return torch.log1p(-torch.exp({inner})).sum()
    """
    assert levels(tmp_path, code)["SL101"] == {level}


@pytest.mark.parametrize(
    ("caught", "found"),
    [("ZeroDivisionError", False), ("(KeyError, ArithmeticError)", False), ("KeyError", True)],
)
def test_a_quotient_by_zero_that_is_caught_was_expected(caught: str, found: bool) -> None:
    code = f"""
    def share(hits: list, scores: torch.Tensor):
        chosen = [s for s in hits if s > 0]
        try:
            return sum(chosen) / len(chosen)
        except {caught}:
            return 0.0
    """
    assert bool(likely(code)) is found


@pytest.mark.parametrize(
    ("use", "found"),
    [("sample()", False), ("sample((3,))", False), ("log_prob(action)", True), ("probs", True)],
)
def test_a_choice_without_a_name_is_only_drawn_from(use: str, found: bool) -> None:
    code = f"""
    def act(x: torch.Tensor, action: torch.Tensor):
        return torch.distributions.Categorical(probs=torch.softmax(x, -1)).{use}
    """
    assert bool(likely(code)) is found
