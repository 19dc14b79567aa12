"""What `stablelint verify` has proved, as `stablelint fix --verified` asks for it.

The verdicts lie in `.stablelint/verdicts.json` under the project's root, by the content of the site: its
enclosing function, its expression, its fix. None of this imports torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stablelint.diagnostic import Diagnostic

if TYPE_CHECKING:
    from stablelint.catalog import Catalog

Proof = tuple[str, str, tuple[str, ...]]


def proof_of(diagnostic: Diagnostic) -> Proof:
    """What tells a fix apart within its file: rule, expression, and what is written."""
    contents = () if diagnostic.fix is None else tuple(edit.content for edit in diagnostic.fix.edits)
    return diagnostic.code, "".join(diagnostic.expression.split()), contents


def proved(
    source: bytes, diagnostics: Sequence[Diagnostic], root: Path, catalog: Catalog
) -> frozenset[Proof]:
    """The fixes, among those of the diagnostics, that a verification has passed.

    The diagnostics must still carry their proposals and belong to `source` as it is now.
    """
    from stablelint.runtime.verify.builder import build_site
    from stablelint.runtime.verify.evidence import fingerprint, read_verdicts

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
