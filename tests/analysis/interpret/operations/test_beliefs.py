"""What is assumed, and not proved: that an offset is positive, that a size is, that nothing cancels."""

import pytest

from ...support import assumed, findings, open_, report

SAFE_UNLESS_SET = {
    "an offset of tiny size": ("x, y", "x / (y + 1e-8)"),
    "an offset that a setting gives": ("x, y, eps=1e-6", "torch.log(y + eps)"),
    "a setting of any size in a quotient": ("x, y, smooth=1.0", "x / (y + smooth)"),
    "an offset without a default beside squares": ("x, y, c: float", "x / (y.pow(2) + c)"),
    "a difference that meets minus the offset by chance": ("x, y, z, eps=1e-7", "x / (y - z + eps)"),
    "an integer": ("x, n: int", "x / n"),
    "a share of a setting": ("x, dim, heads=8", "x * (dim // heads) ** -0.5"),
    "a product of settings": ("x, c", "x / math.sqrt(int(c.width * c.share))"),
    "an entropy of what are meant to be chances": (
        "x, y",
        "torch.exp(-torch.nn.functional.binary_cross_entropy_with_logits(x, y))",
    ),
    "a count that is not its default": ("x, n: int = 1", "x if n == 1 else x / n"),
}
MATH = "import math\nimport torch\nfrom torch import nn\n"


@pytest.mark.parametrize(("parameters", "result"), SAFE_UNLESS_SET.values(), ids=SAFE_UNLESS_SET.keys())
def test_it_is_safe_unless_something_is_set(parameters: str, result: str) -> None:
    code = f"def f({parameters}):\n    return {result}"
    assert assumed(code, MATH)
    assert not open_(code, MATH)


OPEN = {
    "numbers of both signs": "torch.log(torch.randn(3) + 1e-8)",
    "what is known to go below 0": "torch.log(-torch.log(torch.rand_like(x) + 1e-7) + 1e-8)",
    "a difference under a logarithm": "torch.log(x - y + 1e-8)",
    "a mean of squares less a squared mean": "1 / ((x * x).mean() - x.mean() * x.mean() + 1e-8)",
    "an offset that is no guard": "torch.log(x + 0.5)",
    "a setting that is 0": "x / (y + off)",
    "what was read out of another tensor": "x / (y.abs() + x.abs().max().item())",
    "a product of differences of squares": "1 / ((x - y.pow(2)) * (y - x.pow(2)) + 1e-8)",
}


@pytest.mark.parametrize("result", OPEN.values(), ids=OPEN.keys())
def test_an_offset_is_not_taken_for_a_guard(result: str) -> None:
    assert open_(f"def f(x, y, off=0.0):\n    return {result}")


def test_the_size_of_a_layer_is_positive() -> None:
    code = """
    class Codes(nn.Module):
        def __init__(self, n, dim):
            super().__init__()
            self.n = n
            self.table = nn.Embedding(self.n, dim)
        def forward(self, x):
            return x / self.n, x / math.sqrt(self.table.embedding_dim)
    """
    assert len(assumed(code, MATH)) == 2
    assert not open_(code, MATH)


@pytest.mark.parametrize(
    "made", ["torch.zeros(n, 3)", "torch.randn(3, n)", "torch.full((n, 2), v)", "torch.ones((2, n))"]
)
def test_what_is_made_has_a_size(made: str) -> None:
    code = f"def f(n, v):\n    w = {made}\n    return w.sum() / n\n"
    assert assumed(code) == [(3, "SL102")]


@pytest.mark.parametrize("made", ["torch.full((3, 2), n)", "v.new_zeros(3)", "torch.zeros_like(v)"])
def test_what_fills_it_is_no_size(made: str) -> None:
    code = f"def f(n, v):\n    w = {made}\n    return w / n + 1 / v\n"
    assert assumed(code) == []


@pytest.mark.parametrize(
    "body",
    [
        "return x / (1 - m) if m != 1 else x",
        "return x if m == 1.0 else x / (m - 1)",
        "return x / (1 - m) if m > 1 else x",
        "return x / (m - k) if m != k else x",
        "assert m != 1\n    return (1 - m**3) / (1 - m) * x",
    ],
)
def test_a_default_is_not_believed_where_a_test_has_told_the_value_from_it(body: str) -> None:
    assert not open_(f"def f(x, m=1.0, k=1.0):\n    {body}", MATH)


@pytest.mark.parametrize("test", ["m == 1", "m != 2", "k != 1"])
def test_a_test_of_something_else_leaves_a_default_believed(test: str) -> None:
    assert open_(f"def f(x, m=1.0, k=2.0):\n    return x / (1 - m) if {test} else x", MATH)


@pytest.mark.parametrize(
    ("annotation", "body"),
    [
        ("list[int]", "return x / sizes[0]"),
        ("'Tuple[int, int]'", "h, w = sizes\n    return x / h + x / w"),
        ("Sequence[int] | None", "return [x / size for size in sizes]"),
        ("typing.Optional[typing.List[int]]", "return [x * n / m for n, m in zip(y, sizes)]"),
    ],
)
def test_whole_numbers_that_a_sequence_is_said_to_hold_are_sizes(annotation: str, body: str) -> None:
    code = f"def f(x, y, sizes: {annotation}):\n    {body}"
    assert assumed(code, MATH)
    assert not open_(code, MATH)


@pytest.mark.parametrize(
    "annotation", ["list[float]", "list[int] | float", "dict[int, int]", "tuple[int, float]", "list"]
)
def test_what_else_a_sequence_may_hold_is_none(annotation: str) -> None:
    assert open_(f"def f(x, sizes: {annotation}):\n    return x / sizes[0]", MATH)


def test_what_is_stored_into_a_sequence_of_sizes_is_what_it_is() -> None:
    assert open_("def f(x, sizes: list[int]):\n    sizes[0] = 0\n    return x / sizes[0]", MATH)


MODULE = """
class Policy(nn.Module):
    def __init__(self, width, low, high):
        super().__init__()
        self.low, self.high = low, high
        self.last = nn.Linear(width, 2)

    def forward(self, x):
        s = self.last(x)
        return torch.exp({exponent})
"""


@pytest.mark.parametrize(
    "exponent",
    [
        "s.clamp(self.low, self.high)",
        "s.clamp(max=self.high)",
        "self.low + 0.5 * (self.high - self.low) * (s.tanh() + 1)",
        "self.high - F.softplus(self.high - s)",
        "self.low + F.softplus(self.high - F.softplus(self.high - s) - self.low)",
    ],
)
def test_an_exponent_below_what_was_configured_is_assumed_to_be_moderate(exponent: str) -> None:
    shown = [one for one in report(MODULE.format(exponent=exponent)).discharged if one.code == "SL201"]
    assert shown
    assert all("a moderate number" in text for one in shown for text in one.assumes)


@pytest.mark.parametrize(
    "exponent",
    [
        "s.clamp(min=self.low)",
        "self.low + s",
        "self.high + F.softplus(s)",
        "self.high",
        "self.high * s.abs()",
    ],
)
def test_any_other_exponent_can_be_too_large(exponent: str) -> None:
    assert "SL201" in {one.code for one in findings(MODULE.format(exponent=exponent))}
