"""`--baseline`: what is known of an old code base is neither reported nor touched."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from stablelint.cli.options import Session
from stablelint.workspace.result import CheckResult


def add_baseline(group: argparse._ArgumentGroup, wish: str) -> None:
    """The options on the file of known findings; without them, the settings name it."""
    group.add_argument("--baseline", metavar="FILE", help=f"{wish} only what this file does not hold")
    group.add_argument(
        "--no-baseline",
        dest="baseline",
        action="store_const",
        const="",
        help=f"{wish} also what the baseline holds",
    )


def known_findings(options: argparse.Namespace, session: Session) -> frozenset[str]:
    """The fingerprints of the baseline that is to be used; none where there is no baseline.

    Raises ConfigError where the file cannot be used.
    """
    named = session.settings.baseline if options.baseline is None else options.baseline
    if not named:
        return frozenset()
    from stablelint.workspace import baseline

    return baseline.read(os.fspath(named))


def without_known(result: CheckResult, known: frozenset[str], session: Session) -> CheckResult:
    """The result without the known findings, which it counts."""
    if not known:
        return result
    from stablelint.workspace import baseline

    new = tuple(baseline.unknown(known, result.diagnostics, os.fspath(session.settings.root)))
    return replace(result, diagnostics=new, baselined=len(result.diagnostics) - len(new))
