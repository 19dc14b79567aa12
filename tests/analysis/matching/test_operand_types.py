"""A fix is offered where it can run: for tensors, for the numbers they hold, where the options are set."""

import pytest

from stablelint.codemod.propose import propose_all
from tests.analysis.support import IMPORTS, body, fixes, report


def test_a_python_count_gets_a_python_maximum() -> None:
    written = fixes("""
        def mean(loss: torch.Tensor, mask: torch.Tensor):
            return loss.sum() / (mask > 0).sum().item()
        """)
    assert written["SL102"] == ("max((mask > 0).sum().item(), 1)",)


def test_a_tensor_of_counts_is_kept_at_one() -> None:
    written = fixes("""
        def share(x: torch.Tensor, y: torch.Tensor):
            hits = (x == y).sum()
            return x.sum() / hits
        """)
    assert written["SL102"] == ("hits.clamp_min(1)",)


@pytest.mark.parametrize("divisor", ["value", "value - 1", "2 * value"])
def test_nothing_is_written_for_what_may_be_a_number(divisor: str) -> None:
    written = fixes(f"""
        def squash(t, value):
            return torch.tanh(t / ({divisor})) * value
        """)
    assert "SL102" in written
    assert not isinstance(written["SL102"], tuple)


def test_a_root_of_what_may_be_a_number_is_left_alone() -> None:
    written = fixes("""
        def scale(weight, fan):
            return weight * fan ** -0.5
        """)
    assert "nothing shows that `fan` is a tensor" in str(written.get("SL103"))


def test_what_a_fix_asks_for_and_nothing_shows_is_said() -> None:
    written = fixes("""
        def focal(p: torch.Tensor, threshold: torch.Tensor, gamma: float = 2.0):
            return (p / threshold) ** gamma
        """)
    assert written["SL110"] == "nothing shows that `p / threshold` is nowhere negative"


def test_an_operand_without_a_text_is_called_so() -> None:
    written = fixes("""
        def share(t, f):
            return t / f

        def ratio(t, f):
            return share(t, f) / share(f, t)
        """)
    assert "nothing shows that the operand is a tensor" in str(written["SL102"])


@pytest.mark.parametrize("made", ["LazyTensor(x)", "Vi(0, 3)"])
def test_torch_functions_are_not_written_for_the_objects_of_another_package(made: str) -> None:
    written = fixes(f"""
        from pykeops.torch import LazyTensor, Vi

        def distances(x, y):
            return (({made} - y) ** 2).sum(-1).sqrt()
        """)
    assert "need not make tensors" in str(written["SL105"])


def test_what_a_layer_of_another_package_yields_is_taken_for_a_tensor() -> None:
    written = fixes("""
        from einops.layers.torch import Rearrange

        def lengths(x):
            return (Rearrange("b c l -> b l c")(x) ** 2).sum(-1).sqrt()
        """)
    assert isinstance(written["SL105"], tuple)


def test_how_a_name_is_used_shows_that_it_is_a_tensor() -> None:
    written = fixes("""
        def scale(weight, fan):
            return weight.to(fan.device) * fan ** -0.5
        """)
    assert any("fan.clamp_min(" in text for text in written["SL103"] or ())


def test_an_operand_is_not_computed_again_for_its_type() -> None:
    written = fixes("""
        def rmse(a, b):
            return ((a - b) ** 2).mean().sqrt()
        """)
    assert written["SL105"] == "`a - b` would be computed again for its type"


def test_a_method_of_a_multiple_says_nothing_of_the_factor() -> None:
    written = fixes("""
        def scaled(x: torch.Tensor, factor):
            return (x * factor).mean() + (1 / factor) ** 0.5
        """)
    assert not any(isinstance(found, tuple) for found in written.values())


def test_an_integer_tensor_is_not_asked_for_its_finfo() -> None:
    written = fixes("""
        def entropy(x):
            counts = torch.bincount(x).long()
            return torch.log(counts)
        """)
    assert written["SL101"] == "`counts` holds integers, and the rewrite is one for floating-point numbers"


