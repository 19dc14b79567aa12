"""Zeros that the way in which a value was made or selected excludes, and what a call has changed."""

import pytest

from tests.analysis import support


def open_(code: str) -> list[str]:
    """The rules of what is reported by default."""
    return [rule for _, rule in support.open_(code)]


EXCLUDED = {
    "downwards": "def f(x, high):\n    return x / torch.arange(high, 1, -1)",
    "a bound that is not known": "def f(x, high, y):\n    return y / (x.clamp(min=0, max=high) + 1.0)",
}


@pytest.mark.parametrize("code", EXCLUDED.values(), ids=EXCLUDED)
def test_a_zero_that_the_making_of_a_value_excludes_is_not_reported(code: str) -> None:
    assert open_(code) == []


PRODUCTS = {
    "a branch": "def f(x, y):\n    if x.sum() * y.sum() == 0:\n        return x\n    return x / x.sum() / y.sum()",
    "a test": "def f(x, y):\n    assert x.sum() * y.sum() != 0\n    return x / y.sum()",
}


@pytest.mark.parametrize("code", PRODUCTS.values(), ids=PRODUCTS)
def test_a_product_that_is_not_0_has_no_factor_that_is(code: str) -> None:
    assert open_(code) == []


def test_a_product_that_is_0_or_of_something_infinite_tells_nothing_of_a_factor() -> None:
    assert open_("def f(x, y):\n    if x.sum() * y.sum() == 0:\n        return x / y.sum()") == ["SL102"]
    assert (
        open_("def f(x, y):\n    assert x.sum() * (1 / x.norm()) != 0\n    return y / x.sum()")
        == ["SL102"] * 2
    )


def test_the_first_of_what_counts_from_zero_is_zero() -> None:
    assert open_("def f(n):\n    w = torch.arange(n)\n    return 1 / w[:4]") == ["SL102"]
    assert open_("def f(x):\n    m = (x > 0).sum(1)\n    return 1 / m[m > -1]") == ["SL102"]


def test_a_copy_that_a_mask_selects_is_not_written_through() -> None:
    code = """
def f(x, e):
    weight = torch.zeros(8)
    weight[x > 0][0] = 1.0
    return e / weight[0]
"""
    assert open_(code) == ["SL102"]


def test_what_is_assigned_to_some_elements_does_not_empty_the_rest() -> None:
    code = """
def f(x, y):
    loss = (x - y).abs()
    small = loss < 5
    loss[small] = 3 * torch.log1p(loss[small])
    return loss.mean()
"""
    assert open_(code) == []
    assert open_("def f(x, y):\n    return torch.where(x > 0, x[y > 0], y[y > 0]).mean()") == ["SL502"]


COUNTING = """
class Trainer:
    def train(self, loader):
        self.seen = 0
        total = 0.0
        for batch in loader:
            total += self.step(batch)
        return total / self.seen

    def step(self, batch):
        {body}
        return batch.sum()

    def count(self, batch):
        self.seen += batch.shape[0]
"""


def test_the_larger_of_two_is_taken_out_before_the_exponential() -> None:
    code = """
def f(a, b):
    top = torch.max(a, b)
    return torch.log(torch.exp(a - top) + torch.exp(b - {second})) + top
"""
    assert open_(code.format(second="top")) == []
    assert "SL204" in open_(code.format(second="0").replace("a - top", "a"))


def test_a_cosine_whose_denominator_was_tested_is_not_reported() -> None:
    code = """
def f(x, z):
    norm = torch.sqrt((x * x).sum() * (z * z).sum())
    {test}
    return (x * z).sum() / norm
"""
    assert "SL215" not in open_(code.format(test="if norm < 1e-15:\n        return torch.tensor(0.0)"))
    assert "SL215" in open_(code.format(test=""))


def test_the_diagonal_of_a_cholesky_factor_is_positive() -> None:
    code = "def f(c):\n    return torch.linalg.{name}(c + torch.eye(3)).diagonal(dim1=-2, dim2=-1).log()"
    assert open_(code.format(name="cholesky")) == []


