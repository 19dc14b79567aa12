"""Short programs, checked with the rules that are shipped."""

from collections.abc import Iterable
from pathlib import Path
from textwrap import dedent

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog
from stablelint.codemod.propose import propose_all
from stablelint.diagnostic import Diagnostic, FileReport, Status

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


def findings(code: str, imports: str = IMPORTS) -> list[Diagnostic]:
    """What may go wrong, whatever its confidence, by the rules that are on by default."""
    return [d for d in report(code, imports).diagnostics if d.code in _ENABLED]


def open_(code: str, imports: str = IMPORTS) -> list[tuple[int, str]]:
    """(line, rule) of each obligation that is not met; lines count from the first of `code`."""
    return _places(findings(code, imports), imports)


def unmet(code: str, imports: str = IMPORTS) -> list[tuple[int, str]]:
    """As `open_`, of the rules that state what an operand must be; not of those that speak of lost digits."""
    return [(line, rule) for line, rule in open_(code, imports) if _has_contract(rule)]


def violated(code: str, imports: str = IMPORTS) -> list[tuple[int, str]]:
    """(line, rule) of operands that known operations make bad."""
    return _with_status(Status.VIOLATED, findings(code, imports), imports)


def unguarded(code: str, imports: str = IMPORTS) -> list[tuple[int, str]]:
    """(line, rule) of operands of which nothing is known, and which nothing guards."""
    return _with_status(Status.UNGUARDED, findings(code, imports), imports)


def assumed(code: str, imports: str = IMPORTS) -> list[tuple[int, str]]:
    """(line, rule) of obligations that are met as long as something keeps the value it starts with."""
    return _with_status(Status.ASSUMED, report(code, imports).discharged, imports)


def proved(code: str, imports: str = IMPORTS) -> list[tuple[int, str]]:
    """(line, rule) of obligations that are met whatever callers do."""
    return _with_status(Status.DISCHARGED, report(code, imports).discharged, imports)


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


def found_in_package(folder: Path, code: str, file: str = "layers.py") -> set[str]:
    """The rules that speak of a program that stands in a package, so that others may call its functions."""
    path = folder / "package" / file
    path.parent.mkdir(parents=True)
    for parent in (path.parent, folder / "package"):
        (parent / "__init__.py").touch()
    found = check_source((IMPORTS + body(code)).encode(), str(path), CATALOG, AnalysisOptions(root=folder))
    return {diagnostic.code for diagnostic in found.diagnostics}


def function(line: str, *, before: str = "", parameters: str = "x: torch.Tensor") -> str:
    """A function of one tensor that returns `line`; `before` are the statements ahead of it."""
    lines = [*dedent(before).strip("\n").splitlines(), f"return {line}"]
    return f"def f({parameters}):\n" + "".join(f"    {text}\n" for text in lines if text)


def _written(item: Diagnostic) -> tuple[str, ...] | str | None:
    if item.fix is None:
        return item.fix_withheld
    return tuple(" ".join(edit.content.split()) for edit in item.fix.edits if edit.content.strip())


def _has_contract(code: str) -> bool:
    rule = CATALOG.rules[code]
    return rule.has_contract


def _with_status(status: Status, shown: Iterable[Diagnostic], imports: str) -> list[tuple[int, str]]:
    return _places([d for d in shown if d.status is status], imports)


def _places(shown: list[Diagnostic], imports: str) -> list[tuple[int, str]]:
    above = imports.count("\n")
    return [(d.span.start.row - above, d.code) for d in shown]
