"""What a comparison of two values says of their difference."""

import pytest

from tests.analysis.support import function, open_, proved, unmet, violated


@pytest.mark.parametrize(
    "test",
    ["if hi <= lo:", "if hi == lo:", "if not hi > lo:", "if lo >= hi:", "if hi - lo <= 0:"],
)
def test_a_difference_is_not_zero_where_its_terms_differ(test: str) -> None:
    program = f"""
    def scale(x: torch.Tensor):
        lo, hi = x.min(), x.max()
        {test}
            return x
        return (x - lo) / (hi - lo)
    """
    assert open_(program) == []


def test_an_order_that_allows_equality_leaves_the_zero() -> None:
    program = """
    def scale(x: torch.Tensor):
        lo, hi = x.min(), x.max()
        if hi < lo:
            return x
        return (x - lo) / (hi - lo)
    """
    assert open_(program) == [(5, "SL102")]


def test_what_one_path_has_compared_does_not_hold_behind_the_join() -> None:
    program = """
    def scale(x: torch.Tensor, flag: bool):
        lo, hi = x.min(), x.max()
        if flag:
            if hi == lo:
                return x
        return (x - lo) / (hi - lo)
    """
    assert open_(program) == [(6, "SL102")]


def test_a_number_that_was_compared_with_one_leaves_a_rest() -> None:
    program = """
    class Collator:
        def __init__(self, replaced: float = 0.8):
            self.replaced = replaced

        def __call__(self, x: torch.Tensor):
            if self.replaced == 1:
                return x
            return x / (1 - self.replaced)
    """
    assert open_(program) == []


def test_elements_that_differ_in_pairs_may_be_equal_across() -> None:
    program = """
    def ratios(a: torch.Tensor, b: torch.Tensor):
        low, high = a.amin(dim=0), a.amax(dim=0)
        assert (high > low).all()
        return 1 / (high - low), 1 / (high[:, None] - low)
    """
    lines = open_(program)
    assert lines == [(4, "SL102")]


def test_a_sum_of_bounded_terms_runs_away_only_by_their_number() -> None:
    code = """
    def product(x: torch.Tensor):
        factors = (x.sigmoid() - 0.5).{clamp}
        return torch.exp(torch.log(factors).sum(-1)).log()
    """
    assert violated(code.format(clamp="clamp_min(1e-8)")) == []
    assert violated(code.format(clamp="clamp_min(0)")) != []


def test_a_normalised_vector_keeps_the_signs_of_which_nothing_is_known() -> None:
    code = """
    def root(x: torch.Tensor):
        return torch.sqrt(F.normalize({x}, p=1, dim=-1) + 1e-10)
    """
    assert violated(code.format(x="x")) == []
    assert violated(code.format(x="x.sin()")) == [(2, "SL103")]


@pytest.mark.parametrize(
    ("matrix", "found"),
    [("torch.linalg.cholesky(x)", False), ("torch.tril(x)", False), ("torch.tril(x, -1)", True)],
)
def test_the_diagonal_of_a_triangle_is_not_what_was_cut(matrix: str, found: bool) -> None:
    code = f"""
    def log_det_loss(x: torch.Tensor):
        return torch.diagonal({matrix}, dim1=-2, dim2=-1).abs().log().sum()
    """
    assert ((2, "SL101") in violated(code)) is found


SCALED = """
    class Scale(nn.Module):
        def forward(self, x):
            if self.training:
                low, high = x.min(), {top}
                self.low, self.high = low, high
            else:
                low, high = self.low, self.high
            spread = high - low
            return (x - low) / spread
"""


def test_the_maximum_less_the_minimum_on_the_path_of_training() -> None:
    assert violated(SCALED.format(top="x.max()")) == [(9, "SL102")]
    assert violated(SCALED.format(top="self.most")) == []


@pytest.mark.parametrize(
    ("matrix", "found"),
    [
        ("torch.relu(x) + torch.eye(n)", False),
        ("torch.eye(n, device=x.device) + x.abs()", False),
        ("torch.relu(x) + torch.eye(n, m)", True),
        ("torch.relu(x) - torch.eye(n)", True),
        ("torch.relu(x) + torch.zeros(n)", True),
    ],
)
def test_rows_of_a_matrix_with_the_identity_add_up_to_1_at_least(matrix: str, found: bool) -> None:
    program = f"""
    def degrees(x: torch.Tensor, n: int, m: int):
        rows = ({matrix}).sum(1)
        return torch.log(rows)
    """
    assert bool(open_(program)) is found


@pytest.mark.parametrize(
    ("dim", "found"), [("0", False), ("-2", False), ("", False), ("-3", True), ("n", True)]
)
def test_the_identity_is_seen_along_the_sides_of_the_matrix(dim: str, found: bool) -> None:
    program = f"""
    def degrees(x: torch.Tensor, n: int):
        return torch.log((torch.relu(x) + torch.eye(8)).sum({dim}))
    """
    assert bool(open_(program)) is found


@pytest.mark.parametrize(("dim", "found"), [("-1", False), ("0", True)])
def test_the_largest_share_of_a_softmax_is_above_0(dim: str, found: bool) -> None:
    program = f"""
    def route(x: torch.Tensor):
        top, chosen = torch.softmax(x, dim=-1).max(dim={dim})
        return x / top, chosen
    """
    assert bool(open_(program)) is found


