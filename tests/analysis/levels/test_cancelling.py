"""Differences and products whose form tells that they come to 0, or below it."""

from __future__ import annotations

import pytest

from stablelint.diagnostic import Level

from ..support import function, likely, possible, report

POINTS = "x: torch.Tensor, y: torch.Tensor"


@pytest.mark.parametrize(
    "squared",
    [
        "(x**2).sum(1, keepdim=True) + (y**2).sum(1) - 2 * x.mm(y.T)",
        "x.norm(dim=1)[:, None] ** 2 - 2.0 * x @ y.t() + y.norm(dim=1) ** 2",
        "x.pow(2).sum(1)[:, None] + y.pow(2).sum(1) + torch.einsum('id,jd->ij', x, y) * -2",
    ],
)
def test_the_root_of_a_squared_distance_that_was_multiplied_out(squared: str) -> None:
    assert likely(function(f"torch.sqrt({squared})", parameters=POINTS)) == [(2, "SL103")]


@pytest.mark.parametrize(
    "line",
    [
        "torch.sqrt(((x**2).sum(1)[:, None] + (y**2).sum(1) - 2 * x.mm(y.T)).clamp(min=1e-12))",
        "torch.sqrt((x**2).sum(1)[:, None] + (y**2).sum(1) + 2 * x.mm(y.T))",
        "torch.sqrt((x**2).sum(1)[:, None] - 2 * x.mm(y.T))",
    ],
)
def test_other_roots_of_sums_and_products(line: str) -> None:
    assert likely(function(line, parameters=POINTS)) == []


@pytest.mark.parametrize(
    ("product", "shown"),
    [
        ("torch.addmm((y**2).sum(1), x, y.T, alpha=-2).add_((x**2).sum(1)[:, None])", True),
        ("torch.addmm((y**2).sum(1) + (x**2).sum(1)[:, None], x, y.T, beta=1, alpha=-2)", True),
        ("((y**2).sum(1) + (x**2).sum(1)[:, None]).addmm_(1, -2, x, y.t())", True),
        ("torch.baddbmm((y**2).sum(1) + (x**2).sum(1)[:, None], x, y.mT, alpha=-2)", True),
        ("torch.addmm((y**2).sum(1), x, y.T, alpha=-2)", False),
        ("torch.addmm((y**2).sum(1), x, y.T, alpha=2).add_((x**2).sum(1)[:, None])", False),
        ("torch.addmm((y**2).sum(1), x, y.T, beta=2, alpha=-2).add_((x**2).sum(1)[:, None])", False),
        ("((y**2).sum(1) + (x**2).sum(1)[:, None]).addmm_(1, -2, x, y.t()).clamp(min=1e-12)", False),
    ],
)
def test_a_squared_distance_whose_product_is_added_in_one_step(product: str, shown: bool) -> None:
    assert likely(function(f"({product}).sqrt()", parameters=POINTS)) == ([(2, "SL103")] if shown else [])


@pytest.mark.parametrize(
    "line",
    [
        "torch.sqrt(1.0 - torch.pow(cosine, 2))",
        "(1 - cosine**2) ** 0.5",
        "torch.sqrt(1 - cosine * cosine)",
        "torch.sqrt(1 - F.linear(F.normalize(cosine), w).square())",
    ],
)
def test_the_sine_of_a_cosine(line: str) -> None:
    code = function(line, parameters="cosine: torch.Tensor, w: torch.Tensor")
    assert likely(code) == [(2, "SL103")]


def test_a_selection_by_the_angle_keeps_no_nan_from_the_gradient() -> None:
    code = """
        class Margin(nn.Module):
            def forward(self, outputs, target):
                cosine = outputs.float()
                sine = torch.sqrt(1.0 - torch.pow(cosine, 2))
                phi = cosine * self.cos_m - sine * self.sin_m
                phi = torch.where(cosine > self.threshold, phi, cosine - self.margin)
                return target * phi + (1.0 - target) * cosine
    """
    assert likely(code) == [(4, "SL103")]


