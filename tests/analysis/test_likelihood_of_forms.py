"""Which forms, and which places, hold a finding below the default level."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.diagnostic import Level

from . import support
from .levels.test_likelihood import levels
from .support import possible


def likely(code: str) -> list[str]:
    """The rules of what is reported by default."""
    return [rule for _, rule in support.likely(code)]


@pytest.mark.parametrize(
    ("file", "level"),
    [
        ("test_losses.py", Level.POSSIBLE),
        ("losses_test.py", Level.POSSIBLE),
        ("conftest.py", Level.POSSIBLE),
        ("latest.py", Level.LIKELY),
        ("attestation.py", Level.LIKELY),
    ],
)
def test_what_a_test_computes_is_checked_by_its_assertions(tmp_path: Path, file: str, level: Level) -> None:
    assert levels(tmp_path, "def f(x):\n    return x / (x > 0).sum()", file)["SL102"] == {level}


@pytest.mark.parametrize(
    ("file", "level"),
    [
        ("evaluator.py", Level.POSSIBLE),
        ("metrics_manager.py", Level.POSSIBLE),
        ("metric_learning.py", Level.LIKELY),
    ],
)
def test_an_evaluation_says_by_nan_that_there_was_nothing(tmp_path: Path, file: str, level: Level) -> None:
    assert levels(tmp_path, "def f(x):\n    return x / (x > 0).sum()", file)["SL102"] == {level}


def test_no_digits_are_left_to_lose_in_what_is_rounded() -> None:
    code = """
def durations(log_duration, mask):
    duration = (torch.exp(log_duration) - 1) * mask
    duration[duration < 1] = 1.0
    return {end}
"""
    assert likely(code.format(end="torch.round(duration)")) == []
    assert likely(code.format(end="duration")) == ["SL209"]


def test_an_exponential_that_is_added_to_as_well_is_an_amplitude() -> None:
    code = """
def shelf(gain: torch.Tensor, w):
    a = torch.exp(gain / 40)
    return (a - 1) * torch.cos(w) + ({other})
"""
    assert likely(code.format(other="a + 1")) == []
    assert likely(code.format(other="w")) == ["SL209"]


def test_expm1_is_of_no_use_far_from_zero() -> None:
    assert likely("def f():\n    return torch.log(torch.exp(torch.ones(1)) - 1)") == []
    assert likely("def f(x):\n    return torch.log(torch.exp(x.sigmoid()) - 1)") == ["SL209"]


def test_no_gradient_is_taken_through_a_norm_that_becomes_a_number() -> None:
    code = "def step_size(box: torch.Tensor):\n    return ((box[3:] - box[:3]) ** 2).sum().sqrt(){end} / 1000"
    assert likely(code.format(end=".item()")) == []
    assert likely(code.format(end="")) == ["SL105"]


def test_a_where_that_replaces_what_is_good_hides_nothing() -> None:
    code = "def envelope(x: torch.Tensor):\n    return torch.where(x {test} 1, 1 / x, torch.zeros_like(x))"
    assert likely(code.format(test="<")) == []
    assert likely(code.format(test=">")) == ["SL503"]


def test_vectors_are_projected_by_their_last_component_and_scaled_by_their_first() -> None:
    assert likely("def f(h: torch.Tensor):\n    return h / h[..., :1]") == []
    assert likely("def f(h: torch.Tensor):\n    return h[..., :2] / h[..., 2:]") == ["SL102"]


def test_an_angle_that_is_drawn_stays_in_its_range() -> None:
    assert (
        likely("def f(n, low, high):\n    return torch.acos(1 - 2 * (torch.rand(n) * (high - low) + low))")
        == []
    )
    assert likely("def f(a, b):\n    return torch.acos((a * b).sum(-1))") == ["SL104"]


def test_a_sigmoid_on_every_path_is_as_far_from_zero_as_one() -> None:
    code = """
def f(x, y, first):
    scale = y.sigmoid()
    if first:
        scale = {other}
    return x / scale
"""
    assert likely(code.format(other="x.sigmoid()")) == []
    assert likely(code.format(other="(x > 0).sum()")) == ["SL102"]


def test_the_power_of_a_negative_number_is_a_sign() -> None:
    code = "def f(n, size):\n    return (-1.0) ** torch.repeat_interleave(torch.arange(n), size)"
    assert likely(code) == []


def test_the_logarithm_of_a_triangle_of_ones_forbids_the_other() -> None:
    assert likely("def f(n):\n    bias = torch.ones(n, n)\n    bias.tril_()\n    return bias.log()") == []
    assert likely("def f(x):\n    return x.softmax(-1).tril().log()") == ["SL101"]


def test_what_an_exception_leads_to_is_seldom_taken() -> None:
    code = """
class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        try:
            self.divergence = nn.KLDivLoss(reduction="batchmean"{newer})
        except TypeError:
            self.divergence = nn.KLDivLoss(reduction="batchmean")

    def forward(self, p, q):
        return self.divergence(p.log_softmax(-1), q.log_softmax(-1))
