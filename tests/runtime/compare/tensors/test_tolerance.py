"""Two tensors, and two sets of them, within tolerances."""

import math

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from stablelint.runtime.compare.tensors.tolerance import (  # noqa: E402
    Tolerances,
    compare_named,
    compare_tensors,
    ulps_between,
)

FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=True)


@settings(max_examples=100)
@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=8), st.booleans())
def test_it_agrees_with_assert_close(pairs: list[tuple[float, float]], equal_nan: bool) -> None:
    first, second = (torch.tensor(values) for values in zip(*pairs, strict=True))
    try:
        torch.testing.assert_close(first, second, equal_nan=equal_nan)
        close = True
    except AssertionError:
        close = False
    assert compare_tensors("x", first, second, Tolerances(equal_nan=equal_nan)).same is close


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(1, 50))
def test_ulps_count_the_numbers_between(value: float, steps: int) -> None:
    first = torch.tensor([value])
    second = first
    for _ in range(steps):
        second = torch.nextafter(second, torch.tensor(math.inf))
    if torch.isfinite(second):
        distance = ulps_between(first, second)
        assert distance is not None
        assert distance.item() == steps


def test_the_worst_elements_have_their_places_and_values() -> None:
    first = torch.zeros(3, 4)
    second = first.clone()
    first[2, 1], second[2, 1] = 2.0, 1.0
    found = compare_tensors("x", first, second, Tolerances())
    assert not found.same
    assert found.absolute is not None
    assert (found.absolute.error, found.absolute.index) == (1.0, (2, 1))
    assert (found.absolute.first, found.absolute.second) == (2.0, 1.0)
    assert (found.beyond, found.identical, found.ulps.error) == (1, 11, 2**23)


def test_a_chunk_border_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    first = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
    second = first + 1e-4 * torch.randn(5, 7, generator=torch.Generator().manual_seed(1))
    whole = compare_tensors("x", first, second, Tolerances())
    monkeypatch.setattr("stablelint.runtime.compare.tensors.tolerance._CHUNK", 4)
    assert compare_tensors("x", first, second, Tolerances()) == whole


def test_another_element_type_is_a_difference_that_is_still_measured() -> None:
    found = compare_tensors("x", torch.ones(2), torch.ones(2).half(), Tolerances())
    assert not found.same
    assert found.problem == "dtype float32 and float16"
    assert found.beyond == 0


def test_names_on_one_side_and_values_that_are_no_tensors() -> None:
    first = {"a": torch.ones(1), "step": 3, "tag": "x", "gone": torch.ones(1)}
    second = {"a": torch.ones(1), "step": 4, "tag": "x", "new": torch.ones(1)}
    found = compare_named(first, second, Tolerances())
    assert (found.missing, found.extra, found.same) == (("gone",), ("new",), False)
    assert {one.name: one.same for one in found.tensors} == {"a": True, "step": False, "tag": True}
