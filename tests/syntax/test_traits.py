"""What the table says of operations, held against torch."""

import operator
import warnings
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

import pytest

from stablelint.syntax.operations import canonical, having, spellings
from stablelint.syntax.spellings import TRAITS

torch = pytest.importorskip("torch")
from torch._subclasses import FakeTensorMode  # noqa: E402

SPELLED = {name: spelling for spelling, name in reversed(list(spellings()))}
X = torch.tensor([[0.9, 0.2, 0.4], [0.3, 0.7, 0.1], [0.6, 0.5, 0.8]])
Y = torch.tensor([[0.4, 0.2, 0.9], [0.5, 0.7, 0.3], [0.1, 0.8, 0.6]])
GIVEN: dict[str, Any] = {
    **dict.fromkeys(("input", "x1", "data", "mean", "start", "low"), X),
    **dict.fromkeys(("other", "x2", "target", "src", "source", "end", "tensor1", "tensor2", "std"), Y),
    "tensors": [X, Y],
    "dim": -1,
    "mask": X > 0.5,
    "value": 0.5,
    "min": 0.3,
    "max": 0.7,
    "size": (3,),
    "n": 3,
    "index": torch.tensor([[0, 1, 2], [2, 1, 0], [1, 1, 1]]),
    "num_samples": 2,
    "fill_value": 2.0,
    "k": 2,
    "q": 0.5,
    "bins": 2,
    "condition": X > 0.5,
    "chunks": 3,
    "split_size": 1,
    "length": 2,
    "type": torch.float64,
    "dim0": 0,
    "dim1": 1,
    "repeats": 2,
}
BY_HAND: dict[str, Callable[[Any], Any]] = {
    "view": lambda x: x.view(-1),
    "permute": lambda x: x.permute(1, 0),
    "transpose": lambda x: x.transpose(0, 1),
    "unflatten": lambda x: x.unflatten(0, (1, 3)),
    "expand": lambda x: x.expand(2, 3, 3),
    "repeat": lambda x: x.repeat(2, 1),
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1),
    "movedim": lambda x: x.movedim(0, 1),
    "squeeze": lambda x: x[:1].squeeze(0),
    "to": lambda x: x.to(torch.float64),
    "type": lambda x: x.type(torch.float64),
    "select": lambda x: x.select(0, 1),
    "narrow": lambda x: x.narrow(0, 1, 2),
    "index_select": lambda x: x.index_select(0, torch.tensor([0, 2])),
    "identity": torch.nn.Identity(),
    "index": lambda x: x[0],
    "part": lambda x: x.unbind()[0],
    "matmul": lambda x: x @ x,
    "linear_module": torch.nn.Linear(3, 2),
    "linear": lambda x: torch.nn.functional.linear(x, Y),
    "outer": lambda x: x[0].outer(x[0]),
    "einsum": lambda x: torch.einsum("ij,jk", x, x),
    "addmm": lambda x: x.addmm(x, x),
    "addmv": lambda x: x[0].addmv(x, x[0]),
    "baddbmm": lambda x: x[None].baddbmm(x[None], x[None]),
    "scaled_dot_product_attention": lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x),
    "one_hot": lambda x: torch.nn.functional.one_hot(x.long()),
    "bincount": lambda x: x.flatten().long().bincount(),
    "bitwise_not": lambda x: x.int().bitwise_not(),
    "bitwise_and": lambda x: x.int().bitwise_and(1),
    "bitwise_or": lambda x: x.int().bitwise_or(1),
    "randint": lambda x: torch.randint(0, 1000, (3,)),
    "randperm": lambda x: torch.randperm(100),
    "uniform_": lambda x: x.clone().uniform_(),
    "normal_": lambda x: x.clone().normal_(),
    "exponential_": lambda x: x.clone().exponential_(),
    "bernoulli": lambda x: x.repeat(9, 9).bernoulli(),
    "multinomial": lambda x: x.repeat(9, 9).multinomial(9),
    "slogdet": lambda x: torch.linalg.slogdet(x),
    "cumprod": lambda x: x.cumprod(0),
    **{
        name: partial(lambda name, x: getattr(x, name)(dim=0), name)
        for name in ("max", "min", "median", "prod")
    },
    "lerp": lambda x: x.lerp(Y, 0.5),
    "fft": torch.fft.fft,
    "bits": lambda x: x.view(torch.int32),
    "as_complex": lambda x: torch.view_as_complex(x.view(-1)[:8].view(4, 2)),
    "as_real": lambda x: torch.view_as_real(x.view(-1)[:8].view(4, 2).view(torch.complex64)),
    "stft": lambda x: x.flatten().stft(4, window=torch.ones(4), return_complex=True),
    "aminmax": lambda x: x.aminmax(dim=0),
    "norm": torch.norm,
    "vector_norm": torch.linalg.vector_norm,
    "pow": lambda x: x.pow(3),  # by a tensor, whose gradient asks for the result, it is rare
    "unique": lambda x: x.unique(return_counts=True),
    "cosine_similarity": lambda x: torch.nn.functional.cosine_similarity(x, Y),
    "convolution": lambda x: torch.convolution(
        x.reshape(1, 1, 9), _kernel(1, x), None, [1], [0], [1], False, [0], 1
    ),
    **{f"conv{n}d": partial(lambda n, x: _conv(n, x), n) for n in (1, 2, 3)},
}


