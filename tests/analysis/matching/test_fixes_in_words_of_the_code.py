"""A fix is written in the words of the code around it: its names, its literals, the result it picks."""

import pytest

from tests.analysis.support import fixes


def test_an_operand_without_a_name_gets_one() -> None:
    written = fixes("""
        def f(x: torch.Tensor, y: torch.Tensor):
            return torch.log(x.relu().sum() * y.relu().sum())
        """)
    assert written["SL101"] == (
        "product = x.relu().sum() * y.relu().sum()",
        "product.clamp_min(torch.finfo(product.dtype).tiny)",
    )


def test_the_test_of_one_path_is_no_test_of_the_others() -> None:
    written = fixes("""
        def scale(h: torch.Tensor, w: torch.Tensor, size, part):
            test = (h > 0) | (w > 0)
            return torch.where((h > size) if part else test, w.exp() / h.abs(), torch.ones_like(h))
        """)
    assert "no name at this place" in str(written["SL503"])


def test_a_default_that_callers_set_is_left_to_them() -> None:
    written = fixes("""
        def log(t, eps=1e-20):
            return torch.log(t.half().clamp(min=eps))
        """)
    assert "callers may have set another" in str(written["SL402"])


def test_a_value_without_a_name_is_spelled_out_in_the_reason() -> None:
    reasons = fixes("""
        def loss(layer: nn.Linear, x: torch.Tensor, y: torch.Tensor):
            p = torch.softmax(layer(x), dim=-1)
            return torch.nn.functional.cross_entropy(p, y), p > 0.5
        """)
    assert reasons["SL301"] == (
        "the rewrite needs `layer(x)`, which has no name at this place; give it one where it is computed"
    )


def test_a_number_is_not_written_as_a_parameter_that_has_it_by_default() -> None:
    written = fixes("""
        def draw(scores: torch.Tensor, num_samples=1):
            weights = torch.softmax(scores, 1)
            return weights[:num_samples], torch.log(weights)
        """)
    assert written["SL202"] == ("torch.log_softmax(scores, dim=1)",)


def test_a_parameter_that_was_given_is_written_again() -> None:
    written = fixes("""
        def draw(scores: torch.Tensor, dim=1):
            weights = torch.softmax(scores, dim)
            return weights[:2], torch.log(weights)
        """)
    assert written["SL202"] == ("torch.log_softmax(scores, dim=dim)",)


def test_one_of_several_results_is_bounded_where_it_is_used() -> None:
    written = fixes("""
        def normalised(x: torch.Tensor):
            deviation, average = torch.std_mean(x, dim=None)
            return (x - average) / deviation
        """)
    assert written["SL106"] == ("deviation.masked_fill(deviation == 0, 1)",)


def test_where_another_method_computes_an_operand_the_form_without_it_is_taken() -> None:
    written = fixes("""
        class Autoencoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.decoder = nn.Sequential(nn.Linear(8, 20), nn.Sigmoid())

            def forward(self, z):
                return self.decoder(z)

            def loss(self, z, x):
                p = self(z)
                return -(x * torch.log(p) + (1 - x) * torch.log(1 - p)).sum(-1).mean()
        """)
    (bounded,) = written["SL212"]
    assert bounded.startswith("x * torch.log(p.clamp_min(torch.finfo(p.dtype).tiny)) + (1 - x) * ")


@pytest.mark.parametrize(
    ("quotient", "sinc"),
    [
        ("torch.sin(2 * math.pi * x) / (2 * math.pi * x)", "torch.sinc(2 * x)"),
        ("torch.sin(2 * torch.pi * n * x) / (2 * torch.pi * n * x)", "torch.sinc(2 * n * x)"),
        ("torch.sin(math.pi * x / n) / (math.pi * x / n)", "torch.sinc(x / n)"),
        ("torch.sin(x) / x", "torch.sinc(x / torch.pi)"),
    ],
)
def test_a_sinc_is_of_what_pi_is_multiplied_with(quotient: str, sinc: str) -> None:
    written = fixes(f"""
        import math

        def f(x: torch.Tensor, n):
            return {quotient}
        """)
    assert written["SL228"] == (sinc,)


def test_of_a_loss_whose_reduction_leaves_nan_out_nothing_is_bounded() -> None:
    written = fixes("""
        def loss(y, p):
            return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).nansum()
        """)
    assert written["SL212"] == "what is not finite is left out behind it"


