"""Spellings that users write of what the rules know."""

import pytest

from tests.analysis.support import open_


def rules(code: str) -> list[str]:
    """The rules of what is reported by default."""
    return [rule for _, rule in open_(code)]


def test_a_constant_added_to_the_error_does_not_keep_cosh_from_overflowing() -> None:
    code = """
    class LogCosh(nn.Module):
        def forward(self, x, y):
            return torch.log(torch.cosh(x - y + 1e-12)).mean()
    """
    assert rules(code) == ["SL217"]


@pytest.mark.parametrize(
    "cosine",
    [
        "(p * q).sum(-1).abs()",
        "torch.abs(p @ q)",
    ],
)
def test_a_computed_cosine_passes_1_with_or_without_its_sign(cosine: str) -> None:
    assert rules(f"def angle(p, q):\n    return 2 * torch.acos({cosine})") == ["SL104"]
    assert rules(f"def angle(p, q):\n    return 2 * torch.acos(({cosine}).clamp(max=1 - 1e-6))") == []


@pytest.mark.parametrize("eps", ["torch.finfo(x.dtype).eps", "1e-7"])
def test_the_smallest_number_of_a_format_guards_one_factor_alone(eps: str) -> None:
    code = f"""
    def quality(x: torch.Tensor, y: torch.Tensor):
        squares, spread = (x - 1) ** 2 + (y - 1) ** 2, x - y + {eps}
        return x / (squares * spread)
    """
    assert rules(code) == ["SL102"]


@pytest.mark.parametrize("name", ["ln_var", "log_sigma_sq", "z_logvar", "__logvar__"])
def test_a_logarithm_is_known_by_many_names(name: str) -> None:
    code = f"def kl(mu, {name}):\n    return (mu**2 + {name}.exp()).sum()"
    assert rules(code) == ["SL201"]
