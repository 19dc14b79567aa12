"""Spellings that users write of what the rules know."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.diagnostic import Level

from .support import found_in_package, open_


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


@pytest.mark.parametrize("cosine", ["(p * q).sum(-1)", "(p * q).sum(-1).abs()", "torch.abs(p @ q)"])
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


@pytest.mark.parametrize("size", ["x.abs().sum(-1)", "torch.sum(torch.abs(x), dim=1)", "x.norm(dim=-1)"])
def test_a_norm_written_as_a_sum_is_0_for_silence(size: str) -> None:
    assert rules(f"def energy(x):\n    return torch.log({size})") == ["SL101"]
    assert rules(f"def energy(x):\n    x = nn.Linear(3, 3)(x)\n    return torch.log({size})") == []


@pytest.mark.parametrize(("name", "level"), [("distort", Level.LIKELY), ("plot_points", Level.POSSIBLE)])
def test_a_private_function_is_trained_through_where_its_callers_are(
    tmp_path: Path, name: str, level: Level
) -> None:
    code = f"""
    def _radius(p):
        return torch.sqrt(p[..., 0] ** 2 + p[..., 1] ** 2)
    def {name}(points: torch.Tensor):
        return _radius(points)
    """
    assert found_in_package(tmp_path, code) == {"SL103"}


@pytest.mark.parametrize(("given", "level"), [("out=out", Level.POSSIBLE), ("dim=0", Level.LIKELY)])
def test_what_writes_where_it_is_told_records_no_gradient(tmp_path: Path, given: str, level: Level) -> None:
    code = f"""
    def phases(v: torch.Tensor, out=None):
        u = F.normalize(v, {given})
        return u, (v[..., 0] ** 2 + v[..., 1] ** 2).sqrt()
    """
    assert found_in_package(tmp_path, code) == {"SL103"}