def test_a_parameter_annotated_as_a_number_is_one() -> None:
    written = fixes("""
        def gaussian(distance: torch.Tensor, sigma: float):
            return torch.exp(-torch.pow(distance / sigma, 2) / 2)

        def kernel(distance: torch.Tensor, sigma: list[float]):
            return gaussian(distance, sigma[0])
        """)
    assert written["SL102"] == "a `sigma` of 0 is refused where it is divided by, and would no longer be"


def test_a_tensor_of_unknown_numbers_is_bounded_by_its_own_type() -> None:
    written = fixes("""
        def information(contingency: torch.Tensor):
            u = contingency.sum(dim=1)
            return torch.log(u)
        """)
    assert written["SL101"] == ("u.clamp_min(torch.finfo(u.dtype).tiny)",)


@pytest.mark.parametrize(
    "counted",
    [
        "n = torch.tensor(sizes)[dims].prod().expand_as(x.float())",
        "n = torch.tensor(sizes) if flag else x.float()",
    ],
)
def test_a_shape_or_one_path_shows_no_floating_point_numbers(counted: str) -> None:
    written = fixes(f"""
        def share(x: torch.Tensor, sizes, dims, flag):
            {counted}
            return x / n
        """)
    assert not any("masked_fill" in text for text in written.get("SL102") or ()), (
        "an integer tensor would round the fill to 0"
    )


def test_an_operand_that_can_be_float16_gets_a_constant_of_its_type() -> None:
    written = fixes("""
        def f(x: torch.Tensor, y: torch.Tensor):
            x, y = x.half(), y.half()
            return torch.log(x.relu().sum() * y.relu().sum())
        """)
    assert "1e-30" not in str(written["SL101"])


class TestOptions:
    def test_of_a_function_are_set_in_the_call(self) -> None:
        written = fixes("""
            def loss(a, b, c, d):
                return F.ctc_loss(a, b, c, d)
            """)
        assert written["SL308"] == (", zero_infinity=True",)

    def test_of_an_object_are_set_where_it_is_made(self) -> None:
        code = """
            class Model(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.ctc_loss = nn.CTCLoss(blank=1)
                def forward(self, a, b, c, d):
                    return self.ctc_loss(a, b, c, d)
            """
        (found,) = [item for item in report(code).diagnostics if item.code == "SL308"]
        (fixed,) = propose_all((IMPORTS + body(code)).encode(), [found])
        assert fixed.fix is not None
        (edit,) = fixed.fix.edits
        assert edit.content == ", zero_infinity=True"
        assert found.expression == "nn.CTCLoss(blank=1)"
        assert edit.span.start.row == found.span.start.row
        assert found.derivation[-1].span.start.row == found.span.start.row + 2

    def test_of_an_object_made_twice_are_left_alone(self) -> None:
        written = fixes("""
            class Model(nn.Module):
                def __init__(self, mean):
                    super().__init__()
                    self.loss = nn.CTCLoss()
                    if mean:
                        self.loss = nn.CTCLoss(reduction="mean")
                def forward(self, a, b, c, d):
                    return self.loss(a, b, c, d)
            """)
        assert "at several places" in str(written["SL308"])


def test_the_sum_of_weights_is_no_count() -> None:
    written = fixes("""
        def mean(x: torch.Tensor, weights: torch.Tensor, keep_mask):
            return x.sum() / (weights * keep_mask).relu().sum()
        """)
    assert "clamp_min(1)" not in str(written["SL102"])


@pytest.mark.parametrize(
    "picked",
    [
        "p.gather(1, y)",
        "p[torch.arange(4), y]",
        "torch.gather(p, 1, y).squeeze(1)",
        "torch.cat([p.gather(1, y), p[y]])",
    ],
)
def test_the_elements_of_a_softmax_get_no_bound(picked: str) -> None:
    found = fixes(f"""
        def f(z: torch.Tensor, y):
            p = torch.softmax(z, dim=1)
            return torch.log({picked})
        """)
    assert "`log_softmax` where the softmax stands" in str(found["SL101"])


