"""The batch of a step that went wrong: which sample an element belongs to, and how far the batch is from the others."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

import torch

from stablelint.runtime.guard.reporting.event import BatchStats
from stablelint.runtime.guard.tensors.batches import compared, numbers_of, parts_of
from stablelint.runtime.guard.watching.watch import Watch
from stablelint.runtime.program.carried import written_names
from stablelint.runtime.program.frames import step_frames
from stablelint.runtime.program.region import Region, region_at
from stablelint.syntax.names import is_name

_OTHERS = 64


def distance(watch: Watch, frame: FrameType) -> tuple[BatchStats, ...]:
    """The step's batch beside others: those that its loader gave before, or that stand in the same list."""
    for one, region in _loops(frame):
        names = {**one.f_globals, **one.f_locals}
        source = _source_of(region, names)
        present = _present(region, one)
        if isinstance(source, list | tuple) and present is not None:
            own = {id(tensor) for _, tensor in parts_of(present)}
            others = [
                item for item in source[:_OTHERS] if not own & {id(tensor) for _, tensor in parts_of(item)}
            ]
            return compared(present, map(numbers_of, others))
    state = watch.state
    return compared(state.fetched, state.batches.before) if state.fetched is not None else ()


def terms(
    watch: Watch, frame: FrameType, index: Sequence[int], shape: Sequence[int]
) -> tuple[tuple[str, int], ...]:
    """An index into a result in terms of the batch: its sample, and its token where the batch has tokens."""
    batch = [tensor for _, tensor in parts_of(watch.state.fetched)] or _inputs(frame)
    sizes = Counter(one.shape[0] for one in batch if one.dim())
    if not sizes or not index:
        return ()
    size = sizes.most_common(1)[0][0]
    lengths = [
        one.shape[1] for one in batch if one.dim() == 2 and len(one) == size and not one.is_floating_point()
    ]
    length = lengths[0] if lengths else None
    if shape[0] == size:
        token = (("token", index[1]),) if len(shape) > 1 and shape[1] == length else ()
        return (("sample", index[0]), *token)
    if length and shape[0] == size * length:
        return (("sample", index[0] // length), ("token", index[0] % length))
    return ()


def _inputs(frame: FrameType) -> list[torch.Tensor]:
    """Tensors that the frame of the loop holds and that no parameter has a part in."""
    held = next((one.f_locals.values() for one, _ in _loops(frame)), ())
    return [value for value in held if isinstance(value, torch.Tensor) and not value.requires_grad]


def _loops(frame: FrameType) -> Iterator[tuple[FrameType, Region]]:
    for one in step_frames(frame):
        region = region_at(one.f_code, one.f_lasti)
        if region is not None and region.loop is not None:
            yield one, region


def _source_of(region: Region, names: dict[str, Any]) -> object:
    """What the loop goes over, where that is a name, counted or not."""
    source = region.loop.iter if isinstance(region.loop, ast.For) else None
    if isinstance(source, ast.Call) and is_name(source.func, "enumerate"):
        source = source.args[0] if source.args else None
    return names.get(source.id) if isinstance(source, ast.Name) else None


def _present(region: Region, frame: FrameType) -> object:
    """The item of the pass under way, as far as its names still hold it."""
    target = region.target
    if target is None or written_names([target]) & region.rebound:
        return None
    if isinstance(target, ast.Name):
        return frame.f_locals.get(target.id)
    names = [part.id for part in getattr(target, "elts", []) if isinstance(part, ast.Name)]
    return tuple(frame.f_locals.get(name) for name in names) or None