def _conv(n: int, x: Any) -> Any:
    convolution = getattr(torch.nn.functional, f"conv{n}d")
    return convolution(x.reshape(1, 1, 9, *[1] * (n - 1)), _kernel(n, x))


def _kernel(n: int, x: Any) -> Any:
    return x.detach().flatten()[:1].view(1, 1, *[1] * n).requires_grad_()


def result(name: str, x: Any = X) -> Any:
    """The result of an operation by its first spelling in the table, its operands by their names."""
    if name in BY_HAND:
        return BY_HAND[name](x)
    operation, spelling = canonical(name), SPELLED[name]
    assert operation is not None
    names = [one for one in operation.parameters if one in GIVEN]
    needed = [x if GIVEN[one] is X else GIVEN[one] for one in names]
    if "." not in spelling:
        return getattr(x, spelling)(*needed[1:])
    return attrgetter(spelling.removeprefix("torch."))(torch)(*needed)


def tensors(found: Any) -> list[Any]:
    return [found] if isinstance(found, torch.Tensor) else list(found)


NOT_OF_TORCH = {"overwritten", "checkpoint", "phi", "rearrange"}


def every(*traits: str) -> Any:
    return pytest.mark.parametrize("name", sorted(having(*traits) - NOT_OF_TORCH))


def test_every_trait_is_somebodys_and_says_what_it_is() -> None:
    assert all(having(trait) and sentence for trait, sentence in TRAITS.items())


def test_a_trait_that_is_none_is_an_error() -> None:
    with pytest.raises(KeyError, match="resemblance"):
        having("log", "resemblance")


@every("layout", "copy", "device", "pick")
def test_elements_are_those_of_the_operand(name: str) -> None:
    if name == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU")
    for one in tensors(result(name)):
        assert not one.is_floating_point() or torch.isin(one.cpu(), X).all()


@every("scale")
def test_a_scale_follows_its_operand(name: str) -> None:
    torch.testing.assert_close(result(name, 2 * X), 2 * result(name))


@every("arithmetic")
def test_arithmetic_is_that_of_an_operator(name: str) -> None:
    assert torch.equal(result(name), getattr(operator, {"div": "truediv"}.get(name, name))(X, GIVEN["other"]))


@every("cast")
def test_a_cast_keeps_elements_up_to_rounding(name: str) -> None:
    torch.testing.assert_close(result(name).float(), X, rtol=0.01, atol=0)


@every("narrowed")
def test_autocast_narrows_the_result(name: str) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        assert result(name).dtype is torch.bfloat16