def test_a_mask_of_lengths_made_by_a_method_that_is_read_leaves_something() -> None:
    code = """
class Guided:
    def loss(self, losses, ilens, olens):
        return losses.masked_select(self.{name}(ilens, olens)).mean()

    @staticmethod
    def {name}(ilens, olens):
        return {made}
"""
    of_lengths = "sequence_mask(olens).unsqueeze(-1) & sequence_mask(ilens).unsqueeze(-2)"
    assert open_(code.format(name="make_masks", made=of_lengths)) == []
    assert open_(code.format(name="choose", made=of_lengths).replace("ilens, olens", "a, b")) == []
    assert open_(code.format(name="choose", made="a > b").replace("ilens, olens", "a, b")) == ["SL502"]


def test_the_largest_reaches_a_quantile() -> None:
    code = "def f(x):\n    return x[x {test} torch.quantile(x, 0.999)].mean()"
    assert open_(code.format(test=">=")) == []
    assert open_(code.format(test=">")) == ["SL502"]


@pytest.mark.parametrize(
    ("test", "shown"),
    [
        ("x >= x.amax(-1, keepdim=True)", False),
        ("x.amax(-1, keepdim=True) <= x", False),
        ("x == x.min(-1, keepdim=True).values", False),
        ("x.abs() >= x.abs().amax(-1, keepdim=True) / 2", False),
        ("x >= x.mean(-1, keepdim=True)", False),
        ("x >= x.amax(-1, keepdim=True) / 2", True),  # of negative numbers no element reaches half
        ("x.abs() >= x.abs().amax(-1, keepdim=True) * 2", True),
        ("x > x.amax(-1, keepdim=True)", True),
        ("x >= y.amax(-1, keepdim=True)", True),
        ("x <= x.amax(-1, keepdim=True) - 1", True),
    ],
)
def test_what_is_compared_with_its_own_maximum_reaches_it(test: str, shown: bool) -> None:
    code = f"""
    def spread(x: torch.Tensor, y: torch.Tensor):
        chosen = {test}
        return x.sum(-1) / (3.0 * chosen.float().sum(-1))
    """
    assert ((3, "SL102") in support.open_(code)) is shown


@pytest.mark.parametrize(("result", "shown"), [("weight[y]", False), ("weight[x]", True), ("weight", True)])
def test_a_class_without_a_member_is_not_read_by_its_members(result: str, shown: bool) -> None:
    code = f"""
    def weights(y: torch.Tensor, x: torch.Tensor):
        weight = 1.0 / y.bincount()
        return {result}
    """
    assert ((2, "SL102") in support.open_(code)) is shown


NORMS = "def f(x, y):\n    n, m = x.norm(), y.norm()\n"
SUMS = {
    "neither branch": f"{NORMS}    if n == 0 and m == 0:\n        return x\n    return x / (m + n)",
    "negated": f"{NORMS}    if not (n == 0 and 0 == m):\n        return x / (n + m)\n    return x",
    "either": f"{NORMS}    assert n > 0 or m != 0\n    return x / (n + m)",
    "truths": f"{NORMS}    if not n and not m:\n        return x\n    return x / (n + m)",
}


@pytest.mark.parametrize("code", SUMS.values(), ids=SUMS)
def test_the_sum_of_two_of_which_one_is_not_0_is_not_0(code: str) -> None:
    assert open_(code) == []


NOT_TOLD = {
    "both may be": f"{NORMS}    if n >= 0 or m > 0:\n        return x / (n + m)\n    return x",
    "both are": f"{NORMS}    if n == 0 and m == 0:\n        return x / (n + m)\n    return x",
    "one is": f"{NORMS}    if n == 0 or m == 0:\n        return x / (n + m)\n    return x",
    "after the test": f"{NORMS}    if n == 0 and m == 0:\n        x = x + 1\n    return x / (n + m)",
    "another since": f"{NORMS}    if n == 0 and m == 0:\n        return x\n    n = x.abs().max()\n    return x / (n + m)",
    "opposite signs": "def f(x, y):\n    n, m = x.norm(), y.sum()\n    assert n != 0 or m != 0\n    return x / (n + m)",
    "three": f"{NORMS}    k = x.abs().max()\n    assert n != 0 or m != 0 or k != 0\n    return x / (n + m)",
}


@pytest.mark.parametrize("code", NOT_TOLD.values(), ids=NOT_TOLD)
def test_a_sum_of_which_both_may_be_0_or_of_other_signs_is_told(code: str) -> None:
    assert "SL102" in open_(code)
