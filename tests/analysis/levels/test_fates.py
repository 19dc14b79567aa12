"""What becomes of a result decides whether a bad one is worth a reader's time."""

from __future__ import annotations

import pytest

from ..support import likely

LOSS = """
class Model(nn.Module):
    def _places(self, score, distance):
        return (score < distance).sum()

    def _scaled(self, score, distance):
        return score * distance

    def forward(self, score, mask, target):
        chosen = torch.sqrt(score.clamp(min=0)) + 1
        {use}
"""


@pytest.mark.parametrize(
    ("use", "felt"),
    [
        ("return score[chosen > 2]", False),
        ("return chosen.argmax(-1)", False),
        ("return score * chosen.detach()", False),
        ("return torch.round(chosen)", False),
        ("return chosen.topk(3).indices", False),
        ("return self._places(target, chosen)", False),
        ("self.log('spread', chosen); return score", False),
        ("kept = chosen * 2; best = kept.mean().item(); return score, best", False),
        ("best = float(chosen.mean()); return score, best", False),
        ("best = chosen.float(); return score, best", True),
        ("return self._scaled(target, chosen)", True),
        ("return chosen.topk(3).values", True),
        ("return score[chosen > 2] * chosen", True),
        ("target[0] = chosen; return target", True),
        ("self.chosen = chosen; return score", True),
        ("for part in chosen: score = score + part\n        return score", True),
    ],
)
def test_a_gradient_is_felt_where_something_made_of_the_result_is_read(use: str, felt: bool) -> None:
    found = [rule for line, rule in likely(LOSS.format(use=use)) if line == 9]
    assert found == (["SL103"] if felt else [])


FIGURE = """
def step(model, batch, stats, logger, total):
    entropy, loss = model(batch)
    chosen = entropy[batch.mask == 1].mean()
    {use}
"""


@pytest.mark.parametrize(
    ("use", "harmless"),
    [
        ("stats['entropy'] = chosen.item(); return loss", True),
        ("stats.append(float(chosen)); return loss", True),
        ("logger.info(f'{chosen:.2f}'); return loss", True),
        ("kept = {'entropy': chosen}; stats.update(kept); return loss", True),
        ("return loss + chosen", False),
        ("stats['entropy'] = chosen; return loss + stats['entropy'] + chosen", False),
        ("total += chosen; return total", False),
        ("chosen.backward(); stats.append(chosen)", False),
        ("model.append(chosen); return loss", False),
    ],
)
def test_a_figure_over_nothing_does_no_harm_where_it_is_only_written_down(use: str, harmless: bool) -> None:
    found = [rule for line, rule in likely(FIGURE.format(use=use)) if line == 3]
    assert found == ([] if harmless else ["SL502"])


def test_digits_that_a_figure_loses_are_worth_telling() -> None:
    code = """
    def step(log_ratio: torch.Tensor, stats: list):
        stats.append((torch.exp(log_ratio) - 1).mean().item())
    """
    assert (2, "SL209") in likely(code)


@pytest.mark.parametrize(
    ("use", "shown"), [("(drift.abs() > 0.2).float().mean()", False), ("drift.abs().mean()", True)]
)
def test_a_comparison_loses_no_digits_worth_telling(use: str, shown: bool) -> None:
    code = f"""
    def clipped(log_ratio: torch.Tensor):
        drift = torch.exp(log_ratio) - 1
        return {use}
    """
    assert ((2, "SL209") in likely(code)) is shown


@pytest.mark.parametrize(
    ("result", "counted"),
    [
        ("torch.round(log_length.exp() - 1).clamp(min=0)", True),
        ("(log_length.exp() * 2).ceil()", True),
        ("log_length.exp() * 2", False),
        ("torch.round(log_length).exp()", False),
    ],
)
def test_an_exponential_that_is_rounded_counts(result: str, counted: bool) -> None:
    code = f"""
    class Lengths(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def forward(self, x):
            log_length = self.layer(x)
            return {result}
    """
    assert ("SL201" not in [rule for _, rule in likely(code)]) is counted


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ("keys.topk(4).indices", []),
        ("keys.argmax(-1)", []),
        ("keys.topk(4)", [2]),
        ("keys.sum(), keys.argmax(-1)", [2]),
    ],
)
def test_the_logarithm_of_zero_comes_last_where_only_an_order_is_taken(result: str, shown: list[int]) -> None:
    code = f"""
    def chosen(weight: torch.Tensor):
        keys = torch.log(torch.rand(8)) / weight.exp().clamp(min=1)
        return {result}
    """
    assert [line for line, rule in likely(code) if rule == "SL101"] == shown


@pytest.mark.parametrize(
    ("use", "shown"),
    [
        ("self.metrics.append(averaged(x).item())", False),
        ("self.metrics.append(averaged(x).item())\n            return averaged(y)", True),
        ("return map(averaged, y)", True),
    ],
)
def test_a_figure_is_followed_out_of_a_nested_function(use: str, shown: bool) -> None:
    code = f"""
    class Trainer:
        def step(self, x, y, text_mask):
            def averaged(values):
                return (values * text_mask).sum(-1) / text_mask.sum(-1)
            {use}
    """
    assert ((4, "SL102") in likely(code)) is shown
