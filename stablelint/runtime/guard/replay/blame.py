"""From a non-finite loss or gradient back to the operation that is at fault.

The first non-finite value is not always the fault: an attention mask holds -inf on purpose, and `log(0) *
0` is NaN because of the logarithm. So the search walks back from where the damage shows. A NaN leads to the
NaN that fed it; a NaN made from infinities leads to the operation that computed the infinity, unless the
program wrote that infinity itself (a mask), in which case the operation that turned it into NaN is at
fault.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from stablelint.runtime.guard.replay.trace import Fault, Source
from stablelint.runtime.tensors.measure import Badness


@dataclass(frozen=True, slots=True)
class Root:
    """Where the damage starts: an operation, or a tensor that was handed to it already damaged."""

    fault: Fault  # the operation at fault, or the first that consumed `leaf`
    leaf: torch.Tensor | None
    nan: bool  # a NaN is what was looked for at the root


def find_root(faults: Iterable[Fault]) -> Root | None:
    """The earliest root of any of the given damaged results, or None when there is none."""
    roots = _roots([(fault, bool(fault.result & Badness.NAN)) for fault in faults])
    if not roots:
        return None
    return min(roots, key=lambda root: root.fault.index)


def _roots(starts: list[tuple[Fault, bool]]) -> list[Root]:
    found: list[Root] = []
    seen: set[tuple[int, bool]] = set()
    pending = list(starts)
    while pending:
        fault, wants_nan = pending.pop()
        if (fault.index, wants_nan) in seen:
            continue
        seen.add((fault.index, wants_nan))
        onward = _feeding(fault, wants_nan)
        if not onward:
            found.append(Root(fault, None, wants_nan))
        for source, next_nan in onward:
            if source.fault is not None and source.fault is not fault:
                pending.append((source.fault, next_nan))
            else:
                found.append(Root(fault, source.leaf, next_nan))
    return found


def _feeding(fault: Fault, wants_nan: bool) -> list[tuple[Source, bool]]:
    if wants_nan:
        damaged = [source for source in fault.sources if source.badness & Badness.NAN]
        if damaged:
            return [(source, True) for source in damaged]
    infinite = [source for source in fault.sources if source.badness & Badness.INF]
    if not wants_nan:
        return [(source, False) for source in infinite]
    return [(source, False) for source in infinite if not _is_mask(source)]


def _is_mask(source: Source) -> bool:
    """Whether the program itself put an infinity there: a literal, or a tensor of -inf from outside."""
    if source.fault is None:
        return _is_given(source)
    return all(map(_is_written, _roots([(source.fault, False)])))


def _is_written(root: Root) -> bool:
    if root.leaf is None:
        return root.fault.written
    held = [source for source in root.fault.sources if source.leaf is root.leaf]
    return len(held) == 1 and _is_given(held[0])


def _is_given(source: Source) -> bool:
    """Whether a tensor from outside is a mask: nothing but -inf is not finite in it, and it is not trained."""
    leaf = source.leaf
    return source.badness == Badness.NEGATIVE and not (
        leaf is not None and leaf.requires_grad and leaf.is_leaf
    )
