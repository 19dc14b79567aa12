import ast
import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from stablelint.catalog import load_catalog
from stablelint.codemod.flow.effects import KEEPS_TYPE
from stablelint.codemod.templates.limits import sized, widest
from stablelint.codemod.templates.operand import Operand, placeholder
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import NOT_HALF, Binding
from stablelint.numerics.formats import DTYPES
from stablelint.runtime.rules.laws import Law, laws
from tests.codemod.differential.tried import fixed
from tests.codemod.support import CLAMPED_LOG, HEAD, proposal, rewritten, span_of
from tests.syntax.test_traits import X, result, tensors, torch


def of_type(dtype: str | None, *names: str) -> dict[str, Operand]:
    """Operands of an element type, by placeholder."""
    return {placeholder(one): Operand(one, one, ast.Name(one), dtype=dtype) for one in names}


def with_numbers() -> Iterator[Law]:
    """The laws of all pages, of their fixes with numbers in the place of limits."""
    for rule in load_catalog(entry_points=False).rules.values():
        for dtype in rule.dtypes:
            for fix in rule.fixes:
                number = sized(fix.replace, of_type(dtype, *rule.metavariables))
                if number != fix.replace and dtype in fix.dtypes:
                    fixes = (replace(fix, replace=number),)
                    yield from (
                        one for one in laws(replace(rule, fixes=fixes, dtypes=(dtype,))) if one.fix == 0
                    )


@pytest.mark.parametrize("law", list(with_numbers()), ids=lambda law: law.title)
def test_a_number_cures_as_the_limit_does_and_leaves_healthy_values(law: Law) -> None:
    assert law.check() is None


@pytest.mark.parametrize("dtype", [None, *DTYPES])
def test_an_exponent_has_a_round_bound_of_its_type(dtype: str | None) -> None:
    bounds = {"float16": "11.0", "float64": "709.0"}
    assert sized(widest("x"), of_type(dtype, "x")) == f"$x.clamp(max={bounds.get(dtype or '', '88.0')})"


def test_in_a_file_of_doubles_the_largest_exponent_is_that_of_the_type() -> None:
    asked = "math.floor(math.log(torch.finfo($x.dtype).max))"
    assert sized(widest("x"), of_type(None, "x"), double=True) == f"$x.clamp(max={asked})"
    assert sized(widest("x"), of_type("float32", "x"), double=True) == "$x.clamp(max=88.0)"
    limits = {"torch": torch, "math": math}
    for dtype, largest in ((torch.float16, 11), (torch.float32, 88), (torch.float64, 709)):
        assert eval(asked.replace("$x", "x"), {**limits, "x": torch.zeros(1, dtype=dtype)}) == largest


def test_torchscript_gets_no_number_for_what_is_next_to_1_in_a_type_that_is_not_known() -> None:
    template = "torch.logit($x.clamp(torch.finfo($x.dtype).tiny, 1 - torch.finfo($x.dtype).eps / 2))"
    with pytest.raises(Withheld, match="TorchScript knows no"):
        sized(template, of_type(None, "x"), scripted=True)
    assert "clamp(1.2e-38, 1 - 6e-8)" in sized(template, of_type("float32", "x"), scripted=True)


@pytest.mark.parametrize(
    ("dtype", "bound"),
    [
        ("float32", "1.2e-38"),
        ("float64", "2.3e-308"),
        ("float16", "torch.finfo(x.dtype).tiny"),
        ("maybe half", "torch.finfo(x.dtype).tiny"),
        (None, "torch.finfo(x.dtype).tiny"),
    ],
)
def test_single_and_double_precision_get_a_number_and_half_its_limit(dtype: str, bound: str) -> None:
    source = f"{HEAD}def f(x):\n    return torch.log(x)\n"
    x = Binding("x", span_of(source, "x", start=source.index("log(")), dtype)
    fixed = rewritten(source, proposal(source, "torch.log(x)", CLAMPED_LOG, x=x))
    assert f"torch.log(x.clamp_min({bound}))" in fixed


@pytest.mark.parametrize(
    ("dtype", "bound"),
    [
        ("float32", "1e-19"),
        ("float64", "1e-154"),
        ("float16", "torch.finfo($x.dtype).tiny"),
        ("bfloat16", "1e-19"),
        (None, "torch.finfo($x.dtype).tiny"),
    ],
)
def test_no_root_of_a_limit_is_asked_of_half_precision(dtype: str | None, bound: str) -> None:
    assert (
        sized("$x.clamp_min(torch.finfo($x.dtype).tiny ** 0.5)", of_type(dtype, "x"))
        == f"$x.clamp_min({bound})"
    )


