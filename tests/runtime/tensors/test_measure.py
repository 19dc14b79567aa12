"""Tensors are found in whatever lists and dictionaries of a program hold."""

from typing import Any

import torch

from stablelint.runtime.tensors.measure import tensors_in


def test_tensors_come_in_the_order_in_which_they_are_held() -> None:
    a, b, c = torch.zeros(1), torch.ones(2), torch.ones(3)
    held = {"first": [a, (b, "text")], "second": {"third": c, "again": a}}
    assert [id(one) for one in tensors_in(held)] == [id(one) for one in (a, b, c, a)]
    assert [id(one) for one in tensors_in(b)] == [id(b)]
    assert list(tensors_in("text")) == []


def test_what_holds_itself_is_looked_through_once() -> None:
    held: dict[str, Any] = {"tensor": torch.ones(1)}
    held["self"] = held
    held["list"] = [held, torch.zeros(1)]
    assert [float(one) for one in tensors_in(held)] == [1.0, 0.0]


def test_deep_nesting_is_no_hindrance() -> None:
    held: list[Any] = [torch.ones(1)]
    for _ in range(3000):
        held = [held]
    assert len(list(tensors_in(held))) == 1
