"""Powers whose exponent need not be whole, of bases that come to 0 or below."""

import pytest

from tests.analysis.support import body, open_, proved, violated

FOCAL = """
def focal_loss(z: torch.Tensor, {parameter}):
    p = torch.sigmoid(z)
    return ((1 - p) ** {exponent}).mean()
"""


@pytest.mark.parametrize("parameter", ["gamma: float = 2.0", "gamma=2.0", "gamma: float = 2", "gamma: float"])
def test_an_exponent_that_a_caller_may_choose_as_a_fraction(parameter: str) -> None:
    assert open_(FOCAL.format(parameter=parameter, exponent="gamma")) == [(3, "SL110")]


@pytest.mark.parametrize("parameter", ["gamma: int = 2", "gamma=2", "gamma: int", "gamma"])
def test_an_exponent_that_is_meant_to_be_whole(parameter: str) -> None:
    assert open_(FOCAL.format(parameter=parameter, exponent="gamma")) == []


@pytest.mark.parametrize("passed", ["", ", gamma=2", ", gamma=1.5", ", gamma=0.5"])
def test_a_call_in_sight_does_not_speak_for_the_others(passed: str) -> None:
    called = FOCAL.format(parameter="gamma: float = 2", exponent="gamma")
    called += f"\n\ndef total_loss(z: torch.Tensor):\n    return focal_loss(z{passed})\n"
    assert open_(called) == [(3, "SL110")]


def test_a_setting_of_a_module() -> None:
    code = """
        class Focal(nn.Module):
            def __init__(self, gamma: float = 2.0):
                super().__init__()
                self.gamma = gamma

            def forward(self, z, target):
                loss = F.binary_cross_entropy_with_logits(z, target, reduction="none")
                return ((1 - torch.exp(-loss)) ** self.gamma * loss).mean()
    """
    assert (8, "SL110") in open_(code)
    assert "SL110" not in {rule for _, rule in open_(body(code).replace("loss)) **", "loss) + 1e-6) **"))}


def test_a_method_may_be_called_without_the_forward_that_records_no_gradient() -> None:
    code = """
        class Assigner(nn.Module):
            def __init__(self, gamma: float = 2.0):
                super().__init__()
                self.gamma = gamma

            @torch.no_grad()
            def forward(self, z):
                return self.choose(z)

            def choose(self, z):
                return self.rank(z)

            def rank(self, scores):
                return (1 - scores.sigmoid()) ** self.gamma
    """
    assert open_(code) == [(14, "SL110")]
    assert open_(body(code).replace("def rank", "@torch.no_grad()\n    def rank")) == []


@pytest.mark.parametrize(
    "blend", ["p * t + (1 - p) * (1 - t)", "(1 - t) * (1 - p) + t * p", "t * p + (1 - p) * (1 - t)"]
)
def test_the_probability_of_the_target_saturates_as_that_of_the_class_does(blend: str) -> None:
    code = f"""
        def focal_loss(z: torch.Tensor, t: torch.Tensor, gamma: float = 2.0):
            p = torch.sigmoid(z)
            return (1 - ({blend})) ** gamma
    """
    assert open_(code) == [(3, "SL110")]


def test_another_sum_of_products_is_no_such_probability() -> None:
    code = """
        def mixture_loss(z: torch.Tensor, t: torch.Tensor, s: torch.Tensor, gamma: float = 2.0):
            p = torch.sigmoid(z)
            return (1 - (p * t + (1 - p) * (1 - s))) ** gamma
    """
    assert violated(code) == []


@pytest.mark.parametrize(
    "base",
    [
        "v.cos()",
        "w * torch.sin(v)",
    ],
)
def test_a_wave_has_no_fractional_power(base: str) -> None:
    code = f"""
        def scale(v: torch.Tensor, w: torch.Tensor, alpha: torch.Tensor):
            return ({base}) ** (alpha.reciprocal() - 1)
    """
    assert (2, "SL110") in open_(code)
    assert "SL110" not in {rule for _, rule in open_(code.replace(f"({base})", f"({base}).clamp(min=1e-6)"))}


def test_of_a_magnitude_nothing_tells_that_it_is_0() -> None:
    code = """
        def root(v: torch.Tensor, alpha: torch.Tensor):
            return v.abs() ** (1 / alpha.clamp(min=1))
    """
    assert open_(code) == [(2, "SL110")]


@pytest.mark.parametrize("power", ["a**b", "a**n", "(1 + a) ** -b"])
def test_a_power_of_a_positive_number_underflows_where_the_exponent_is_large(power: str) -> None:
    code = f"def f(a: float, b: float, n: int):\n    if a > 0 and b > 0:\n        return 1 / ({power})"
    assert (3, "SL102") not in proved(code)


def test_a_power_of_more_than_1_is_no_less() -> None:
    code = "def f(a: float, b: float):\n    if a > 0 and b > 0:\n        return 1 / (1 + a) ** b"
    assert (3, "SL102") in proved(code)