def test_the_share_of_a_softmax_gets_its_bound() -> None:
    found = fixes("""
        def f(z: torch.Tensor, y):
            p = torch.softmax(z, dim=1)
            return torch.log(p[:, :2].sum(1))
        """)
    assert found["SL101"] == (
        "total = p[:, :2].sum(1)",
        "total.clamp_min(torch.finfo(total.dtype).tiny)",
    )


@pytest.mark.parametrize(
    ("path", "reason"),
    [("scale = 1.0", "can be a Python number"), ("scale = z.argmax(-1)", "holds integers")],
)
def test_nothing_is_written_for_what_is_of_another_sort_on_one_path(path: str, reason: str) -> None:
    written = fixes(f"""
        def f(x: torch.Tensor, z: torch.Tensor, flag):
            if flag:
                scale = x.relu().sum(-1)
            else:
                {path}
            return z / scale
        """)
    assert reason in str(written)


def test_nothing_is_written_for_a_local_that_is_declared_a_number() -> None:
    written = fixes("""
        def f(x: torch.Tensor, g: torch.Tensor):
            bias: float = x.relu().sum()
            return g * (1.0 / bias)
        """)
    assert "can be a Python number" in str(written)


def test_what_is_spelled_as_numpy_spells_it_is_left_alone() -> None:
    code = """
        def normalise({}):
            return (v - v.mean(axis=0)) / v.std(axis=0)
        """
    assert "NumPy's words" in str(fixes(code.format("v"))["SL106"])
    assert isinstance(fixes(code.format("v: torch.Tensor"))["SL106"], tuple)


def test_of_two_names_with_equal_values_the_one_that_is_divided_by_is_bounded() -> None:
    written = fixes("""
        def f(v: torch.Tensor):
            near = v.abs().sum()
            far = v.abs().sum()
            return (v - near) / far
        """)
    assert "far" in str(written["SL102"])
    assert "near" not in str(written["SL102"])


def test_an_order_or_a_kept_dimension_that_is_written_although_it_is_the_default_is_seen_through() -> None:
    for norm in (
        "x.norm(2, 1, True)",
        "torch.norm(x, p=2, dim=1, keepdim=True)",
        "x.norm(dim=1).unsqueeze(1)",
    ):
        written = fixes(f"""
            def unit(x: torch.Tensor):
                return torch.div(x, {norm})
            """)
        assert written["SL106"] == ("F.normalize(x, dim=1)",)
    assert "SL106" not in fixes("""
        def share(x: torch.Tensor):
            return x / x.norm(1, 1, True)
        """)


def test_a_union_and_a_sum_of_totals_get_a_bound_and_a_range_does_not() -> None:
    union = "overlap / (left + right - overlap)"
    for quotient in (
        union,
        "2 * overlap / (left.sum() + right.sum())",
    ):
        written = fixes(f"""
            def score(left: torch.Tensor, right: torch.Tensor, overlap: torch.Tensor):
                return {quotient}
            """)
        assert " == 0, 1)" in str(written["SL102"])
    for quotient in (
        "left / (left + right)",
        "left / (1 - right + left)",
        "(overlap - left) / (right - left)",
        "left / (left - 1)",
        "(left - 1).reciprocal()",
    ):
        written = fixes(f"""
            def scaled(left: torch.Tensor, right, overlap):
                return {quotient}
            """)
        assert "6e-8" not in str(written.get("SL102"))


