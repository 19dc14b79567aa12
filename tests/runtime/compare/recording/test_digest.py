"""What is kept of a tensor."""

import pytest

torch = pytest.importorskip("torch")
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from stablelint.runtime.compare.recording.digest import result_of  # noqa: E402

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool]


@given(st.lists(st.integers(0, 200), min_size=2, max_size=20), st.sampled_from(DTYPES), st.randoms())
def test_another_order_has_another_digest_and_the_same_bag(
    numbers: list[int], dtype: object, chance: object
) -> None:
    one = torch.tensor(numbers).to(dtype)
    order = list(range(len(numbers)))
    chance.shuffle(order)  # type: ignore[attr-defined]
    other = one[order]
    first, second = result_of(one), result_of(other)
    assert (first.digest == second.digest) is torch.equal(one, other)
    assert first.statistics.bag == second.statistics.bag


def test_the_order_in_memory_does_not_count() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert result_of(x) == result_of(x.t().contiguous().t())


def test_zeros_of_two_signs_are_two_numbers() -> None:
    assert result_of(torch.zeros(1)) != result_of(-torch.zeros(1))


def test_statistics_are_told_where_they_are_asked_for() -> None:
    assert result_of(torch.ones(2), statistics=False).statistics is None
    told = result_of(torch.tensor([-3.0, 4.0])).statistics
    assert (told.norm, told.low, told.high, told.sample) == (5.0, -3.0, 4.0, (-3.0, 4.0))


@pytest.mark.parametrize("make", [lambda: torch.ones(2, device="meta"), lambda: torch.ones(2, 2).to_sparse()])
def test_what_has_no_elements_in_memory_has_no_digest(make: object) -> None:
    assert result_of(make()) is None  # type: ignore[operator]
