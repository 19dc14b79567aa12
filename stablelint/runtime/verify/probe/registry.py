"""Which targets the loaded modules hold, by the numbers of their probes. Never imports torch."""

from __future__ import annotations

from dataclasses import dataclass, field

from stablelint.runtime.verify.probe.plan import Plan
from stablelint.runtime.verify.probe.transform import Placed


@dataclass(frozen=True, slots=True)
class Function:
    """A function that holds targets: its file and its name."""

    path: str
    name: str


@dataclass(slots=True, weakref_slot=True)
class Registry:
    """Filled as modules are loaded."""

    plan: Plan | None = None
    placed: dict[int, Placed] = field(default_factory=dict)
    functions: dict[int, Function] = field(default_factory=dict)
    loaded: set[str] = field(default_factory=set)


REGISTRY = Registry()