@pytest.mark.parametrize(
    "before",
    [
        "def f(x, b=2.0):",
        "def f(x):\n    b = x.shape[0] / 2",
        "def f(x, b):\n    for _ in range(b // 3):\n        x = x + 1",
        "def f(self, x):\n    for group in self.param_groups:\n        pass\n    b = 1 - group['lr'] * math.sqrt(2)",
        "def f(x, state):\n    state['step'] = 0\n    b = 2 / (state['step'] + 1)",
        "def f(x, h, w):\n    b = min(x[0] / float(h), x[1] / float(w))",
        "def f(x, b):\n    if b is None:\n        b = 2 * round(4.5) + 1",
        "def f(x, b):\n    b = np.ones_like(b[0]) * b.std()",
        "def f(x, b):\n    m = np.ones_like(b[0])\n    b = b.std()",
        "def f(x, b):\n    m = np.zeros((b.shape[0], 2))\n    b = b.std()",
        "def f(x, table):\n    b = table.loc['row'].std()",
        "def f(x):\n    b = np.abs(x)",
        "def f(x, law):\n    b = law.pdf(np.linspace(0, 1, 3)).max()",
    ],
)
def test_no_method_of_a_tensor_is_called_on_numbers_arrays_and_tables(before: str) -> None:
    written = fixes(f"import math\nimport numpy as np\n{before}\n    return x / b\n")
    assert not any(isinstance(one, tuple) for one in written.values()), written


def test_what_torch_makes_of_an_array_is_a_tensor() -> None:
    written = fixes("""
        import numpy as np

        def f(x):
            b = torch.from_numpy(np.ones(3)).float().std()
            return x / b
        """)
    assert isinstance(written["SL102"], tuple)


@pytest.mark.parametrize("made", ["torch.tensor(-1j) * x", "torch.fft.rfft(x)"])
@pytest.mark.parametrize("taken", ["torch.exp(k)", "torch.sqrt(k)"])
def test_complex_numbers_have_no_bound(made: str, taken: str) -> None:
    written = fixes(f"""
        def f(x: torch.Tensor):
            k = {made}
            return {taken}
        """)
    assert not any(isinstance(one, tuple) for one in written.values()), written


@pytest.mark.parametrize(
    "made", ["torch.fft.irfft(k)", "k.abs()", "k.norm(dim=-1)", "torch.real(k) ** 2", "k.imag ** 2"]
)
def test_what_is_real_of_complex_numbers_has_a_bound(made: str) -> None:
    written = fixes(f"""
        def f(x: torch.Tensor):
            k = torch.fft.rfft(x)
            return torch.log({made})
        """)
    assert "clamp_min" in str(written["SL101"])


def test_the_limits_for_integers_are_those_of_what_is_computed_with_them() -> None:
    written = fixes("""
        def f(j: torch.Tensor):
            m = torch.arange(j)
            return torch.sqrt(j - m * (m + 1))
        """)
    assert written["SL103"] == ("(j - m * (m + 1)).clamp_min(1.2e-38)",)


@pytest.mark.parametrize(
    ("before", "is_shown"),
    [
        ("x = x.float()", True),
        ("x = 100 * torch.randn(3)", True),
        ("x = -F.log_softmax(x, dim=-1)", True),
        ("x = x.float() * y", False),
        ("x = 0.5 * x", False),
        ("x = other(x) * x.float()", False),
        ("x = self.scaled(x)", False),
        ("x = x.double() * torch.fft.fft(y)", False),
        ("x = (x.float() ** y)", False),
        ("x = y.clone()", False),
    ],
)
def test_a_rewrite_for_real_numbers_is_safe_where_they_are_shown(before: str, is_shown: bool) -> None:
    code = f"""
        def other(x):
            return F.softmax(x, dim=-1)

        class Model(nn.Module):
            def scaled(self, x):
                return x.float()

            def f(self, x, y):
                {before}
                return torch.log(1 + torch.exp(x))
        """
    (found,) = (one for one in report(code).diagnostics if one.code == "SL205")
    (fixed,) = propose_all((IMPORTS + body(code)).encode(), [found])
    assert fixed.fix is not None
    assert (fixed.fix.caution is None) == is_shown, fixed.fix.caution


def test_a_count_that_is_added_up_over_a_list_is_no_tensor() -> None:
    written = fixes("""
        def share(layers, x, delta, m):
            sizes = []
            for layer in layers:
                x = layer(x)
                sizes.append(x.numel())
            count = sum(n for n in sizes[:-1] if m < n)
            count += sum(n * i for i, n in enumerate(sizes[:-1]) if m < n)
            return (delta / count) ** (1 / m)
        """)
    assert not any(isinstance(one, tuple) for one in written.values()), written


