"""Quotients and logarithms whose NaN is wiped away after the fact, by whatever spelling."""

import pytest

from tests.analysis.support import assumed, open_, report, unmet

_SATURATION = """
class Saturation(nn.Module):
    def forward(self, image):
        largest, smallest = image.amax(1), image.amin(1)
        s = (largest - smallest) / largest
        {wiped}
        return s
"""


@pytest.mark.parametrize(
    "wiped",
    [
        "s = torch.where(torch.isfinite(s), s, torch.zeros_like(s))",
        "s = torch.nan_to_num(s)",
    ],
)
def test_what_is_not_finite_is_wiped_away_but_not_its_gradient(wiped: str) -> None:
    assert [rule for _, rule in open_(_SATURATION.format(wiped=wiped))] == ["SL503"]


@pytest.mark.parametrize(
    "wiped",
    [
        "s[torch.isnan(s)] = 0",
        "s = torch.where(torch.isnan(s), torch.zeros_like(s), s)",
        "s = s.masked_fill(s.isnan(), 0.0)",
    ],
)
def test_who_wipes_nan_away_leaves_the_infinity_of_a_quotient_by_0(wiped: str) -> None:
    assert [rule for _, rule in open_(_SATURATION.format(wiped=wiped))] == ["SL102"]


def test_the_nan_of_something_else_tells_nothing() -> None:
    assert unmet(_SATURATION.format(wiped="s[torch.isnan(image)] = 0")) == []


def test_nan_of_what_several_paths_yield_is_wiped_away_too() -> None:
    code = """
    class Distance(nn.Module):
        def forward(self, x, flat):
            y = self.filter(x) if flat else self.wide(x)
            return torch.nan_to_num(y{shape}.log())
    """
    assert [rule for _, rule in open_(code.format(shape=""))] == ["SL503"]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("torch.where(m > 0, torch.log(m), 0)", "discharged"),
        ("torch.where(m > -1, torch.log(m), 0)", "unguarded"),
        ("torch.where(m > -1, torch.sqrt(m), 0)", "unguarded"),
        ("torch.where(m >= 0, torch.sqrt(m), 0)", "discharged"),
        ("torch.where(m > 20, m, m.expm1().log())", "unguarded"),
        ("torch.log(m).masked_fill(torch.isnan(m.log()) | torch.isinf(m.log()), 0)", "discharged"),
        ("torch.log(m).masked_fill(torch.isinf(m.log()), 0)", "unguarded"),
        ("torch.log(m).masked_fill(torch.isnan(m.log()) | torch.isneginf(m.log()), 0)", "discharged"),
        ("torch.log(m).masked_fill(torch.isnan(m.log()) | torch.isposinf(m.log()), 0)", "unguarded"),
        ("torch.where(m > 20, m, (m.abs() + 1).log())", "discharged"),
        ("torch.log(m.abs()).masked_fill(m < 5, 0)", "discharged"),
        ("torch.log(m.abs()).masked_fill(m > 5, 0)", "unguarded"),
    ],
)
def test_a_test_that_keeps_what_is_bad_replaces_nothing(code: str, status: str) -> None:
    found = report(f"@torch.no_grad()\ndef f(m):\n    return {code}")
    told = (*found.diagnostics, *found.discharged)
    assert {d.status.value for d in told if d.code in ("SL101", "SL103")} == {status}


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("torch.log(m.abs()).clamp(min=-100)", "discharged"),
        ("torch.log(m.abs()).clamp(max=100)", "unguarded"),
        ("torch.log(m).clamp(min=-100)", "unguarded"),
        ("(1 / m.abs()).clamp(max=100)", "discharged"),
        ("(1 / m).clamp(max=100)", "unguarded"),
        ("(torch.log(m.abs()) * n + 1).clamp(-100, 100)", "assumed"),
        ("(torch.log(m.abs()) * -2 + n).clamp(-100, 100)", "discharged"),
        ("(torch.log(m.abs()) * n + 1).clamp(min=-100)", "unguarded"),
        ("torch.log(m.abs()).clamp(n, 100)", "discharged"),
        ("torch.log(m.abs()).clamp(float('-inf'), n)", "unguarded"),
        ("(torch.log(m.abs()) * 0).clamp(-100, 100)", "unguarded"),
        ("(m.abs() / n.abs()).clamp(max=100)", "unguarded"),
    ],
)
def test_a_clamp_takes_an_infinity_and_no_nan(code: str, status: str) -> None:
    found = report(f"@torch.no_grad()\ndef f(m, n: float):\n    return {code}")
    assert {d.status.value for d in (*found.diagnostics, *found.discharged)} == {status}
    trained = report(f"def f(m, n: float):\n    return {code}")
    assert "discharged" not in {d.status.value for d in (*trained.diagnostics, *trained.discharged)}


