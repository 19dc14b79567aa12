"""What the processes of a command are told of its probes, and where these stand. Never imports torch."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from stablelint.runtime.process import start

PROGRAM = os.path.join(os.path.realpath(__file__).partition(os.path.join("", "runtime", ""))[0], "")


@dataclass(frozen=True, slots=True)
class Target:
    """One place to watch: rows and columns count from 1, in characters; `operands` are texts."""

    id: str
    start: tuple[int, int]
    end: tuple[int, int]
    operands: tuple[str, ...]
    measured: int | None = None  # of how many operands, from the first, ranges are kept (None: all)


@dataclass(frozen=True, slots=True)
class Plan:
    """Targets and replaced texts by resolved path, and where the records go."""

    folder: str
    targets: Mapping[str, tuple[Target, ...]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)  # path -> file with the text to run instead
    search_seconds: float = 0.0
    fixes: Mapping[str, str] = field(default_factory=dict)  # site -> file that holds the text with its fix
    tests: tuple[str, ...] = ()  # of a suite of pytest's those that are run (none: all)
    definitions: str = ""  # the folder of whose files only what they define is wanted

    @property
    def files(self) -> frozenset[str]:
        """The resolved paths of all files that are not run as they stand on disk."""
        return frozenset(self.targets) | frozenset(self.sources)

    def defines(self, name: str) -> bool:
        """Whether only what the file of this resolved path defines is wanted."""
        own = bool(self.definitions) and name.startswith(os.path.join(self.definitions, ""))
        return own and "site-packages" not in name and not name.startswith(PROGRAM)

    def for_processes(self) -> start.Plan:
        """The plan under which every process of a command has these probes."""
        probe = __package__
        return start.Plan(
            self.folder, child=f"{probe}.watch", early=f"{probe}.install:install", options=asdict(self)
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """A target that was found in the tree, under the number by which probes call it."""

    number: int
    target: Target
    function: int | None = None
    overwrites: bool = False  # evaluating the target may change its operands: they are copied before


@dataclass(frozen=True, slots=True)
class Function:
    """A function that holds targets: its file and its name."""

    path: str
    name: str


@dataclass(slots=True, weakref_slot=True)
class Registry:
    """Which targets the loaded modules hold, by the numbers of their probes; filled as they are loaded."""

    plan: Plan | None = None
    placed: dict[int, Placed] = field(default_factory=dict)
    functions: dict[int, Function] = field(default_factory=dict)
    # Of files that are loaded for their definitions.
    trees: dict[str, ast.Module] = field(default_factory=dict)


REGISTRY = Registry()


def plan_of(plan: start.Plan) -> Plan:
    """The probes of a plan that `Plan.for_processes` made."""
    options = dict(plan.options)
    targets = {name: tuple(map(_target, items)) for name, items in options.pop("targets").items()}
    return Plan(targets=targets, **options)


def _target(item: Mapping[str, Any]) -> Target:
    fields: dict[str, Any] = {k: tuple(each) if isinstance(each, list) else each for k, each in item.items()}
    return Target(**fields)