@pytest.mark.parametrize(
    ("shift", "is_below"),
    [
        ("w.logsumexp(-1, keepdim=True)", True),
        ("torch.logsumexp(w, 0)", True),
        ("w.logsumexp(-1).unsqueeze(-1)", True),
        ("w.logsumexp(-1)", False),
        ("0.5 * w.logsumexp(-1, keepdim=True)", False),
        ("v.logsumexp(-1, keepdim=True)", False),
    ],
)
def test_a_log_sum_exp_is_not_below_what_it_sums(shift: str, is_below: bool) -> None:
    found = open_(f"def f(w: torch.Tensor, v: torch.Tensor):\n    return torch.exp(w - {shift})\n")
    assert (found == []) == is_below


@pytest.mark.parametrize(
    ("norm", "is_safe"),
    [
        ("torch.norm(v, dim=-1).unsqueeze(-1)", True),
        ("v.norm(2, dim=-1, keepdim=True)", True),
        ("torch.linalg.vector_norm(v, dim=-1, keepdim=True)", True),
        ("v.norm(dim=0, keepdim=True)", False),
        ("(v - 1).norm(dim=-1, keepdim=True)", False),
        ("w.norm(dim=-1, keepdim=True)", False),
    ],
)
def test_a_vector_is_no_shorter_than_its_components(norm: str, is_safe: bool) -> None:
    program = f"""
    def f(x: torch.Tensor, y: torch.Tensor):
        v = torch.stack((x, y, -torch.ones_like(x)), dim=-1)
        w = torch.stack((x, y, -torch.ones_like(x)), dim=1)
        return x / {norm}
    """
    assert (unmet(program) == []) == is_safe


@pytest.mark.parametrize(
    ("read", "is_zero"),
    [("clock.now() - start", False), ("start - start", True), ("x.sum() - x.sum()", True)],
)
def test_what_an_unknown_object_yields_is_another_the_next_time(read: str, is_zero: bool) -> None:
    program = f"""
    def f(clock, x: torch.Tensor):
        start = clock.now()
        return x / ({read}), torch.log(({read}).exp())
    """
    assert ((3, "SL102") in violated(program)) == is_zero


@pytest.mark.parametrize(
    "line", ["x.bfloat16() - x", "x.half().float() - x", "x.to(n) - x", "x - x.to(torch.float16).to(x.dtype)"]
)
def test_a_value_less_itself_rounded_is_not_0(line: str) -> None:
    assert "SL101" in {
        rule for _, rule in open_(function(f"torch.log1p({line})", parameters="x: torch.Tensor, n"))
    }


@pytest.mark.parametrize(
    "line", ["x.clone() - x", "x.detach() - x", "x.half() - x.half()", "x.to('cuda') - x"]
)
def test_a_value_less_a_copy_of_itself_is_0(line: str) -> None:
    assert open_(function(f"torch.log1p({line})")) == []


DIFFERENCE = """
    def f(x: torch.Tensor, y: torch.Tensor):
        d = x - y
        {}
    """


@pytest.mark.parametrize(
    "result",
    [
        "return 1 / torch.where(x == y, 1.0, d)",
        "return 1 / torch.where(x.ne(y), d, 1.0)",
        "return torch.sqrt(torch.where(x > y, d, 1.0))",
        "return 1 / d[x != y]",
        "d[x == y] = 1.0\n        return 1 / d",
        "return 1 / d if x.item() != y.item() and (x != y).all() else d",
    ],
)
def test_a_difference_that_was_computed_before_is_what_its_terms_compare_to(result: str) -> None:
    assert open_(DIFFERENCE.replace("{}", result)) == []


@pytest.mark.parametrize(
    "result",
    [
        "return 1 / torch.where(x == y, d, 1.0)",
        "return 1 / torch.where((x == y).t(), 1.0, d)",
        "return 1 / torch.where((x == y).all(), 1.0, d)",
        "return 1 / torch.where(x == y, 1.0, d.t())",
        "return 1 / torch.where(x == y, 1.0, d.half())",
        "return 1 / torch.where(x[0] == y[0], 1.0, d)",
        "x[0] = y[0]\n        return 1 / torch.where(x == y, 1.0, d)",
        "d.mul_(0)\n        return 1 / torch.where(x == y, 1.0, d)",
        "y = y + 1\n        return 1 / torch.where(x == y, 1.0, d)",
    ],
)
def test_a_test_of_other_elements_says_nothing_of_a_difference(result: str) -> None:
    assert "SL102" in {code for _, code in open_(DIFFERENCE.replace("{}", result))}


@pytest.mark.parametrize(
    "square", ["2 * x * x", "x * 2 * x", "x * (3 * x)", "y.abs() * x * x", "x * x * 0.5"]
)
def test_a_weighted_square_is_not_negative(square: str) -> None:
    parameters = "x: torch.Tensor, y: torch.Tensor"
    assert (3, "SL201") in proved(
        function(f"torch.exp(-({square}))", parameters=parameters, before="x = x + y")
    )


@pytest.mark.parametrize("product", ["2 * x * y", "y * x * x", "-2 * x * x", "x * 2 * x.flip(0)"])
def test_other_products_may_be_negative(product: str) -> None:
    parameters = "x: torch.Tensor, y: torch.Tensor"
    assert (3, "SL201") in unmet(
        function(f"torch.exp(-({product}))", parameters=parameters, before="x = x + y")
    )