def test_of_two_names_for_one_tensor_a_fix_reads_the_one_that_stands_there() -> None:
    written = fixes("""
        def loss(logits, tokens, pad):
            labels = tokens
            tokens = tokens.long()
            tokens = labels
            return F.cross_entropy(logits, labels, ignore_index=pad)
        """)
    assert "labels != pad" in str(written["SL307"])


@pytest.mark.parametrize("total", ["x.var(dim=0) + eps", "eps + x ** 2"])
def test_a_sum_with_an_offset_that_is_set_elsewhere_gets_no_bound(total: str) -> None:
    written = fixes(f"""
        def scale(x: torch.Tensor, eps):
            return torch.rsqrt({total})
        """)
    assert "there is an offset already, by `eps`" in str(written["SL103"])


def test_a_sum_of_two_tensors_gets_a_bound() -> None:
    written = fixes("""
        def length(x: torch.Tensor, y: torch.Tensor):
            return torch.sqrt(x ** 2 + y)
        """)
    assert "clamp_min" in str(written["SL103"])


def test_a_number_that_is_called_a_count_gets_a_maximum_of_numbers() -> None:
    written = fixes("""
        def mean(total, items):
            cnt = 0
            for item in items:
                if item is not None:
                    cnt += 1
            return total / cnt
        """)
    assert written["SL102"] == ("max(cnt, 1)",)


@pytest.mark.parametrize("key", ["'x'", "'x_' + name"])
def test_what_a_mapping_of_arrays_holds_is_an_array(key: str) -> None:
    written = fixes(f"""
        import numpy as np

        def load(path, names):
            data = {{}}
            for name in names:
                read = np.load(path + name)
                data[{key}] = read['x']
            return data['x_train'][..., 0].std()
        """)
    assert not isinstance(written.get("SL107"), tuple)


@pytest.mark.parametrize(
    ("line", "is_written"),
    [("pass", False), ("y = np.abs(x)", False), ("x = x.detach()", True), ("x = torch.abs(x)", True)],
)
def test_a_function_that_speaks_of_numpy_alone_may_be_given_arrays(line: str, is_written: bool) -> None:
    written = fixes(f"""
        import numpy as np

        def spread(x):
            {line}
            extent = x.max(0) - x.min(0)
            return extent, x.std()
        """)
    assert isinstance(written.get("SL107"), tuple) is is_written


def test_what_another_file_gives_such_a_function_may_be_an_array_as_well() -> None:
    written = fixes("""
        import numpy as np

        def share(contour, drawn, labels):
            a, place = drawn(contour)
            inside = a > 0
            return (labels[place] > 0).any(-1)[inside].sum() / inside.sum()
        """)
    assert not any(isinstance(one, tuple) for one in written.values()), written


@pytest.mark.parametrize(("taken", "is_written"), [("jac.log()", True), ("1 / jac", False)])
def test_what_has_a_method_that_no_array_has_is_a_tensor(taken: str, is_written: bool) -> None:
    written = fixes(f"""
        import numpy as np

        def inverse(self, x):
            z, jac = self.transformer(x)
            return z, {taken}
        """)
    assert any(isinstance(one, tuple) for one in written.values()) is is_written


def test_what_a_function_of_tensors_takes_arithmetic_of_is_a_tensor() -> None:
    written = fixes("""
        def fisher(x):
            return 0.5 * torch.log((1 + x) / (1 - x))
        """)
    assert isinstance(written["SL104"], tuple)


def test_what_is_made_of_a_conjugate_has_no_bound() -> None:
    written = fixes("""
        def wave_number(material, k):
            return torch.sqrt(torch.conj(material)[:, None] - k**2)
        """)
    assert "may be complex, and has no bound" in str(written["SL103"])


def test_the_parts_of_a_complex_number_are_real() -> None:
    written = fixes("""
        def amplitude(z: torch.Tensor):
            return torch.sqrt(z.real**2 + z.imag**2)
        """)
    assert "clamp_min" in str(written["SL103"])