@pytest.mark.parametrize(
    "line", ["torch.sqrt(1 - rate**2)", "torch.sqrt(2 - cosine**2)", "torch.sqrt(1 - cosine)"]
)
def test_a_root_that_is_no_sine(line: str) -> None:
    code = function(line, parameters="cosine: torch.Tensor, rate: torch.Tensor")
    assert likely(code) == []
    assert (2, "SL103") in possible(code)


@pytest.mark.parametrize("bend", ["a + b - 2.0 * c", "(a - c) - (c - b)", "2 * c - a - b"])
def test_a_parabola_through_three_points_on_a_line_has_no_vertex(bend: str) -> None:
    code = function(
        f"0.5 * (a - b) / ({bend})", parameters="a: torch.Tensor, b: torch.Tensor, c: torch.Tensor"
    )
    assert likely(code) == [(2, "SL102")]


@pytest.mark.parametrize("divisor", ["a + b - c", "a - b", "a + b + 2 * c", "a + b - 2"])
def test_a_divisor_that_is_no_second_difference(divisor: str) -> None:
    code = function(f"a / ({divisor})", parameters="a: torch.Tensor, b: torch.Tensor, c: torch.Tensor")
    assert likely(code) == []


def test_a_constant_that_lifts_one_factor_of_a_denominator() -> None:
    code = function(
        "a / ((a * a + b * b) * (c * c + 1e-8))",
        parameters="a: torch.Tensor, b: torch.Tensor, c: torch.Tensor",
    )
    assert likely(code) == [(2, "SL102")]


@pytest.mark.parametrize(
    "divisor",
    [
        "(a * a + b * b + 1e-8) * (c * c + 1e-8)",
        "b * (c * c + 1e-8)",
        "2 * (c * c + 1e-8)",
        "torch.sign(c.sign() + 0.5) * (c.abs() + 1e-8)",
    ],
)
def test_a_denominator_that_is_lifted_or_scaled_as_a_whole(divisor: str) -> None:
    code = function(f"a / ({divisor})", parameters="a: torch.Tensor, b: torch.Tensor, c: torch.Tensor")
    assert likely(code) == []


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("2 * (x * torch.log(x / y) + y - x)", "SL211"),
        ("-x * x.log()", "SL210"),
        ("(x * torch.log(x)).sum()", "SL210"),
    ],
)
def test_a_value_times_its_own_logarithm(line: str, rule: str) -> None:
    assert likely(function(line, parameters=POINTS)) == [(2, rule)]


@pytest.mark.parametrize(
    "line", ["x * torch.log(x + 1e-8)", "x * torch.log(y)", "(x + 1e-7) * torch.log(x + 1e-7)"]
)
def test_a_logarithm_of_something_else(line: str) -> None:
    assert not {"SL210", "SL211"} & {rule for _, rule in likely(function(line, parameters=POINTS))}


def test_a_quotient_added_to_1_loses_its_digits() -> None:
    assert (2, "SL208") in likely(function("torch.log(1 + x / y.exp())", parameters=POINTS))
    assert (2, "SL208") not in likely(function("torch.log(1 + x)", parameters=POINTS))
    assert (2, "SL208") not in likely(function("torch.log(1 - x / y.exp())", parameters=POINTS))


def test_a_small_number_that_guards_the_logarithm_of_a_quotient_is_no_1() -> None:
    found = report("""
        def share(x: torch.Tensor, y: torch.Tensor):
            return torch.log(x / y + 1e-8)

        def train(model, x):
            with torch.autocast("cuda"):
                return model(x)
        """)
    (guard,) = [item for item in found.diagnostics if item.code == "SL402"]
    assert (guard.level, "adding 1" in guard.message) == (Level.POSSIBLE, False)


