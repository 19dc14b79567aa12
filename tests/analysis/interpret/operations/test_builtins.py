"""Python's own functions, of numbers and of what a program asks for."""

import pytest

from tests.analysis.support import assumed, unmet


@pytest.mark.parametrize(
    ("divisor", "is_safe"),
    [
        ("max([n, 1.0])", True),
        ("max((n, m, 2))", True),
        ("min([2.0, max(n, 1)])", True),
        ("max([n, 0.0])", False),
        ("min([n, 1.0])", False),
        ("max(ns)", False),
    ],
)
def test_the_largest_of_what_is_listed_is_no_less_than_each(divisor: str, is_safe: bool) -> None:
    assert (unmet(f"def f(x, n, m, ns):\n    return x / {divisor}\n") == []) == is_safe


@pytest.mark.parametrize(
    ("test", "size", "is_assumed"),
    [
        ("isinstance(m, nn.Linear)", "m.in_features", True),
        ("isinstance(m, (nn.Conv1d, nn.Conv2d))", "(m.kernel_size[0] * m.out_channels)", True),
        ("not isinstance(m, nn.Linear)", "m.in_features", False),
        ("isinstance(m, Own)", "m.in_features", False),
        ("isinstance(m, nn.Linear)", "n.in_features", False),
        ("isinstance(m, nn.Linear)", "m.dropout", False),
    ],
)
def test_the_sizes_of_a_layer_are_assumed_to_be_positive(test: str, size: str, is_assumed: bool) -> None:
    program = f"""
    def f(x, m, n):
        if {test}:
            return x / {size}
    """
    assert (assumed(program) == [(3, "SL102")]) == is_assumed


@pytest.mark.parametrize(
    ("given", "divisor", "is_assumed"),
    [
        ("bn: nn.BatchNorm2d", "(bn.eps + bn.running_var)", True),
        ("bn: nn.BatchNorm2d | None", "(bn.running_var + bn.eps)", True),
        ("bn: nn.Module", "(bn.running_var + bn.eps)", False),
        ("bn", "(bn.running_var + bn.eps)", False),
        ("bn: nn.BatchNorm2d", "bn.running_var", False),
        ("bn: nn.BatchNorm2d", "bn.running_mean + bn.eps", False),
    ],
)
def test_what_a_layer_keeps_is_assumed_to_be_as_its_constructor_makes_it(
    given: str, divisor: str, is_assumed: bool
) -> None:
    program = f"def fuse(x: torch.Tensor, {given}):\n    return x / torch.sqrt({divisor})\n"
    assert ((unmet(program) == []) and bool(assumed(program))) == is_assumed


@pytest.mark.parametrize(
    ("mean", "is_assumed"), [("bn.running_mean", True), ("b.running_mean", False), ("bn.weight", False)]
)
def test_a_thing_with_both_running_statistics_is_taken_for_a_normalization_layer(
    mean: str, is_assumed: bool
) -> None:
    program = f"def fuse(x, bn, b):\n    return (x - {mean}) / torch.sqrt(bn.running_var + bn.eps)\n"
    assert ((unmet(program) == []) and bool(assumed(program))) == is_assumed


@pytest.mark.parametrize(
    ("base", "more", "is_assumed"),
    [
        ("nn.BatchNorm2d", "", True),
        ("torch.nn.modules.batchnorm._NormBase", "", True),
        ("nn.Module", "", False),
        ("nn.BatchNorm2d", "def reset(self):\n        self.eps = 0", False),
    ],
)
def test_a_class_of_layers_keeps_what_it_inherits_unless_it_sets_it_anew(
    base: str, more: str, is_assumed: bool
) -> None:
    program = f"""
class Norm({base}):
    def forward(self, x):
        return x / torch.sqrt(self.running_var + self.eps)

    {more}
"""
    assert ((unmet(program) == []) and bool(assumed(program))) == is_assumed


def test_a_layer_that_is_made_without_an_epsilon_divides_by_its_variance() -> None:
    program = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn = nn.BatchNorm2d(3{})

        def scale(self):
            return self.bn.weight / torch.sqrt(self.bn.running_var + self.bn.eps)
    """
    assert unmet(program.format("")) == []
    assert unmet(program.format(", eps=0.0")) != []


def test_a_thing_is_not_of_one_class_because_it_is_of_another() -> None:
    program = """
    def f(x: torch.Tensor, m):
        if isinstance(m, nn.Linear):
            y = x.exp()
        elif isinstance(m, nn.Conv2d):
            y = x.relu()
        else:
            return x
        if isinstance(m, nn.Conv2d):
            return torch.log(y)
    """
    assert "SL101" in {rule for _, rule in unmet(program)}


@pytest.mark.parametrize(
    ("divisor", "is_safe"),
    [
        ("round(abs(n) + 0.6)", True),
        ("round(abs(n) + 0.6, 1)", True),
        ("round(abs(n) + 0.1, 0)", False),
        ("round(abs(n) + 0.01, ndigits=1)", False),
        ("round(abs(n) + 1, m)", False),
    ],
)
def test_what_lies_below_half_of_the_last_digit_is_rounded_to_zero(divisor: str, is_safe: bool) -> None:
    assert (unmet(f"def f(x, n: float, m: int):\n    return x / {divisor}\n") == []) == is_safe