def test_arrays_of_jax_have_no_methods_of_tensors() -> None:
    written = fixes("""
        import jax.numpy as jnp

        def standardize(key):
            field = draw(key)
            return jnp.exp((field - field.mean()) / (field.std() + 1e-6))
        """)
    assert "nothing shows that `field` is a tensor" in str(written["SL107"])


def test_a_column_of_a_table_has_no_methods_of_tensors() -> None:
    written = fixes("""
        import pandas as pd

        def normalized(frame, split, name):
            frame = pd.concat([frame, split], axis=1)
            column = frame[name]
            frame[name] = (column - column.mean()) / column.std()
            return torch.tensor(frame)
        """)
    assert written["SL107"] == "`column` is an array or a table, and no tensor"


def test_an_operand_that_is_spelled_for_arrays_gets_no_bound() -> None:
    written = fixes("""
        def score(errors, target):
            return torch.sqrt(errors) / target.flatten().std(ddof=1)
        """)
    assert "NumPy's words are used of it" in str(written["SL102"])


@pytest.mark.parametrize(
    ("test", "has_bound"),
    [("torch.is_complex(x)", False), ("x.complexity", True), ("is_complex_shape(x)", True)],
)
def test_a_bound_is_for_what_is_not_asked_whether_it_is_complex(test: str, has_bound: bool) -> None:
    written = fixes(f"""
        def reciprocal(x: torch.Tensor):
            if {test}:
                x = x + 1
            return 1 / torch.sqrt(x)
        """)
    assert isinstance(written["SL103"], tuple) is has_bound


@pytest.mark.parametrize(
    ("asked", "is_tensor"),
    [
        ("if isinstance(s, torch.Tensor):\n        s = s.view(-1, 1)", False),
        ("if isinstance(s, torch.Tensor):\n        return s.view(-1, 1)", False),
        ("s = s.view(-1, 1)", True),
    ],
)
def test_what_is_a_tensor_on_one_path_alone_has_no_methods_of_one(asked: str, is_tensor: bool) -> None:
    written = fixes(f"def scaled(x: torch.Tensor, s):\n    {asked}\n    return x / abs(s)\n")
    assert isinstance(written["SL102"], tuple) is is_tensor


def test_what_the_docstring_calls_complex_has_no_bound() -> None:
    written = fixes("""
        def reciprocal(eigenvalues):
            '''Of complex eigenvalues.'''
            return 1 / torch.sqrt(eigenvalues)
        """)
    assert "may be complex" in str(written["SL103"])


METER = """
    class Meter:
        def std(self):
            return self.spread

    def scaled(x, meter):
        {}return x / meter.std()
    """


def test_nothing_is_written_for_what_may_be_an_object_with_the_method() -> None:
    assert fixes(METER.replace("{}", ""))["SL102"] == (
        "nothing shows that `meter.std()` is a tensor, and the rewrite is one for tensors"
    )


@pytest.mark.parametrize(
    "program",
    [
        METER.replace("def std", "def mean").replace("{}", ""),
        METER.replace("{}", "x = x.to(meter.device)\n        "),
    ],
    ids=["no class has it", "it is used as a tensor"],
)
def test_what_is_used_as_a_tensor_is_one_whatever_methods_classes_have(program: str) -> None:
    assert isinstance(fixes(program)["SL102"], tuple)


@pytest.mark.parametrize(
    ("index", "dim"),
    [
        ("sum(1)[:, None]", "1"),
        ("sum(1).view(-1, 1)", "1"),
        ("sum(-1)[..., None]", "-1"),
        ("sum(1)[None, :]", None),
        ("sum(1)[:, None, None]", None),
        ("sum(1).view(1, -1)", None),
    ],
)
def test_a_softmax_is_seen_where_an_index_gives_the_sum_its_dimension_back(
    index: str, dim: str | None
) -> None:
    written = fixes(f"""
        def shares(x: torch.Tensor):
            e = torch.exp(x)
            return e / e.{index}
        """)
    assert (f"torch.softmax(x, dim={dim})" in str(written.get("SL206"))) is (dim is not None)


