"""The rewrites that one `[[fix]]` of a page stands for: one for each of its targets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from stablelint.catalog.pattern import METAVARIABLE
from stablelint.catalog.rule import FixTemplate


def for_targets(fix: FixTemplate, targets: Sequence[str]) -> Iterator[FixTemplate]:
    """The fix, which is written for the first of its targets, for each of them."""
    for target in targets or ("",):
        yield _renamed(replace(fix, target=target or None), targets[0] if targets else "", target)


def _renamed(fix: FixTemplate, old: str, new: str) -> FixTemplate:
    """The fix with another metavariable in the place of the one that it is written for."""
    if old == new:
        return fix

    def named(found: re.Match[str]) -> str:
        return f"${new}{found[2] or ''}" if found[1] == old else found[0]

    when = tuple(re.sub(rf"\b{old}\b(?!\()", new, text) for text in fix.when)
    return replace(fix, replace=METAVARIABLE.sub(named, fix.replace), when=when)
