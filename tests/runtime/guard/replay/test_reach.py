"""Everything that the names of a step lead to, and nothing that goes on elsewhere."""

import asyncio
import queue
import sys
import threading
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from stablelint.runtime.guard.replay.kept import within_reach


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


@pytest.mark.parametrize("beside", [True, False])
def test_what_another_thread_may_be_served_by_is_left_alone(beside: bool) -> None:
    waiting: queue.Queue[int] = queue.Queue()
    thread = threading.Thread(target=waiting.get)
    if beside:
        thread.start()
    found = reached({"holder": SimpleNamespace(queue=waiting), "after": [2]})
    waiting.put(1)
    if beside:
        thread.join()
    assert [2] in found
    others = threading.active_count() > 1  # the runner of the tests may have one
    assert any(one is waiting.queue for one in found) != (beside or others)


def test_an_object_whose_attributes_cannot_be_read_is_no_end() -> None:
    class Hidden:
        __dict__ = property(lambda self: 1 / 0)  # type: ignore[assignment]

    last = [3]
    assert any(one is last for one in reached([Hidden(), last]))


def test_what_is_near_is_reached_before_a_large_store_is_walked() -> None:
    near: list[int] = [1]
    store = [[[number] for number in range(300)] for _ in range(300)]
    found = reached(SimpleNamespace(store=store, near=[near]))
    assert len(found) <= 1 << 15
    assert any(one is near for one in found)
    assert not all(any(one is row[0] for one in found) for row in (store[0], store[-1]))