@pytest.mark.parametrize(
    ("limit", "number"),
    [("tiny", "torch.finfo($x.dtype).tiny"), ("tiny ** 0.5", "1e-19"), ("tiny ** (2 / 3)", "1e-25")],
)
def test_where_no_half_precision_arrives_a_root_of_a_limit_is_a_number(limit: str, number: str) -> None:
    asked = f"torch.finfo($x.dtype).{limit}"
    one = of_type(NOT_HALF, "x")
    assert sized(f"$x.clamp_min({asked})", one) == f"$x.clamp_min({number})"
    assert sized(f"$x.clamp_min({asked})", one, double=True) == f"$x.clamp_min({asked})"


@pytest.mark.parametrize(
    ("beside", "bound"),
    [
        ("loss.backward()", "1e-19"),
        ("loss.backward()  # no autocast()", "1e-19"),
        ("model.half()\n    loss.backward()", "torch.finfo(total.dtype).tiny"),
        ("loss.backward()\n    x = x.double()", "torch.finfo(total.dtype).tiny ** 0.5"),
        ("return loss", "torch.finfo(total.dtype).tiny"),
    ],
)
def test_half_precision_may_arrive_unless_who_trains_speaks_of_none(beside: str, bound: str) -> None:
    source = f"{HEAD}def f(x, s):\n    return s / (x**2).sum()\n\n\ndef g(model, loss, x):\n    {beside}\n"
    assert f".clamp_min({bound})" in fixed(source, unsafe=True)[0]


@pytest.mark.parametrize("mark", ["@torch.jit.script\n", "# torch.jit.is_scripting()\n"])
def test_a_file_for_torchscript_gets_numbers_where_others_ask_for_the_type(mark: str) -> None:
    source = f"{HEAD}{mark}def f(x: torch.Tensor):\n    return torch.log(x)\n"
    fixed = rewritten(source, proposal(source, "torch.log(x)", CLAMPED_LOG, x="x"))
    assert "torch.log(x.clamp_min(1.2e-38))" in fixed


def test_other_files_ask_for_the_type() -> None:
    source = f"{HEAD}def f(x: torch.Tensor):\n    return torch.log(x)\n"
    fixed = rewritten(source, proposal(source, "torch.log(x)", CLAMPED_LOG, x="x"))
    assert "torch.log(x.clamp_min(torch.finfo(x.dtype).tiny))" in fixed


@pytest.mark.parametrize(
    ("item", "written"),
    [
        ("x[:, 0]", "torch.log(x[:, 0].clamp_min(torch.finfo(x.dtype).tiny))"),
        ("x[x > 0]", "torch.log(x[x > 0].clamp_min(torch.finfo(x.dtype).tiny))"),
        ("x[0]", "torch.log(x[0].clamp_min(torch.finfo(x[0].dtype).tiny))"),
        ("x[i]", "torch.log(selected.clamp_min(torch.finfo(selected.dtype).tiny))"),
    ],
)
def test_a_part_of_a_tensor_has_its_type_and_an_item_of_a_list_its_own(item: str, written: str) -> None:
    source = f"{HEAD}def f(x, i):\n    return torch.log({item})\n"
    assert written in rewritten(source, proposal(source, f"torch.log({item})", CLAMPED_LOG, x=item))


def test_the_type_that_a_cast_names_is_asked_for_limits() -> None:
    source = f"{HEAD}def f(x, y):\n    return y / torch.sigmoid(x).to(y.dtype)\n"
    divisor = "torch.sigmoid(x).to(y.dtype)"
    fixed = rewritten(
        source, proposal(source, divisor, "$x.clamp_min(torch.finfo($x.dtype).tiny)", x=divisor)
    )
    assert f"y / {divisor}.clamp_min(torch.finfo(y.dtype).tiny)" in fixed


@pytest.mark.parametrize("name", sorted(KEEPS_TYPE - {"overwritten", "phi", "python.sum", "rearrange"}))
def test_what_is_asked_for_its_type_has_that_of_the_operand(name: str) -> None:
    if name == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU")
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        assert {one.dtype for one in tensors(result(name, X.to(dtype)))} == {dtype}


def test_what_a_call_leaves_of_one_is_not_called_again_for_its_type() -> None:
    source = f"{HEAD}def f(net, x, y):\n    return torch.log(net(x)) + torch.log(1 - net(y))\n"
    fixed = rewritten(source, proposal(source, "torch.log(1 - net(y))", CLAMPED_LOG, x="1 - net(y)"))
    assert "torch.log(net(x)) + torch.log((1 - net(y)).clamp_min(5e-8))" in fixed


