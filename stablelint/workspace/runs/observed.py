"""What runs have seen of findings, as evidence of them: confirmed to the top, sound to the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from stablelint.diagnostic import Diagnostic, Reason

if TYPE_CHECKING:
    from stablelint.workspace.runs.evidence import Observation

# What a run has seen outweighs whatever the text suggests: the facts of the text seldom sum up to 5.
DECISIVE = 8.0
# A call that was made for it shows what can happen, not what does: it only orders what is else alike.
SUGGESTIVE = 1.0
_FAILING = frozenset({"confirmed", "reachable"})
_SOUND = frozenset({"not-reproduced", "latent"})  # the program's own operands have not failed
_ENOUGH = 3  # calls of the program that are told of


def are_observed(root: Path) -> bool:
    """Whether runs have left anything under `root` that could change a finding."""
    return (root / ".stablelint" / "observations.json").is_file()


def informed(
    findings: Iterable[Diagnostic], root: Path, sources: Mapping[str, bytes] | None = None
) -> Iterator[Diagnostic]:
    """The findings with what `verify` has kept of them under `root`; unchanged where it has kept nothing."""
    if not are_observed(root):
        yield from findings
        return
    from stablelint.analysis.evidence.score import with_reason
    from stablelint.workspace.runs.evidence import read_observations

    known = read_observations(root)
    for item in findings:
        seen = None
        if known.mention(item.code, item.expression):  # else there is no need to parse anything
            seen = known.of(item.code, _around(item, sources or {}), item.expression)
        reason = None if seen is None else reason_of(seen)
        yield item if reason is None else with_reason(item, reason)


def reason_of(seen: Observation) -> Reason | None:
    """What an observation says for or against a finding; None where it decides nothing."""
    if seen.verdict in _FAILING:
        witness = f": {seen.witness}" if seen.witness else ""
        if seen.origin == "command":
            return Reason("seen_failing", f"a run has confirmed it{witness}", DECISIVE)
        return Reason("called_failing", f"a call that was made for it goes wrong{witness}", SUGGESTIVE)
    if seen.verdict == "handled":
        return Reason("seen_handled", "a run has seen the code around it deal with it", -DECISIVE)
    if seen.verdict not in _SOUND or seen.origin != "command" or seen.calls < _ENOUGH:
        return None
    if not seen.least or any(seen.zeros.values()):
        return None
    ranges = ", ".join(
        f"`{name}` in [{low:.3g}, {seen.greatest.get(name, low):.3g}]" for name, low in seen.least.items()
    )
    return Reason("seen_sound", f"{seen.calls:,} evaluations in a run had {ranges}", -DECISIVE)


def _around(item: Diagnostic, sources: Mapping[str, bytes]) -> str:
    """The text of the function around a finding; none where it can no longer be read."""
    from stablelint.runtime.verify.output.evidence import enclosing_text

    try:
        data = sources.get(item.filename) or Path(item.filename).read_bytes()
    except OSError:
        return ""
    return enclosing_text(data, item.span.start.row) or ""
