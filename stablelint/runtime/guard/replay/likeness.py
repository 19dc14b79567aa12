"""What shows that a replay repeated the step: the same values in the same names, and the same random numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType, MappingProxyType

import torch

from stablelint.runtime.program.frames import step_frames
from stablelint.runtime.tensors.measure import tensors_in
from stablelint.runtime.tensors.state import RandomState, current_state, moved

_FRAMES = 6
_NAMED = 4


@dataclass(frozen=True, slots=True)
class Moment:
    """What the user's frames hold, from the innermost out, and where the generators stand."""

    frames: tuple[tuple[CodeType, Mapping[str, object]], ...]
    random: RandomState


@dataclass(frozen=True, slots=True)
class Likeness:
    """Names whose values a replay computed anew: those that hold finite numbers, and the first that differs."""

    compared: tuple[str, ...] = ()
    differing: str | None = None
    same_random: bool = True
    drew: bool = False  # random numbers, so that where the generators stand says something
    # Names that differ, and were computed before a step that is not repeated.
    outdated: frozenset[str] = frozenset()

    @property
    def holds(self) -> bool:
        """Whether something finite was compared, and nothing differs."""
        return self.differing is None and self.same_random and (bool(self.compared) or self.drew)


def moment_at(frame: FrameType | None) -> Moment:
    """This moment in the user frames from `frame` outwards."""
    return Moment(names_at(frame), current_state())


def names_at(frame: FrameType | None) -> tuple[tuple[CodeType, Mapping[str, object]], ...]:
    """What the user frames from `frame` outwards hold."""
    frames = step_frames(frame, _FRAMES) if frame is not None else ()
    return tuple((one.f_code, dict(one.f_locals)) for one in frames)


def likeness(
    recorded: Moment,
    replayed: Moment,
    begun: RandomState | None,
    renamed: Mapping[CodeType, CodeType],
    before_step: Mapping[CodeType, Mapping[str, object]] = MappingProxyType({}),
) -> Likeness:
    """Compare a replay that began with `begun`; `renamed` maps the replayed code to what it was cut from.

    A NaN is as good as another, and proves nothing: only names with a finite element count as compared. `before_step`
    is what the replay's frames held at a step of another optimizer, whose parameters are those behind it throughout.
    """
    compared: list[str] = []
    outdated: set[str] = set()
    differing: str | None = None
    for (code, before), (other, now) in zip(recorded.frames, replayed.frames, strict=False):
        if renamed.get(other, other) is not code:
            break
        for name, same, finite in _compared(before, now):
            if not same and before_step.get(other, {}).get(name) is now[name]:
                outdated.add(name)
            elif not same:
                differing = differing or name
            elif finite and name not in compared:
                compared.append(name)
    apart = moved(recorded.random, replayed.random)
    # Of a generator from which the replay drew nothing, what was drawn before or behind it is no part of it.
    drawn = moved(begun, replayed.random) if begun is not None else [True] * len(apart)
    same = not any(one and other for one, other in zip(drawn, apart, strict=True))
    return Likeness(
        tuple(compared[:_NAMED]), differing, same, any(drawn) and begun is not None, frozenset(outdated)
    )


def _compared(before: Mapping[str, object], now: Mapping[str, object]) -> Iterator[tuple[str, bool, bool]]:
    for name, value in now.items():
        if name.startswith("__") or before.get(name) is value:
            continue
        old, new = list(tensors_in(before.get(name))), list(tensors_in(value))
        if not new or len(old) != len(new):
            continue
        pairs = [(one, two) for one, two in zip(old, new, strict=True) if one is not two and _is_plain(two)]
        if pairs:
            finite = any(bool(torch.isfinite(two.detach()).any()) for _, two in pairs)
            yield name, all(_equal(*pair) for pair in pairs), finite


def _is_plain(tensor: torch.Tensor) -> bool:
    return tensor.layout is torch.strided and not tensor.is_meta and not hasattr(tensor, "to_local")


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    one, other = one.detach(), other.detach()
    if torch.equal(one, other):
        return True
    return bool(((one == other) | ((one != one) & (other != other))).all())