def _on_a_gpu(given: Any) -> Any:
    """The same operand of half precision on a GPU that is made up, which tells element types alone."""
    if isinstance(given, list):
        return [_on_a_gpu(one) for one in given]
    if not isinstance(given, torch.Tensor):
        return given
    return torch.empty(
        given.shape, dtype=torch.float16 if given.is_floating_point() else given.dtype, device="cuda"
    )


@every("widened")
def test_autocast_widens_the_result(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeTensorMode(), torch.no_grad():
        for one, given in GIVEN.items():
            monkeypatch.setitem(GIVEN, one, _on_a_gpu(given) if given is not X else X)
        torch.set_autocast_enabled("cuda", True)
        try:
            found = tensors(result(name, _on_a_gpu(X)))
        except (RuntimeError, TypeError, AssertionError):
            pytest.skip("it is not given what it needs")
        finally:
            torch.set_autocast_enabled("cuda", False)
    assert found[0].dtype is torch.float32


@every("alias")
def test_memory_is_shared(name: str) -> None:
    held = X.clone()
    for one in tensors(result(name, held)):
        assert one.untyped_storage().data_ptr() == held.untyped_storage().data_ptr()


@every("compare", "finite-test", "truth")
def test_results_are_truth_values(name: str) -> None:
    if name == "contains":
        pytest.skip("Python's own")
    assert result(name).dtype == torch.bool


@pytest.mark.parametrize("name", sorted(having("real-part")))
def test_results_of_complex_numbers_are_real(name: str) -> None:
    function = {"as_real": torch.view_as_real, "irfft": torch.fft.irfft}.get(name) or getattr(torch, name)
    assert not function(torch.complex(X, Y)).is_complex()


@every("running")
def test_a_result_has_as_many_elements_as_the_operand_and_begins_as_it_does(name: str) -> None:
    found = getattr(torch, name)(X, 0)
    assert found.shape == X.shape
    assert torch.equal(found[0], X[0])


def _is_too_large(name: str, size: float) -> bool:
    """Whether operands of a size, of either sign, give what is not finite."""
    others = [name for name, one in GIVEN.items() if one is Y]
    with pytest.MonkeyPatch.context() as patch:
        for sign in (1, -1):
            for other in others:
                patch.setitem(GIVEN, other, sign * size * X)
            if not torch.isfinite(result(name, size * X)).all():
                return True
    return False


@every("grow")
def test_large_operands_give_what_is_too_large(name: str) -> None:
    assert _is_too_large(name, torch.finfo(torch.float32).max)
    assert not _is_too_large(name, 1e3)


@every("exponential")
def test_operands_that_are_not_large_give_what_is_too_large(name: str) -> None:
    assert _is_too_large(name, 1e3)
    assert not _is_too_large(name, 10.0)


@every("whole")
def test_results_are_no_fractions(name: str) -> None:
    assert not result(name).is_floating_point()


@every("floating")
def test_results_of_whole_numbers_are_floating(name: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = result(name, torch.ones(3, 3, dtype=torch.int64))
    except (RuntimeError, NotImplementedError, TypeError):
        pytest.skip("torch takes no whole numbers there")
    assert all(one.is_floating_point() for one in tensors(found))


def _sort_of(name: str, dtype: Any, patch: pytest.MonkeyPatch) -> Any:
    """The type of the result where all operands hold numbers of a type; None where torch takes no such there."""
    for one, given in list(GIVEN.items()):
        if isinstance(given, torch.Tensor) and given.is_floating_point():
            own = given.detach().to(dtype, copy=True)  # some operations write into their operand
            patch.setitem(GIVEN, one, own.requires_grad_(given.requires_grad and dtype.is_floating_point))
        elif isinstance(given, float) and not dtype.is_floating_point:
            patch.setitem(GIVEN, one, 1)
    patch.setitem(GIVEN, "tensors", [GIVEN["x1"], GIVEN["x2"]])
    patch.setitem(globals(), "X", GIVEN["x1"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = tensors(result(name, X))[0]
            return found.dtype if isinstance(found, torch.Tensor) else None
    except (RuntimeError, TypeError, AttributeError, AssertionError, IndexError, ValueError):
        return None


# Whose type is that of another operand, of a value, or whatever is asked for.
TYPED = having("default-type", "cast") | {"full", "tensor"}


@pytest.mark.parametrize(
    "name", sorted(filter(canonical, {one for _, one in spellings()} - TYPED - NOT_OF_TORCH))
)
def test_the_sort_of_the_operand_is_kept_where_the_table_says_so(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fractions, whole = (_sort_of(name, dtype, monkeypatch) for dtype in (torch.float32, torch.int32))
    if whole in (None, torch.bool) or fractions is None or not fractions.is_floating_point:
        pytest.skip("it takes no whole numbers, or makes nothing but them")
    keeps = not whole.is_floating_point
    assert (name in having("keep-sort"), name in having("floating", "real")) == (keeps, not keeps)


@every("real")
@pytest.mark.parametrize("dtype", [torch.int64, torch.complex64])
def test_results_of_whole_and_of_complex_numbers_are_real_fractions(name: str, dtype: Any) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = result(name, torch.ones(3, 3, dtype=dtype))
    except (RuntimeError, NotImplementedError, TypeError, IndexError, ValueError):
        pytest.skip("torch takes no such numbers there")
    assert all(one.is_floating_point() for one in tensors(found))


@every("add-up")
def test_of_nothing_the_result_is_zero(name: str) -> None:
    operation = getattr(torch.linalg if name == "vector_norm" else torch, name)
    assert operation(torch.empty(0)).item() == 0


@every("commute")
def test_operands_may_change_places(name: str) -> None:
    function = getattr(torch, name)
    assert torch.equal(function(X, Y), function(Y, X))


@every("linear")
def test_a_straight_line_beside_numbers(name: str) -> None:
    function, numbers = getattr(torch, name), () if name == "neg" else (2.0,)
    between = (function(X, *numbers) + function(Y, *numbers)) / 2
    torch.testing.assert_close(function((X + Y) / 2, *numbers), between)


@every("odd")
def test_zero_where_the_operand_is_and_there_alone(name: str) -> None:
    assert result(name, torch.zeros(1)).item() == 0
    assert bool((result(name, X) != 0).all())
    assert bool((result(name, -X) != 0).all())


@every("singular")
def test_a_pole_at_zero(name: str) -> None:
    x = torch.zeros(1, requires_grad=True)
    value = result(name, x)
    value.backward()
    assert x.grad is not None
    assert not (torch.isfinite(value).all() and torch.isfinite(x.grad).all())


@every("raise")
def test_a_lower_end_is_put(name: str) -> None:
    assert bool((result(name, X - 9) > X - 9).all())


@every("several")
def test_results_are_several(name: str) -> None:
    assert isinstance(result(name), tuple)


@every("like")
def test_the_shape_is_that_of_the_operand(name: str) -> None:
    assert result(name).shape == X.shape


@every("draw")
def test_two_draws_differ(name: str) -> None:
    assert not torch.equal(result(name), result(name))


@every("weigh")
def test_what_is_minus_infinity_weighs_nothing(name: str) -> None:
    held = X.clone()
    held[0, 0] = -torch.inf
    assert torch.isfinite(result(name, held)).all()


@every("multiply")
def test_a_zero_among_many_factors_makes_their_product_zero(name: str) -> None:
    held = X.clone()
    held[-1, 0] = 0
    assert (result(name, held) == 0).sum() == 1


@every("distance")
def test_a_distance_is_zero_between_equals(name: str) -> None:
    function = getattr(torch.nn.functional, name)
    assert function(X, X).item() == 0
    assert function(X, Y).item() > 0


@every("elementwise", "along", "saves-result", "saves-operand")
def test_autograd_keeps_what_the_table_says(name: str) -> None:
    node = tensors(result(name, X.clone().requires_grad_()))[0].grad_fn
    kept = {field for field in dir(node) if isinstance(getattr(node, field), torch.Tensor)}
    assert (name in having("saves-result")) == bool({"_saved_result", "_saved_result0"} & kept), kept
    assert (name in having("saves-operand")) == bool({"_saved_self", "_saved_input", "_saved_mat1"} & kept), (
        kept
    )
