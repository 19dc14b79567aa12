"""Read what the processes of a command recorded, and join it by site."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import torch

from stablelint.runtime.verify.outcome import FunctionShown
from stablelint.runtime.verify.replay.values import Call, Context, available, decode, read_tensors

_KEPT = 24


@dataclass(slots=True)
class Captured:
    """All that was recorded of one site, over all processes."""

    calls: int = 0
    bad_results: int = 0
    bad_gradients: int = 0
    grad_calls: int = 0  # of which a gradient could be asked
    raised: int = 0  # evaluations that did not come to their end
    compiled: int = 0  # times that the site was compiled or traced, where probes step aside
    dtypes: set[str] = field(default_factory=set)
    extents: dict[str, dict[str, float | None]] = field(default_factory=dict)
    kept: list[Call] = field(default_factory=list)
    function: FunctionShown | None = None


@dataclass(frozen=True, slots=True)
class Losses:
    """The watch over losses and steps of one process."""

    losses: tuple[float, ...]
    stride: int
    backwards: int
    steps: int
    first_bad_loss: int | None
    first_bad_step: int | None
    bad_losses: int
    bad_steps: int
    events: tuple[str, ...]

    @property
    def bad(self) -> bool:
        """Whether a loss or a gradient at a step was not finite."""
        return bool(self.bad_losses or self.bad_steps)

    @property
    def first_bad(self) -> int | None:
        """The step of the first loss, else of the first gradient, that was not finite."""
        return self.first_bad_loss if self.first_bad_loss is not None else self.first_bad_step

    def to_json(self) -> dict[str, object]:
        """For the `rerun` part of the output; a loss that is not finite is null."""
        return {
            "steps": self.steps,
            "backwards": self.backwards,
            "nonfinite_losses": self.bad_losses,
            "nonfinite_steps": self.bad_steps,
            "first_nonfinite_loss": self.first_bad_loss,
            "first_nonfinite_step": self.first_bad_step,
            "stride": self.stride,
            "losses": [value if math.isfinite(value) else None for value in self.losses],
        }


@dataclass(frozen=True, slots=True)
class Records:
    """What one run of the command left behind."""

    sites: Mapping[str, Captured]
    losses: Losses | None
    overhead: float | None  # share of the run's time that the probes took
    processes: int
    damaged: tuple[str, ...] = ()


def read_records(folder: Path) -> Records:
    """Everything in `folder`; a damaged record is named and left out."""
    sites: dict[str, Captured] = {}
    spent = elapsed = 0.0
    damaged = []
    paths = sorted(folder.glob("capture-*.json"))
    for path in paths:
        try:
            document, tensors = read_tensors(path)
            data = cast(dict[str, object], document)
            for target in cast(list[dict[str, object]], data["targets"]):
                _join(sites.setdefault(str(target["id"]), Captured()), target, tensors)
            spent += float(cast(float, data["spent"]))
            elapsed += float(cast(float, data["elapsed"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            damaged.append(path.name)
    for path in sorted(folder.glob("function-*.json")):
        try:
            for name, shown in json.loads(path.read_text(encoding="utf-8")).items():
                sites.setdefault(name, Captured()).function = FunctionShown(**shown)
        except (OSError, ValueError, TypeError, AttributeError):
            damaged.append(path.name)
    for captured in sites.values():
        del captured.kept[_KEPT:]  # each process has put its most telling calls first
    return Records(sites, _losses(folder), spent / elapsed if elapsed else None, len(paths), tuple(damaged))


def _join(captured: Captured, target: Mapping[str, object], tensors: Mapping[str, torch.Tensor]) -> None:
    captured.calls += cast(int, target["calls"])
    captured.bad_results += cast(int, target["bad_results"])
    captured.bad_gradients += cast(int, target["bad_gradients"])
    captured.grad_calls += cast(int, target["grad_calls"])
    captured.raised += cast(int, target["raised"])
    captured.compiled += cast(int, target["compiled"])
    captured.dtypes |= set(cast(list[str], target["dtypes"]))
    for name, extent in cast(dict[str, dict[str, float | None]], target["extents"]).items():
        captured.extents[name] = _wider(captured.extents.get(name), extent)
    for item in cast(list[dict[str, object]], target["kept"]):
        operands = cast(dict[str, object], item["operands"])
        inputs = cast(dict[str, object], item["inputs"])
        needs = cast(list[str] | None, item["needs"])
        captured.kept.append(
            Call(
                {name: decode(value, tensors) for name, value in operands.items()},
                Context(
                    None if item["autocast"] is None else str(item["autocast"]),
                    available(str(item["device"])),
                    bool(item["grad"]),
                ),
                str(item["origin"]),
                bool(item["sliced"]),
                {name: decode(value, tensors) for name, value in inputs.items()},
                str(item["line"]),
                None if needs is None else frozenset(needs),
            )
        )


def _wider(
    one: Mapping[str, float | None] | None, other: Mapping[str, float | None]
) -> dict[str, float | None]:
    if one is None:
        return dict(other)
    joined: dict[str, float | None] = {}
    for key in other:
        values = [value for value in (one.get(key), other[key]) if value is not None]
        if not values:
            joined[key] = None
        elif key in ("min", "smallest"):
            joined[key] = min(values)
        elif key == "max":
            joined[key] = max(values)
        else:
            joined[key] = sum(values)
    return joined


def _losses(folder: Path) -> Losses | None:
    """The series of the process that took most steps."""
    found = [series for path in sorted(folder.glob("series-*.json")) if (series := _series(path))]
    return max(found, key=lambda series: (series.backwards, series.steps), default=None)


def _series(path: Path) -> Losses | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Losses(
            **{**data, "losses": tuple(map(float, data["losses"])), "events": tuple(data["events"])}
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
