"""What a verification is asked to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stablelint.runtime.verify.site import Site

Compose = Callable[[frozenset[str]], Mapping[str, bytes]]  # ids of sites -> texts of files with their fixes


@dataclass(frozen=True, slots=True)
class Request:
    """What to verify. `sources` holds the text of each site's file, `fingerprints` its name by content.

    `settled` are the ids, known to `compose`, of fixes that were verified before: the reruns have them too.
    """

    sites: Sequence[Site]
    sources: Mapping[str, bytes]
    command: Sequence[str] = ()
    compose: Compose | None = None
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None
    timeout: float | None = None
    search_seconds: float = 5.0
    rerun: bool = True
    settled: frozenset[str] = frozenset()
    curves: bool = False
    files: int = 0  # that were read for sites
    output: int | None = None  # file descriptor for the command's output