@pytest.mark.parametrize(
    ("computed", "read", "bound"),
    [
        ("torch.acos(x @ y)", ".mean().item()", "clamp(-1, 1)"),
        ("torch.acos(x @ y)", ".mean()", ".eps / 2, 1 - torch.finfo("),
        ("torch.sqrt(x - y)", " > 2", "clamp_min(0)"),
        ("torch.sqrt(x - y)", "", "clamp_min(torch.finfo"),
    ],
)
def test_a_bound_for_the_gradient_is_none_where_no_gradient_is_taken(
    computed: str, read: str, bound: str
) -> None:
    written = fixes(f"""
        def measured(x: torch.Tensor, y: torch.Tensor):
            z = {computed}
            return z{read}
        """)
    assert any(bound in str(one) for one in written.values())


@pytest.mark.parametrize("loss", ["F.binary_cross_entropy(p, y)", "F.nll_loss(torch.log(p), y)"])
def test_a_loss_of_what_is_a_probability_on_one_path_alone_stays(loss: str) -> None:
    step = "softmax(-1)" if "binary" not in loss else "sigmoid()"
    written = fixes(f"""
        def score(z: torch.Tensor, y, of_logits: bool = True):
            p = z.{step} if of_logits else z
            return {loss}
        """)
    assert not any(isinstance(one, tuple) for one in written.values())


@pytest.mark.parametrize(
    ("code", "rule", "is_written"),
    [
        (
            "s = x.sqrt() if isinstance(x, torch.Tensor) else math.sqrt(x)\n    return 1 / abs(s)",
            "SL102",
            False,
        ),
        ("s = x.sqrt()\n    return 1 / abs(s)", "SL102", True),
        ("return torch.distributions.Normal(0.0, x)", "SL108", False),
        ("return torch.distributions.Normal(0.0, x.squeeze(-1).float())", "SL108", True),
        ("return [torch.distributions.Normal(0.0, one) for one in x]", "SL108", False),
    ],
)
def test_what_may_be_a_number_on_one_path_has_no_methods_of_tensors(
    code: str, rule: str, is_written: bool
) -> None:
    written = fixes(f"import math\n\ndef f(x):\n    {code}\n")
    assert isinstance(written.get(rule), tuple) is is_written


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (
            "def f(n, dt):\n    return torch.randn(n) * torch.sqrt(torch.tensor(dt))",
            "holds floating-point numbers",
        ),
        (
            "def f(x: torch.Tensor):\n    return torch.prod(x.abs(), 1) ** -0.5",
            "is a product of many factors",
        ),
        ("def f(data, column):\n    return data[column].mean()", "is a tensor and no array"),
        (
            "def f(x, paint):\n    return paint(x.cpu().numpy())[..., :3].squeeze(0).std()",
            "is an array or a table",
        ),
        (
            "def log(*, input: torch.Tensor):\n    return torch.log(input=input)",
            "`log` is the operation itself",
        ),
    ],
)
def test_what_has_no_limits_to_ask_for_and_no_least_size_is_not_bounded(function: str, reason: str) -> None:
    written = fixes(f"import pandas as pd\n\n\n{function}\n")
    assert any(reason in str(one) for one in written.values())


def test_what_is_annotated_and_seen_to_stays() -> None:
    written = fixes("""
        def f(degrees: torch.Tensor):
            inverse: torch.Tensor = degrees.pow(-0.5)
            inverse[inverse == float("inf")] = 0
            return inverse
        """)
    assert "sees to what is not finite" in str(written["SL103"])


def test_a_count_whose_zeros_are_asked_for_stays() -> None:
    written = fixes("""
        def f(right: torch.Tensor, noisy: torch.Tensor):
            noisy = noisy > 0
            count = (noisy.sum(dim=1)).to(right.dtype)
            return ((right * noisy).sum(dim=1) / count)[count > 0]
        """)
    assert "sees to the zeros" in str(written)