BUCKETS = """
def bucket(distance: torch.Tensor, buckets=32, reach=128):
    distance = distance.abs()
    exact = buckets // 2
    large = exact + (torch.log(distance.float() / exact) / math.log(reach / exact) * (buckets - exact)).to(torch.long)
    large = torch.min(large, torch.full_like(large, buckets - 1))
    return torch.where(distance < exact, distance, large)
"""


def test_a_setting_in_the_test_is_assumed_to_stay() -> None:
    imports = "import math\nimport torch\n"
    assert "SL101" in [code for _, code in assumed(BUCKETS, imports)]
    assert "SL101" in [code for _, code in unmet(BUCKETS.replace("buckets=32", "buckets=-32"), imports)]
    assert "SL101" in [code for _, code in unmet(BUCKETS.replace("< exact,", "< exact - 20,"), imports)]


def test_a_gradient_flows_to_a_result_that_is_no_whole_number() -> None:
    code = """
    def scale(x: torch.Tensor, least=2.0):
        x = x.abs()
        return torch.where(x < least, x, torch.log(x / least))
    """
    assert "SL503" in [code for _, code in open_(code)]


SHARES = """
    def f(x, y):
        total = x.sum(1, keepdim=True)
        shares = torch.where(total > 0, x / total, torch.zeros_like(x))
        {}
"""


@pytest.mark.parametrize(
    ("use", "felt"),
    [
        ("return torch.argmax(shares, dim=1)", False),
        ("return shares.argmax(1), shares > 0.5", False),
        ("return shares.argmax(1), shares", True),
        ("return shares.sum()", True),
        ("F.mse_loss(shares, y).backward(); return shares.argmax(1)", True),
        ("self.shares = shares; return shares.argmax(1)", True),
        ("keep([shares]); return shares.argmax(1)", True),
        ("return shares.argmax(1), [shares]", True),
        ("return shares", True),
    ],
)
def test_no_gradient_comes_back_from_places_and_tests(use: str, felt: bool) -> None:
    code = SHARES.format(use).replace("def f(x, y)", "def f(self, x, y)" if "self" in use else "def f(x, y)")
    assert ("SL503" in [rule for _, rule in open_(code)]) is felt


def test_the_data_of_a_result_has_no_gradient() -> None:
    assert open_("def f(x):\n    return torch.sqrt(x**2).data") == []
    assert open_("def f(x):\n    return torch.sqrt(x**2).T") != []


def test_a_product_that_is_tested_replaces_the_quotients_by_its_factors() -> None:
    code = "def f(x, y, z):\n    return torch.where({}, 0.5, z / x / y)"
    assert [rule for _, rule in open_(code.format("x * y == 0"))] == ["SL503", "SL503"]
    assert [rule for _, rule in open_(code.format("x + y == 0"))] == ["SL102", "SL102"]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("torch.where(x.abs() < 1e-3, x + x * x / 2, torch.exp(x) - 1)", []),
        ("torch.where(x > 1e-3, 1 - torch.exp(-x), x)", []),
        ("torch.where(torch.abs(x) < 1e-2, 1.0, (torch.exp(x) - 1) / x)", []),
        ("torch.where(x.abs() < 1e-3, torch.exp(x) - 1, 1.0)", ["SL209"]),
        ("torch.where(x.abs() < 1e-7, x, torch.exp(x) - 1)", ["SL209"]),
        ("torch.where(x > 0, x, torch.exp(x) - 1)", ["SL209"]),
        ("torch.where(y.abs() < 1e-3, x, torch.exp(x) - 1)", ["SL209"]),
    ],
)
def test_digits_of_small_operands_are_not_lost_where_others_are_taken_alone(
    code: str, told: list[str]
) -> None:
    found = open_(f"@torch.no_grad()\ndef f(x, y):\n    return {code}")
    assert [rule for _, rule in found if rule in ("SL209", "SL221")] == told


def test_digits_are_lost_where_the_result_is_read_besides() -> None:
    code = """
    @torch.no_grad()
    def f(x):
        y = torch.exp(x) - 1
        return torch.where(x.abs() < 1e-3, x, y), y
    """
    assert "SL209" in [rule for _, rule in open_(code)]
