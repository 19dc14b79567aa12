"""Places through which no gradient is taken, and digits that nobody reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.diagnostic import Level

from .support import CATALOG, found_in_package, open_


def test_a_figure_that_is_printed_has_no_gradient() -> None:
    code = """
    class Probe(nn.Module):
        def forward(self, x):
            print(x.var(0).mean().sqrt())
            return x.var(0).mean().sqrt()
    """
    assert [line for line, _ in open_(code)] == [4]


@pytest.mark.parametrize(("folder", "expected"), [("envs", []), ("losses", [5])])
def test_what_stands_among_environments_takes_no_gradient(
    tmp_path: Path, folder: str, expected: list[int]
) -> None:
    package = tmp_path / "pkg" / folder
    package.mkdir(parents=True)
    for path in (tmp_path / "pkg", package):
        (path / "__init__.py").touch()
    source = package / "walker.py"
    source.write_text(
        "import torch\n\ndef pitch(x: torch.Tensor):\n    c = x.clamp(-1, 1)\n    return torch.asin(c)\n"
    )
    found = check_source(source.read_bytes(), str(source), CATALOG, AnalysisOptions())
    assert [d.span.start.row for d in found.diagnostics] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("token_ids", []), ("relative_positions", []), ("pos_counts", []), ("energies", [2])],
)
def test_whole_numbers_have_no_gradient(name: str, expected: list[int]) -> None:
    code = f"""
    def bucket({name}: torch.Tensor):
        far = torch.log({name}.float())
        near = {name}.float()
        return torch.where({name} > 0, far, near)
    """
    assert [line for line, rule in open_(code) if rule == "SL503"] == expected


def test_what_becomes_a_whole_number_has_no_digits_to_lose() -> None:
    code = """
    def durations(x: torch.Tensor):
        return torch.clamp(torch.round(x.exp() - 1.0), min=0).long(), x.exp() - 1
    """
    (found,) = open_(code)
    assert found == (2, "SL209")


ROOT = """
class Distance({base}):
    @staticmethod
    def backward(ctx, x: torch.Tensor):
        length = x.pow(2).sum(-1).sqrt()
        return {use}
"""


@pytest.mark.parametrize(
    ("base", "use", "level"),
    [
        ("nn.Module", "length", Level.LIKELY),
        ("nn.Module", "torch.bucketize(length, torch.arange(9))", Level.POSSIBLE),
        ("torch.autograd.Function", "length", Level.POSSIBLE),
    ],
)
def test_neither_buckets_nor_what_autograd_is_told_by_hand_have_a_gradient(
    tmp_path: Path, base: str, use: str, level: Level
) -> None:
    found = levels(tmp_path, ROOT.format(base=base, use=use))
    assert (Level.LIKELY in {*found.get("SL105", ()), *found.get("SL103", ())}) is (level is Level.LIKELY)


def test_python_numbers_have_no_gradient() -> None:
    code = """
    def weights(size: float, power: float = 0.5):
        return torch.as_tensor(size).clamp(min=0) ** power
    """
    assert open_(code) == []


@pytest.mark.parametrize(
    ("name", "shown"), [("advantage", False), ("rewards", False), ("loss_mask", False), ("features", True)]
)
def test_no_gradient_flows_into_what_an_episode_yields_nor_into_a_mask(name: str, shown: bool) -> None:
    code = f"""
    class Loss(nn.Module):
        def forward(self, {name}):
            return {name}.pow(2).clamp(min=0).sqrt().sum()
    """
    assert ((3, "SL103") in open_(code)) is shown


@pytest.mark.parametrize(("name", "shown"), [("_spread", False), ("spread", True)])
def test_a_private_static_method_is_like_a_private_function(tmp_path: Path, name: str, shown: bool) -> None:
    code = f"""
    class Scaler(nn.Module):
        @staticmethod
        def {name}(x):
            return x.clamp(min=0).sqrt()
    """
    assert ("SL103" in found_in_package(tmp_path, code)) is shown


@pytest.mark.parametrize(("annotation", "shown"), [("torch.Tensor | float", False), ("torch.Tensor", True)])
def test_what_may_be_plain_numbers_throughout_is_not_trained(
    tmp_path: Path, annotation: str, shown: bool
) -> None:
    code = f"""
    def angle(a: {annotation}, b: {annotation}, device="cpu"):
        return torch.asin((torch.as_tensor(a) / b).clamp(-1, 1))
    """
    assert ("SL104" in found_in_package(tmp_path, code)) is shown


@pytest.mark.parametrize(
    ("given", "level"), [("lambda x: {}", Level.POSSIBLE), ("self.forward", Level.LIKELY)]
)
def test_a_lambda_is_for_somebody_else_to_call(tmp_path: Path, given: str, level: Level) -> None:
    spacing = "torch.where(x < 1, x / 2, 1 - 1 / (2 * x))"
    code = f"""
    class Sampler(nn.Module):
        def __init__(self):
            super().__init__()
            self.spacing = Spacing({given.format(spacing)})

        def forward(self, x):
            return {spacing if level is Level.LIKELY else "x"}
    """
    assert found_in_package(tmp_path, code) == {"SL503"}


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("_get_target_single", Level.POSSIBLE),
        ("make_box_targets", Level.POSSIBLE),
        ("retarget", Level.LIKELY),
    ],
)
def test_what_makes_targets_is_compared_with(tmp_path: Path, name: str, level: Level) -> None:
    code = f"""
    class Head(nn.Module):
        def {name}(self, boxes):
            return boxes.pow(2).sum(-1).sqrt()
    """
    assert found_in_package(tmp_path, code) == {"SL105"}
