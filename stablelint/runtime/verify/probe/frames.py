"""Evaluations of targets that are under way, kept apart by thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

_DEPTH = 16  # of open frames of one target in one thread
_THREADS = 64  # whose open frames are remembered when they end


@dataclass(slots=True)
class Frame:
    """One evaluation of a target that is under way."""

    outer: Frame | None
    operands: dict[int, object] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    depth: int = 0


class _Own(threading.local):
    """The open frames of a thread, and the operands that it has computed ahead, by the number of the target."""

    def __init__(self, begin: Callable[[dict[int, Frame | None]], None]) -> None:
        self.frames: dict[int, Frame | None] = {}
        self.earlier: dict[int, dict[int, object]] = {}
        begin(self.frames)


class Frames:
    """The open frames of all threads, by the number of the target."""

    def __init__(self) -> None:
        self._threads: list[dict[int, Frame | None]] = []
        self._own = _Own(self._begin)

    def _begin(self, own: dict[int, Frame | None]) -> None:
        unfinished = [frames for frames in self._threads if any(frames.values())]
        self._threads = [*unfinished[-_THREADS:], own]

    def open(self, number: int, extra: Sequence[object]) -> Frame:
        """Open a frame, and read the operands that are not evaluated within the target.

        `extra` alternates the index of an operand and a function that yields it.
        """
        frames = self._own.frames
        outer = frames.get(number)
        depth = outer.depth + 1 if outer is not None else 0
        if depth > _DEPTH:  # expressions that raised left their frames behind: no recursion is that deep
            outer, depth = None, 0
        frame = Frame(outer, dict(self._own.earlier.get(number, {})), depth=depth)
        frames[number] = frame
        for index, thunk in zip(extra[::2], extra[1::2], strict=True):
            if isinstance(index, int) and callable(thunk):
                try:
                    frame.operands[index] = thunk()
                except Exception:  # what does not exist here is an operand that is not captured
                    continue
        return frame

    def hold(self, number: int, index: int, value: object) -> None:
        """Note an operand that is computed in a statement before the target; the latest one counts."""
        self._own.earlier.setdefault(number, {})[index] = value

    def see(self, number: int, index: int, value: object) -> None:
        """Note an operand of the innermost open frame of the target."""
        frame = self._own.frames.get(number)
        if frame is not None and index not in frame.seen:
            frame.seen.add(index)
            frame.operands[index] = value

    def close(self, number: int, frame: Frame) -> None:
        """The frame's evaluation has come to its end."""
        self._own.frames[number] = frame.outer

    def clear(self) -> None:
        """Forget all frames that are open."""
        for frames in self._threads:
            frames.clear()

    def left_open(self) -> Iterator[tuple[int, Frame]]:
        """Innermost frames that were never closed, for their evaluation raised; they are closed now."""
        for frames in self._threads:
            for number, frame in list(frames.items()):
                frames[number] = None
                if frame is not None:
                    yield number, frame
