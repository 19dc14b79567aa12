"""What was seen in one function: the material of matchers, sequences and proofs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.matching.sites import Collector, Index, Site
from stablelint.analysis.proof.replacement import Replacement, replacements


@dataclass
class Review:
    """What was seen in one function, or in the body of the file: the material of matchers."""

    module: ModuleInfo
    collector: Collector
    index: Index
    of_body: bool = False
    words: frozenset[str] | None = None  # of the sieve; None where nothing was sieved

    @property
    def sites(self) -> list[Site]:
        """Sites of pattern rules, in no order."""
        return list(self.collector.sites.values())

    @property
    def open(self) -> list[Site]:
        """Sites whose obligations may not hold."""
        return [s for s in self.sites if s.judgement.status.is_open]

    @cached_property
    def replacements(self) -> list[Replacement]:
        """Operations that replace some elements of another's result."""
        return replacements(v for v, _ in self.collector.observed)