@pytest.mark.parametrize(
    "line",
    [
        "torch.where(x > 0, torch.sqrt(x + 1.0), y)",
        "torch.where(x.abs() >= 1e-6, y / x, y)",
        "torch.where((y > 0) & (x != 0), y / (2 * x), y)",
    ],
)
def test_a_test_of_what_the_operand_is_made_of(line: str) -> None:
    assert likely(function(line, parameters=POINTS)) == [(2, "SL503")]


@pytest.mark.parametrize(
    "line",
    [
        "torch.where(x > 0, y / (x + 1e-8), y)",
        "torch.where(y > 0, y / x, y)",
        "torch.where(x == 0, x, x.abs().expm1())",
        "torch.where(1.0 / x < 1e6, 1.0 / x, y)",
    ],
)
def test_a_test_of_something_else(line: str) -> None:
    code = function(line, parameters=POINTS)
    assert likely(code) == []
    assert possible(code) != []


def test_no_gradient_is_taken_through_a_backward_pass() -> None:
    line = "torch.where(x.abs() < 1e-6, grad_output, grad_output / x)"
    assert likely(function(line, parameters="x: torch.Tensor, grad_output: torch.Tensor")) == []
    assert likely(function(line.replace("grad_output", "y"), parameters=POINTS)) == [(2, "SL503")]


@pytest.mark.parametrize("eps", ["1e-8", "eps"])
def test_a_probability_that_a_constant_keeps_off_0(eps: str) -> None:
    code = function(
        f"torch.log(torch.softmax(x, dim=1) + {eps})", parameters="x: torch.Tensor, eps: float = 1e-8"
    )
    assert likely(code) == []
    assert possible(code) == [(2, "SL225")]


def test_a_probability_that_is_smoothed_on_purpose() -> None:
    assert likely(function("torch.log(torch.softmax(x, dim=1) + 0.1)")) == []


def test_a_factor_that_1_is_added_to_is_not_kept_off_0() -> None:
    code = """
        def derivative(self, x: torch.Tensor, churn: float = 0.0):
            sigma = self.sigmas[self.index]
            hat = sigma * (min(churn / 4, 0.4) + 1)
            return x / hat
        """
    assert likely(code) == []


@pytest.mark.parametrize(
    "line",
    [
        "torch.log(1 + x.abs())",
        "x.sign() * torch.log(x.abs() + 1.0)",
        "3 * torch.log(1 + x.abs() / scale)",
        "torch.log(1 + torch.exp(-x).sum(dim=1))",
        "torch.log(1 + 4 * (x / y) ** 2)",
        "torch.log(F.l1_loss(x, y) + 1)",
    ],
)
def test_a_size_that_is_added_to_1_before_a_logarithm(line: str) -> None:
    code = function(line, parameters="x: torch.Tensor, y: torch.Tensor, scale: float = 2.0")
    assert (2, "SL208") in likely(code)


@pytest.mark.parametrize(
    "line",
    [
        "y - 2 * torch.log(1 + x.abs())",
        "-torch.log(1 + x**2) - y",
        "torch.log(1 + (x > 0).float().sum(dim=1))",
        "torch.log(1 + positions.abs())",
        "torch.log(1 + torch.arange(-3, 4).float().abs())",
        "torch.log(1 + x)",
        "torch.log(1 - x.sigmoid())",
        "torch.log1p(x.abs())",
    ],
)
def test_a_logarithm_that_lacks_no_digits_worth_telling(line: str) -> None:
    code = function(line, parameters=POINTS + ", positions: torch.Tensor")
    assert "SL208" not in {rule for _, rule in likely(code)}


def test_digits_are_lost_whatever_is_selected_by_the_size() -> None:
    code = """
        def wing(output: torch.Tensor, target: torch.Tensor, width: float = 5.0, curvature: float = 0.5):
            error = (target - output).abs()
            loss = error.clone()
            small = error < width
            loss[small] = width * torch.log(1 + error[small] / curvature)
            return loss
    """
    assert likely(code) == [(5, "SL208")]