@pytest.mark.parametrize("added", ["torch.ones(len(i))", "torch.randn(len(i)).abs()"])
def test_ones_that_are_added_where_an_index_says_are_a_count(added: str) -> None:
    written = fixes(f"""
        def f(i, n):
            degree = torch.zeros(n).scatter_add_(0, i, {added})
            return torch.log(degree + 1)
        """)
    assert ("SL208" in written) == ("ones" not in added)


@pytest.mark.parametrize(
    ("expression", "name", "picked"),
    [
        ("x.relu().max(-1)[0].log()", "largest", "x.relu().max(-1)[0]"),
        ("x.relu().min(dim=1).values.log()", "values", "x.relu().min(dim=1).values"),
        ("x.relu().max().log()", "largest", "x.relu().max()"),
    ],
)
def test_of_several_results_the_one_that_is_picked_is_bounded(
    expression: str, name: str, picked: str
) -> None:
    found = fixes(f"""
        def f(x: torch.Tensor):
            return {expression}
        """)
    least = f"torch.finfo({name}.dtype).tiny"
    assert (f"{name} = {picked}", f"{name}.clamp_min({least})") in found.values()


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        (
            "torch.log(torch.softmax(x, dim=-1, dtype=torch.float32))",
            "torch.log_softmax(x, dim=-1, dtype=torch.float32)",
        ),
        ("torch.sqrt(torch.sum((x - 1) ** 2, (1, 2)))", "torch.linalg.vector_norm(x - 1, dim=(1, 2))"),
        ("x.exp().sum([0, 1]).log()", "x.logsumexp(dim=[0, 1])"),
    ],
)
def test_dimensions_and_element_types_are_taken_over_as_they_are_written(
    expression: str, written: str
) -> None:
    found = fixes(f"""
        def f(x: torch.Tensor):
            return {expression}
        """)
    assert (written,) in found.values()


@pytest.mark.parametrize(
    "expression",
    [
        "torch.log(torch.mean(torch.exp(x), dim=(1, 2)))",
        "x.exp() / x.exp().sum((1, 2), keepdim=True)",
        "(x * y).sum((1, 2)) / (x.norm(dim=(1, 2)) * y.norm(dim=(1, 2)))",
    ],
)
def test_what_takes_one_dimension_is_not_given_two(expression: str) -> None:
    found = fixes(f"""
        def f(x: torch.Tensor, y: torch.Tensor):
            return {expression}
        """)
    assert "the reduction is over several dimensions, and the rewrite takes one" in found.values()


@pytest.mark.parametrize(
    ("code", "rule", "written"),
    [
        (
            "def f(x, y):\n    x = x + 1\n    x = F.softmax(x, dim=1)\n    return F.cross_entropy(x, y)",
            "SL301",
            (),
        ),
        (
            "def f(z, y):\n    for _ in y:\n        p = torch.softmax(z, 1)\n        z = F.cross_entropy(p, y)",
            "SL301",
            ("z",),
        ),
    ],
)
def test_a_name_that_is_given_anew_means_what_it_meant_where_the_fix_is_made(
    code: str, rule: str, written: tuple[str, ...]
) -> None:
    assert fixes(code)[rule] == written


def test_a_quotient_that_both_branches_read_is_guarded_for_neither() -> None:
    written = fixes("""
        def root(a: torch.Tensor, q: torch.Tensor):
            b = q / a
            return torch.where(a > 0, 2 / (b * b + 1), a + b)
        """)
    assert "the rewrite needs `a > 0`" in str(written["SL503"])


def test_what_a_loop_comes_back_with_is_no_operand_of_a_rewrite() -> None:
    written = fixes("""
        def repeat(y: torch.Tensor):
            for _ in range(2):
                y = 1 / (1 + torch.exp(2 * y))
            return y
        """)
    assert written["SL207"] == ("torch.sigmoid(-2 * y)",)


@pytest.mark.parametrize("given", ["f(y)", "f(y / 2)"])
def test_what_a_lambda_computes_of_its_parameters_is_written_by_nobody_else(given: str) -> None:
    code = "def share(x, y):\n    f = lambda x: torch.exp(x / 2)\n    e = {}\n    return e / e.sum(-1, keepdim=True)\n"
    written = fixes(code.format(given))
    assert written["SL206"] == "a part of it is computed in a lambda, whose parameters have no value here"


def test_a_result_in_place_is_no_place_for_a_test_of_it() -> None:
    written = fixes("""
        def encode(x: torch.Tensor, scale: torch.Tensor):
            x = (x * scale).clamp_(0.0, 1.0)
            x = torch.where(x <= 0.003, x * 12.9, x.pow(1.0 / 2.4))
            return x * 255.0
        """)
    assert written["SL503"] == ("x.clamp(min=0.003)",)
