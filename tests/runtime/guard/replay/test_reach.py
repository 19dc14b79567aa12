"""Everything that the names of a step lead to, and nothing that goes on elsewhere."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from stablelint.runtime.guard.replay.reach import within_reach


def reached(held: Any) -> list[Any]:
    """What the name `held` leads to, and whatever else this frame does."""
    return [value for _, value in within_reach([sys._getframe()])]


def test_items_attributes_and_classes_are_reached() -> None:
    inner: list[int] = [1]

    class Shared:
        state: ClassVar = {"inner": inner}

    assert any(one is inner for one in reached(SimpleNamespace(shared=[Shared()])))


def test_a_task_is_left_alone() -> None:
    async def wait(kept: list[int]) -> list[int]:
        return kept

    async def look() -> None:
        kept = [1]
        task = asyncio.ensure_future(wait(kept))
        found = reached({"task": task, "after": [2]})
        assert [2] in found
        assert not any(one is task for one in found)
        await task

    asyncio.run(look())


def test_the_runner_of_the_tests_is_left_alone(request: pytest.FixtureRequest) -> None:
    found = reached([request, request.config])
    assert not any(one is request or one is request.config for one in found)


def test_an_object_whose_attributes_cannot_be_read_is_no_end() -> None:
    class Hidden:
        __dict__ = property(lambda self: 1 / 0)  # type: ignore[assignment]

    last = [3]
    assert any(one is last for one in reached([Hidden(), last]))
