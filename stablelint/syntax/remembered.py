"""Answers about the nodes of one file, kept until the next one: kept longer, they would hold its tree in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import ParamSpec, TypeVar, cast

_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")

_FORGET: list[Callable[[], None]] = []


def remembered(function: Callable[_Asked, _Answer]) -> Callable[_Asked, _Answer]:
    """The function, which answers the same question of the same nodes once for each file that is read."""
    kept = cache(function)
    _FORGET.append(kept.cache_clear)
    return cast("Callable[_Asked, _Answer]", kept)


def forget() -> None:
    """Lets go of all answers, and of the nodes that they are about."""
    for clear in _FORGET:
        clear()
