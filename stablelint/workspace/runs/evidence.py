"""What `stablelint verify` has proved and seen, for `fix --verified` and for `check`. None of this imports torch.

Verdicts lie in `.stablelint/verdicts.json` under the project's root, by the content of the site: its enclosing
function, its expression, its fix. What runs have seen lies beside them in `observations.json`:

    {"version": 1, "observations": [{"code", "function", "expression", "origin", "calls", "least", "greatest",
                                     "zeros", "verdict", "witness"}, …]}

An observation belongs to a finding of the same code and expression in a function of the same text, wherever that
stands: an edit of the function, be it of one character, makes it another one, of which nothing has been seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablelint.diagnostic import Diagnostic, Reason
from stablelint.records import dataclass, field
from stablelint.syntax.content import digest

if TYPE_CHECKING:
    from stablelint.catalog import Catalog
    from stablelint.runtime.verify.outcome import Report, SiteReport

FILE, _ROWS = "observations.json", "observations"
Proof = tuple[str, str, tuple[str, ...]]
Key = tuple[str, str, str]
"""Code, function, expression."""
# What a run has seen outweighs whatever the text suggests: the facts of the text seldom sum up to 5.
DECISIVE = 8.0
# A call that was made for it shows what can happen, not what does: it only orders what is else alike.
SUGGESTIVE = 1.0
_FAILING = frozenset({"confirmed", "reachable"})
_SOUND = frozenset({"not-reproduced", "latent"})  # the program's own operands have not failed
_ENOUGH = 3  # calls of the program that are told of


def proof_of(diagnostic: Diagnostic) -> Proof:
    """What tells a fix apart within its file: rule, expression, and what is written."""
    contents = () if diagnostic.fix is None else tuple(edit.content for edit in diagnostic.fix.edits)
    return diagnostic.code, bare(diagnostic.expression), contents


def proved(
    source: bytes, diagnostics: Sequence[Diagnostic], root: Path, catalog: Catalog
) -> frozenset[Proof]:
    """The fixes, among those of the diagnostics, that a verification has passed.

    The diagnostics must still carry their proposals and belong to `source` as it is now.
    """
    from stablelint.runtime.verify.builder import build_site
    from stablelint.runtime.verify.output.evidence import fingerprint, read_verdicts

    verdicts = read_verdicts(root)
    if not verdicts:
        return frozenset()
    passed = set()
    for item in diagnostics:
        if item.fix is None:
            continue
        site = build_site(item, catalog.rules.get(item.code), source)
        verdict = verdicts.get(fingerprint(site, source, item.fix.edits))
        if verdict is not None and verdict.passing:
            passed.add(proof_of(item))
    return frozenset(passed)


@dataclass(frozen=True, slots=True)
class Observation:
    """What runs have seen of one site.

    `function` is the digest of the text of the enclosing function (`function_digest`), `expression` the finding's
    own. `origin` is "command" where a program's own calls were seen, "made" where calls were made for it: those
    show what can happen, not what does. `least`, `greatest` and `zeros` are of all finite elements of each operand,
    by its text. `verdict` is that of `verify` ("confirmed", "handled", "not-reproduced" …), `witness` a call of the
    function that goes wrong, to be pasted, with what it gives behind a `#`.
    """

    code: str
    function: str
    expression: str
    origin: str
    calls: int
    verdict: str
    least: Mapping[str, float] = field(default_factory=dict)
    greatest: Mapping[str, float] = field(default_factory=dict)
    zeros: Mapping[str, int] = field(default_factory=dict)
    witness: str | None = None

    @property
    def key(self) -> Key:
        """What an observation is found by."""
        return self.code, self.function, self.expression


def function_digest(text: str) -> str:
    """Names a function by its text."""
    return digest(text.encode())


def bare(expression: str) -> str:
    """An expression without what its layout adds."""
    return "".join(expression.split())


def read_observations(root: Path) -> dict[Key, Observation]:
    """The observations below a project's root by their keys; a missing or damaged file holds none."""
    from stablelint.runtime.verify.output.evidence import stored

    rows: list[dict[str, Any]] = stored(root, FILE, _ROWS, [])
    try:
        return {each.key: each for each in (Observation(**row) for row in rows)}
    except TypeError:
        return {}


def write_observations(root: Path, report: Report, sources: Mapping[str, bytes]) -> None:
    """Add what a verification has seen to what is there. Raises OSError.

    A later run of the program replaces an earlier observation of the same text; calls that were made for it never
    replace what a program's own calls have shown.
    """
    held = read_observations(root)
    origin = "command" if report.command else "made"
    for each in observed(report.sites, sources, origin):
        earlier = held.get(each.key)
        if earlier is None or origin == "command" or earlier.origin == "made":
            held[each.key] = each
    from stablelint.runtime.verify.output.evidence import store

    rows = [asdict(held[key]) for key in sorted(held)]
    store(root, FILE, _ROWS, rows)


def observed(
    reports: Iterable[SiteReport], sources: Mapping[str, bytes], origin: str
) -> Iterable[Observation]:
    """An observation for each site that was evaluated in this verification."""
    from stablelint.runtime.verify.output.evidence import enclosing_text

    for report in reports:
        if report.known or not report.calls:
            continue
        site = report.site
        text = enclosing_text(sources[site.filename], site.span.start.row)
        if text is None:
            continue
        extents = report.extents.items()
        yield Observation(
            site.code,
            function_digest(text),
            bare(site.expression),
            origin=origin,
            calls=report.calls,
            verdict=str(report.verdict),
            least={name: low for name, extent in extents if (low := extent.get("min")) is not None},
            greatest={name: high for name, extent in extents if (high := extent.get("max")) is not None},
            zeros={
                name: int(zeros) for name, extent in extents if (zeros := extent.get("zeros")) is not None
            },
            witness=report.witness.line if report.witness is not None else None,
        )


def are_observed(root: Path) -> bool:
    """Whether runs have left anything under `root` that could change a finding."""
    return (root / ".stablelint" / FILE).is_file()


def informed(
    findings: Iterable[Diagnostic], root: Path, sources: Mapping[str, bytes] | None = None
) -> Iterator[Diagnostic]:
    """The findings with what `verify` has kept of them under `root`; unchanged where it has kept nothing."""
    if not are_observed(root):
        yield from findings
        return
    from stablelint.analysis.evidence.score import with_reason

    known = read_observations(root)
    expressions = {(code, expression) for code, _, expression in known}
    for item in findings:
        seen, expression = None, bare(item.expression)
        if (item.code, expression) in expressions:  # else there is no need to parse anything
            seen = known.get((item.code, function_digest(_around(item, sources or {})), expression))
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
