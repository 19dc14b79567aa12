"""Short programs, checked with the rules that are shipped."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog
from stablelint.codemod.propose import propose_all
from stablelint.diagnostic import Diagnostic, FileReport, Level

CATALOG = load_catalog(entry_points=False)
IMPORTS = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
_ENABLED = frozenset(code for code, rule in CATALOG.rules.items() if rule.enabled)


def report(code: str, imports: str = IMPORTS) -> FileReport:
    """The whole answer; the program must be one that can be read."""
    found = check_source(
        (imports + body(code)).encode(), "program.py", CATALOG, AnalysisOptions(discharged=True)
    )
    assert found.problems == ()
    return found


def body(code: str) -> str:
    """The program without its indentation and its first empty line."""
    return dedent(code).lstrip("\n")


def findings(code: str, level: Level = Level.LIKELY, imports: str = IMPORTS) -> list[Diagnostic]:
    """Findings of one level, of the rules that are on by default."""
    shown = report(code, imports).diagnostics
    return [d for d in shown if d.level is level and d.code in _ENABLED]


def likely(code: str, imports: str = IMPORTS) -> list[tuple[int, str]]:
    """(line, rule) of what is reported by default; lines count from the first of `code`."""
    return _places(findings(code, Level.LIKELY, imports), imports)


def possible(code: str, imports: str = IMPORTS) -> list[tuple[int, str]]:
    """(line, rule) of what is reported only where everything is asked for."""
    return _places(findings(code, Level.POSSIBLE, imports), imports)


def discharged_by(code: str, imports: str = IMPORTS) -> dict[str, set[str]]:
    """By rule: what proved its obligations."""
    proofs: dict[str, set[str]] = {}
    for diagnostic in report(code, imports).discharged:
        proofs.setdefault(diagnostic.code, set()).add(diagnostic.discharged_by or "")
    return proofs


def fixes(code: str) -> dict[str, tuple[str, ...] | str | None]:
    """By rule: what the fix puts in, or why there is none."""
    found = propose_all((IMPORTS + body(code)).encode(), report(code).diagnostics)
    return {item.code: _written(item) for item in found}


def levels(folder: Path, code: str, file: str = "layers.py") -> dict[str, set[Level]]:
    """Levels by rule of a program that stands in a package, so that others may call its functions."""
    path = folder / "package" / file
    path.parent.mkdir(parents=True)
    for parent in (path.parent, folder / "package"):
        (parent / "__init__.py").touch()
    found = check_source((IMPORTS + body(code)).encode(), str(path), CATALOG, AnalysisOptions(root=folder))
    shown: dict[str, set[Level]] = {}
    for diagnostic in found.diagnostics:
        shown.setdefault(diagnostic.code, set()).add(diagnostic.level)
    return shown


def function(line: str, *, before: str = "", parameters: str = "x: torch.Tensor") -> str:
    """A function of one tensor that returns `line`; `before` are the statements ahead of it."""
    lines = [*dedent(before).strip("\n").splitlines(), f"return {line}"]
    return f"def f({parameters}):\n" + "".join(f"    {text}\n" for text in lines if text)


def _written(item: Diagnostic) -> tuple[str, ...] | str | None:
    if item.fix is None:
        return item.fix_withheld
    return tuple(" ".join(edit.content.split()) for edit in item.fix.edits if edit.content.strip())


def _places(shown: list[Diagnostic], imports: str) -> list[tuple[int, str]]:
    above = imports.count("\n")
    return [(d.span.start.row - above, d.code) for d in shown]
