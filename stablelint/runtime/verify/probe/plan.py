"""What the parent tells the processes of the command, as a JSON file named by an environment variable."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

VARIABLE = "STABLELINT_PROBE_PLAN"


@dataclass(frozen=True, slots=True)
class Target:
    """One place to watch: rows and columns count from 1, in characters; `operands` are texts."""

    id: str
    start: tuple[int, int]
    end: tuple[int, int]
    operands: tuple[str, ...]
    search: Mapping[str, object] | None = None  # operand -> ways in which a search pushes it
    measured: int | None = None  # of how many operands, from the first, ranges are kept (None: all)


@dataclass(frozen=True, slots=True)
class Plan:
    """Targets and replaced texts by resolved path, and where the records go."""

    folder: str
    targets: Mapping[str, tuple[Target, ...]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(
        default_factory=dict
    )  # path -> file that holds the text to run instead
    capture: bool = True
    search_seconds: float = 0.0
    fixes: Mapping[str, str] = field(default_factory=dict)  # site -> file that holds the text with its fix
    definitions: str = ""  # the folder of whose files only what they define is wanted
    search_parameters: float = 0.0  # how far a search may move each parameter, as a share of its norm

    def write(self, path: Path) -> None:
        """Write the plan as JSON."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @property
    def files(self) -> frozenset[str]:
        """The resolved paths of all files that are not run as they stand on disk."""
        return frozenset(self.targets) | frozenset(self.sources)

    def defines(self, name: str) -> bool:
        """Whether only what the file of this resolved path defines is wanted."""
        own = bool(self.definitions) and name.startswith(os.path.join(self.definitions, ""))
        return own and "site-packages" not in name


def read_plan(path: str) -> Plan:
    """The plan that `Plan.write` wrote."""
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    data["targets"] = {name: tuple(map(_target, items)) for name, items in data["targets"].items()}
    return Plan(**data)


def _target(item: dict[str, Any]) -> Target:
    fields: dict[str, Any] = {
        key: tuple(each) if isinstance(each, list) else each for key, each in item.items()
    }
    return Target(**fields)


def current_plan() -> Plan | None:
    """The plan this process was started under; None when there is none, or it cannot be read."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    try:
        return read_plan(path)
    except (OSError, ValueError, KeyError, TypeError):
        return None
