"""Which broken obligations are reported unasked, and which only where everything is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.diagnostic import Level

from ..support import CATALOG, IMPORTS, body, findings, levels, likely, possible

ROOT_OF_SQUARES = """
def {name}(x: torch.Tensor):
    return torch.sqrt(x.clamp(min=0))
"""


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("distance", Level.LIKELY),
        ("reconstruction_loss", Level.LIKELY),
        ("_scale", Level.POSSIBLE),
        ("predict", Level.POSSIBLE),
        ("_loss_term", Level.LIKELY),
    ],
)
def test_a_bad_gradient_is_likely_where_something_shows_that_one_is_taken(
    tmp_path: Path, name: str, level: Level
) -> None:
    assert levels(tmp_path, ROOT_OF_SQUARES.format(name=name))["SL103"] == {level}


def test_a_docstring_that_speaks_of_differentiation_shows_it(tmp_path: Path) -> None:
    code = '''
    def _root(x: torch.Tensor):
        """A differentiable root."""
        return torch.sqrt(x.clamp(min=0))
    '''
    assert levels(tmp_path, code)["SL103"] == {Level.LIKELY}


def test_no_gradient_is_felt_in_a_function_that_is_only_called_without_one(tmp_path: Path) -> None:
    code = """
    class Assigner(nn.Module):
        @torch.no_grad()
        def forward(self, boxes):
            return self.sides(boxes)

        def sides(self, boxes):
            return boxes.clamp(min=0).sqrt()
    """
    assert "SL103" not in levels(tmp_path, code)


@pytest.mark.parametrize(
    ("operand", "level"),
    [
        ("x", Level.LIKELY),  # what a caller gives may be silent, padded or constant
        ("torch.relu(self.layer(x))", Level.LIKELY),
        ("self.layer(x)", Level.POSSIBLE),
        ("torch.randn_like(x)", Level.POSSIBLE),
        ("self.weight", Level.POSSIBLE),
        ("torch.softmax(x, -1)", Level.POSSIBLE),
        ("self.anything(x)", Level.POSSIBLE),
    ],
)
def test_a_norm_vanishes_with_raw_data_and_not_with_what_a_network_yields(
    tmp_path: Path, operand: str, level: Level
) -> None:
    code = f"""
    class Unit(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.weight = nn.Parameter(torch.randn(3, 3))

        def forward(self, x):
            v = {operand}
            return 3.0 * v / v.norm(dim=-1)
    """
    assert levels(tmp_path, code)["SL102"] == {level}


def test_advantages_are_constant_where_nothing_was_won() -> None:
    code = """
    def update(critic, batch):
        advantages = batch.returns - critic(batch.obs)
        return (advantages - advantages.mean()) / advantages.std()
    """
    assert (3, "SL106") in likely(code)


@pytest.mark.parametrize(
    ("file", "level"), [("accuracy.py", Level.LIKELY), ("metrics/accuracy.py", Level.POSSIBLE)]
)
def test_the_nan_of_a_metric_over_nothing_is_its_answer(tmp_path: Path, file: str, level: Level) -> None:
    code = """
    def accuracy(hits: torch.Tensor, target: torch.Tensor):
        return hits.sum() / (target == 3).sum()
    """
    assert levels(tmp_path, code, file)["SL102"] == {level}


@pytest.mark.parametrize(
    ("comment", "shown"),
    [
        ("# NaN where nothing was seen, which nanmean ignores", False),
        ("# never zero: every row holds its own token", False),
        ("# BUG: this is NaN for an empty mask", True),
        ("# mean over the mask", True),
    ],
)
def test_a_comment_that_tells_of_the_bad_value_as_meant_is_believed(comment: str, shown: bool) -> None:
    code = f"""
    def average(x: torch.Tensor, mask: torch.Tensor):
        count = (mask == 1).sum(-1)
        {comment}
        return x.sum(-1) / count
    """
    assert ((4, "SL102") in likely(code)) is shown
    assert ((4, "SL102") in possible(code)) is not shown


def test_a_sigmoid_is_far_from_zero_but_for_its_logarithm() -> None:
    assert likely("def f(x: torch.Tensor):\n    return 1 / torch.sigmoid(x)\n") == []
    assert likely("def f(x: torch.Tensor):\n    return torch.sigmoid(x).log()\n") == [(2, "SL203")]


def test_a_log_scale_that_an_object_keeps_is_seldom_large(tmp_path: Path) -> None:
    code = """
    class Head(nn.Module):
        def forward(self, x, log_var):
            return x * self.logit_scale.exp(), log_var.exp()
    """
    found = check_source((IMPORTS + body(code)).encode(), "program.py", CATALOG, AnalysisOptions())
    kept, given = (
        {d.level for d in found.diagnostics if d.code == "SL201" and d.expression.startswith(name)}
        for name in ("self", "log_var")
    )
    assert (kept, given) == ({Level.POSSIBLE}, {Level.LIKELY})


def test_an_odd_function_is_zero_where_its_operand_is() -> None:
    code = """
    def slerp(a: torch.Tensor, b: torch.Tensor, t: float):
        angle = torch.acos((a * b).sum(-1).clamp(-0.9999, 1))
        return torch.sin(t * angle) / torch.sin(angle) * a
    """
    assert (3, "SL102") in likely(code)


@pytest.mark.parametrize(
    "weight",
    ["torch.exp(self.log_scale)", "torch.exp(self.log_scale).sum()", "0.0 + F.softplus(self.log_scale)"],
)
def test_an_exponential_of_a_parameter_underflows_too_far_off_for_its_quotient(weight: str) -> None:
    code = f"""
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.log_scale = nn.Parameter(torch.zeros(3))

        def forward(self, x):
            return x / ({weight})
    """
    assert likely(code) == []


def test_a_draw_that_gives_a_parameter_its_first_value_meets_no_end() -> None:
    code = """
    class Mixer(nn.Module):
        def __init__(self):
            super().__init__()
            self.rate = nn.Parameter(torch.log(torch.rand(8)))

        def forward(self, x):
            return x + torch.log(torch.rand(8))
    """
    assert [line for line, _ in likely(code)] == [7]


@pytest.mark.parametrize(("passed", "expected"), [("logstd.clamp(max=10)", []), ("logstd", [7])])
def test_what_every_call_in_sight_bounds_is_taken_for_bounded(passed: str, expected: list[int]) -> None:
    code = f"""
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 8)

        def sample(self, mean, logstd):
            return mean + torch.exp(logstd)

        def forward(self, x):
            mean, logstd = self.layer(x).chunk(2, -1)
            return self.sample(mean, {passed})
    """
    assert [line for line, rule in likely(code) if line == 7] == expected


def test_the_logarithm_of_a_condition_forbids() -> None:
    code = """
    def log_prob(x: torch.Tensor, v: torch.Tensor):
        return (x == v).float().log() + torch.log((x > 0).type(x.dtype))
    """
    assert likely(code) == []


@pytest.mark.parametrize("shape", ["[:, None]", "[..., None]", "[:, None, :]", "[None]"])
def test_an_index_that_adds_a_dimension_leaves_the_maximum_a_maximum(shape: str) -> None:
    code = f"""
    def attend(x: torch.Tensor, temperature: float):
        top = x.max(dim=1).values{shape}
        e = ((x - top) / temperature).exp()
        return e / e.sum(dim=1, keepdim=True)
    """
    assert likely(code) == []


@pytest.mark.parametrize(("name", "found"), [("latents", False), ("images", True)])
def test_latents_are_not_constant(name: str, found: bool) -> None:
    code = f"""
    def normalise({name}: torch.Tensor):
        spread, mean = torch.std_mean({name}[0])
        return ({name}[0] - mean) / spread
    """
    assert ((3, "SL106") in likely(code)) is found


@pytest.mark.parametrize(
    ("scale", "found"),
    [("log_std.exp()", False), ("F.softplus(log_std)", True), ("F.softplus(self.head(x))", True)],
)
def test_a_scale_underflows_only_where_a_network_yields_it(scale: str, found: bool) -> None:
    code = f"""
    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor, log_std: torch.Tensor):
            scale = {scale}
            return torch.distributions.Normal(x, torch.ones_like(x) * scale)
    """
    assert ((8, "SL108") in likely(code)) is found


def test_a_window_is_not_0_and_what_it_is_laid_over_may_be() -> None:
    code = """
    def power(wave: torch.Tensor, window: torch.Tensor):
        return (wave * window).pow(2).sum().sqrt() + window.pow(2).sum().sqrt()
    """
    (found,) = findings(code)
    assert found.expression.startswith("(wave * window)")


def test_the_logarithm_of_a_softplus_has_no_better_form() -> None:
    code = """
    def log_rate(x: torch.Tensor):
        return torch.log(F.softplus(x)), torch.log(torch.sigmoid(x))
    """
    assert likely(code) == [(2, "SL203")]


@pytest.mark.parametrize(("passed", "found"), [("self.clip.logit_scale", False), ("logit_scale", True)])
def test_a_logarithm_that_every_caller_takes_from_an_object(passed: str, found: bool) -> None:
    code = f"""
    class Head(nn.Module):
        def forward(self, x, logit_scale):
            return x * torch.exp(logit_scale)

    class Model(nn.Module):
        def __init__(self, clip):
            super().__init__()
            self.clip = clip
            self.head = Head()

        def forward(self, x, logit_scale):
            return self.head(x, {passed}) / x.norm()
    """
    assert ((3, "SL201") in likely(code)) is found