"""
    assert likely(code.format(newer=", log_target=True")) == []
    assert likely(code.format(newer="")) == ["SL309"]


def test_a_passed_mask_less_its_padding_leaves_something_in_the_batch() -> None:
    code = """
def f(loss: torch.Tensor, target_mask: torch.Tensor, targets: torch.Tensor, pad_idx: int):
    mask = target_mask & {other}
    return loss.sum() / mask.sum()
"""
    assert likely(code.format(other="targets.ne(pad_idx)")) == []
    assert likely(code.format(other="targets.ge(0.5)")) == ["SL102"]


@pytest.mark.parametrize(
    ("base", "level"), [("torch.autograd.Function", Level.POSSIBLE), ("nn.Module", Level.LIKELY)]
)
def test_what_autograd_calls_records_nothing(tmp_path: Path, base: str, level: Level) -> None:
    code = """
class Threshold({base}):
    @staticmethod
    def forward(ctx, x):
        return torch.sqrt(x.clamp(min=0))
"""
    assert levels(tmp_path, code.format(base=base))["SL103"] == {level}


def test_the_message_of_an_exponential_holds_for_a_bounded_argument() -> None:
    code = "def f(x: torch.Tensor):\n    return (100 * x.sigmoid()).exp()"
    assert ["overflow" in d.message for d in support.findings(code)] == [True]
    assert possible("def f(x):\n    return (80 * x.sigmoid()).exp()") == []


def test_what_is_rounded_under_its_own_name_has_no_digits_to_lose() -> None:
    code = """
def durations(log_duration, mask, scale):
    duration = (torch.exp(log_duration) - 1) * mask * scale
    {between}
    duration = torch.round(duration)
    return duration
"""
    assert likely(code.format(between="duration[duration < 1] = 1.0")) == []
    assert likely(code.format(between="show(duration)")) == ["SL209"]


def test_a_part_of_a_softplus_is_one() -> None:
    assert likely("def f(x):\n    return torch.log(F.softplus(x)[..., 0])") == []
    assert likely("def f(x):\n    return torch.log(torch.sigmoid(x))") == ["SL203"]


def test_the_mean_of_what_was_counted_for_a_log_does_no_harm() -> None:
    code = """
def f(depth, truth, metrics):
    {target} = F.mse_loss(depth[truth > 0], truth[truth > 0])
    return metrics{end}
"""
    assert likely(code.format(target="metrics['depth']", end="")) == []
    assert likely(code.format(target="loss", end=", loss")) == ["SL502"]


@pytest.mark.parametrize(
    ("file", "level"),
    [
        ("layers.py", Level.LIKELY),
        ("color_maps.py", Level.POSSIBLE),
        ("evaluate.py", Level.POSSIBLE),
        ("test_layers.py", Level.POSSIBLE),
        ("test_functions/problems.py", Level.LIKELY),
        ("tests/problems.py", Level.POSSIBLE),
    ],
)
def test_what_people_look_at_and_tests_are_only_possible(tmp_path: Path, file: str, level: Level) -> None:
    code = """
        def scaled(image: torch.Tensor):
            return (image - image.min()) / (image.max() - image.min())
        """
    assert levels(tmp_path, code, file)["SL102"] == {level}


@pytest.mark.parametrize(
    ("drawn", "level"), [("torch.randn(3, 4)", Level.POSSIBLE), ("x.relu()", Level.LIKELY)]
)
def test_the_span_of_a_draw_is_not_0(tmp_path: Path, drawn: str, level: Level) -> None:
    code = f"""
        def scaled(x: torch.Tensor):
            y = {drawn} * 2
            return (y - y.min()) / (y.max() - y.min())
        """
    assert levels(tmp_path, code)["SL102"] == {level}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1 / x + 1e-8", ["SL409"]),
        ("a / x + 1e-8", []),  # it may be meant for the result
        ("torch.rsqrt(x.square().mean(-1)) + 1e-6", ["SL409"]),
        ("a / (x + torch.sign(x) * 1e-6)", ["SL409"]),
        ("a / (x.abs() + 1e-6)", []),
        ("torch.nan_to_num(a / x)", ["SL503"]),
        ("torch.nan_to_num(torch.exp(x) * a)", []),
    ],
)
def test_a_guard_in_the_wrong_place_shows_that_the_zero_was_met(line: str, expected: list[str]) -> None:
    assert likely(f"def f(a: torch.Tensor, x: torch.Tensor):\n    return {line}") == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch.exp(x) - x - 1", ["SL209"]),
        ("torch.exp(x) - a - 1", []),
        ("torch.log((a.relu() * torch.exp(x)).sum(-1))", ["SL204"]),
        ("torch.log((a.relu() * torch.exp(x - x.amax(-1, keepdim=True))).sum(-1) + 1e-6)", []),
    ],
)
def test_a_form_by_hand_is_known_with_what_stands_between_its_parts(line: str, expected: list[str]) -> None:
    assert likely(f"def f(a: torch.Tensor, x: torch.Tensor):\n    return {line}") == expected