def test_of_two_names_for_torch_the_one_in_the_statement_is_asked() -> None:
    source = f"{HEAD}import torch as T\n\n\ndef f(x):\n    return torch.log(x)\n"
    fixed = rewritten(source, proposal(source, "torch.log(x)", CLAMPED_LOG, x="x"))
    assert "torch.log(x.clamp_min(torch.finfo(x.dtype).tiny))" in fixed


@pytest.mark.parametrize(
    ("dtype", "bound"),
    [
        (None, "torch.finfo($x.dtype).tiny"),
        ("float16", "6e-8"),
        ("bfloat16", "torch.finfo($x.dtype).tiny"),
        ("float32", "1.2e-38"),
        ("float64", "2.3e-308"),
    ],
)
def test_the_least_bound_of_a_root_is_one_number_where_the_type_is_known(
    dtype: str | None, bound: str
) -> None:
    template = "$x.clamp_min(min(6e-8, torch.finfo($x.dtype).tiny))"
    assert sized(template, of_type(dtype, "x")) == f"$x.clamp_min({bound})"


@pytest.mark.parametrize("call", ["process.std(s, x)", "process.std(t=s, x=x)"])
def test_no_object_is_asked_for_its_element_type(call: str) -> None:
    source = f"import torch\ndef f(process, s, x):\n    sigma = {call}\n    return x / sigma + s / sigma\n"
    assert "torch.finfo(sigma.dtype)" in fixed(source, unsafe=True)[0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("limit", ["tiny", "tiny ** 0.5", "tiny ** (2 / 3)"])
def test_what_is_asked_of_any_type_moves_no_normal_number_and_ends_the_infinity(
    limit: str, dtype: torch.dtype
) -> None:
    template = sized(f"$x.clamp_min(torch.finfo($x.dtype).{limit})", of_type(None, "x"))
    x = torch.tensor([0, torch.finfo(dtype).tiny, 0.001], dtype=dtype, requires_grad=True)
    bounded = eval(template.replace("$x", "x"), {"torch": torch, "x": x})
    assert torch.equal(bounded[1:], x[1:])
    quotient = 1 / bounded
    quotient[::2].sum().backward()
    assert x.grad is not None
    assert quotient.isfinite().all()
    assert x.grad.isfinite()[0]


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("y = x / x.abs().max()", "largest.masked_fill(largest == 0, 1)"),
        ("y = s / (x.max() - x.min()).abs()", "magnitude.masked_fill(magnitude == 0, 1)"),
        ("y = x / (x**2).sum()", "total.masked_fill(total == 0, 1)"),
        ("n = x.norm(dim=-1)\n    y = x / n[:, None]", "y = x / n.masked_fill(n == 0, 1)[:, None]"),
        (
            "y = x / x.abs().sum() + s * (x / x.abs().sum())",
            "total = total.masked_fill(total == 0, 1)\n    y = x / total + s * (x / total)",
        ),
        ("y = s / (x**2).sum()", "torch.finfo(total.dtype).tiny"),
        ("y = (x.exp() ** 2 / s).log()", "torch.finfo(ratio.dtype).tiny"),
        ("y = (x * s).sum() / x.abs().sum()", "total.masked_fill(total == 0, 1)"),
        ("y = x / torch.relu(x).max(1, keepdim=True)[0]", "largest.masked_fill(largest == 0, 1)"),
    ],
)
def test_the_bound_is_that_of_what_may_arrive(line: str, after: str) -> None:
    source, _ = fixed(
        f"{HEAD}def f(x: torch.Tensor, s: torch.Tensor):\n    {line}\n    return y\n", unsafe=True
    )
    assert after in source


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", None])
def test_softplus_is_linear_where_the_type_cannot_tell_the_difference(
    dtype: str | None, double: bool
) -> None:
    made = sized("torch.nn.functional.softplus(-2 * $x)", of_type(dtype, "x"), double=double)
    exact = dtype == "float64" or (dtype is None and double)
    assert made == f"torch.nn.functional.softplus(-2 * $x{', threshold=40' * exact})"
    x = torch.linspace(-20, 0, 1001, dtype=torch.float64 if exact else torch.float32)
    found = eval(made.replace("$x", "x"))
    lost = found - torch.logaddexp(-2 * x, torch.zeros_like(x))
    assert lost.abs().max() <= 40 * torch.finfo(x.dtype).eps