def test_what_functions_take_of_which_the_file_takes_the_real_part_has_no_bound() -> None:
    written = fixes("""
        def gamma(z):
            return torch.log(z) + 1


        def real_gamma(x):
            return gamma(x).real
        """)
    assert "may be complex" in str(written["SL101"])


@pytest.mark.parametrize(
    ("returned", "is_written"),
    [
        ("torch.from_numpy(scaled.astype('float32'))", False),
        ("torch.from_numpy(scaled[None])", False),
        ("torch.Tensor(scaled)", False),
        ("torch.as_tensor(scaled)", False),
        ("torch.from_numpy(scaled.numpy())", True),
        ("scaled", True),
    ],
)
def test_what_is_computed_from_before_from_numpy_takes_it_is_an_array(
    returned: str, is_written: bool
) -> None:
    written = fixes(f"""
        def load(net, read, path):
            raw = read(path)
            low, high = raw.min(), raw.max()
            scaled = (raw - low) / (high - low)
            weights = torch.ones(3)
            return {returned}, weights
        """)
    assert isinstance(written["SL102"], tuple) is is_written


def test_a_function_that_turns_its_result_into_a_tensor_may_be_given_arrays() -> None:
    written = fixes("""
        import numpy as np

        def load(read, path):
            raw = read(path)
            extent = raw.max() - raw.min()
            return torch.from_numpy(np.ascontiguousarray((raw - raw.min()) / extent))
        """)
    assert not isinstance(written["SL102"], tuple)


@pytest.mark.parametrize(
    ("annotation", "is_written"),
    [
        ("Union[torch.Tensor, np.ndarray]", False),
        ("np.ndarray | torch.Tensor", False),
        ("torch.Tensor", True),
    ],
)
def test_an_argument_that_may_be_an_array_as_well_gets_no_method_of_tensors(
    annotation: str, is_written: bool
) -> None:
    written = fixes(f"""
        from typing import Union
        import numpy as np

        def normalize(img: {annotation}):
            return (img - img.min()) / (img.max() - img.min())
        """)
    assert isinstance(written["SL102"], tuple) is is_written


def test_a_file_for_an_older_torch_gets_no_function_that_it_may_lack() -> None:
    code = """
        def both(a: torch.Tensor, b: torch.Tensor):
            return torch.log(torch.exp(a) + torch.exp(b))

        def share(x: torch.Tensor, y: torch.Tensor):
            return x.sum() / (x == y).sum()
        """
    older = f"{code}\n        def parts(m):\n            return torch.eig(m, eigenvectors=True)\n"
    assert fixes(code)["SL204"] == ("torch.logaddexp(a, b)",)
    assert fixes(older)["SL204"] == "this file is written for a PyTorch that may lack `torch.logaddexp`"
    assert fixes(older)["SL102"] == ("(x == y).sum().clamp_min(1)",)


@pytest.mark.parametrize("asks", ["self.table.iloc[0]", "self.table.groupby('label')"])
def test_what_any_method_asks_as_a_table_is_no_tensor(asks: str) -> None:
    written = fixes(f"""
        from tables import read

        class Rows:
            def __init__(self, file):
                self.table = read(file)

            def first(self):
                return {asks}

            def balance(self):
                mean = self.table["label"].mean()
                return torch.tensor([1, (1 - mean) / mean])
        """)
    assert not any(isinstance(one, tuple) for one in written.values())


@pytest.mark.parametrize("taken", ["self.table[self.label]", "self.table[self.label].dropna()", "self.table"])
def test_what_any_method_keeps_as_a_table_is_no_tensor(taken: str) -> None:
    written = fixes(f"""
        import pandas as pd

        class Rows:
            def __init__(self, file, label):
                self.label, self.table = label, None
                self.table = pd.read_csv(file)

            def merge(self, other):
                self.table = self.table.merge(other)

            def balance(self):
                mean = {taken}.mean()
                return torch.tensor([1, (1 - mean) / mean])
        """)
    assert not any(isinstance(one, tuple) for one in written.values())
