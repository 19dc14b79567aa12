"""An engine and a catalogue that tests of the workspace can steer.

`torch.log(x)` is a likely SL101 whose fix is `torch.log1p(x)`; `torch.exp(x)` a possible SL201; `torch.sqrt`
is discharged. The words CRASH, RAISE, DEEP and ENDLESS in a file make the engine do just that.
"""

import os
import re
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

import stablelint.catalog
from stablelint.catalog.page import sections
from stablelint.diagnostic import (
    Applicability,
    Diagnostic,
    Edit,
    FileReport,
    Fix,
    Level,
    Position,
    Problem,
    Severity,
    Span,
    Status,
    Step,
)

_CALL = re.compile(r"torch\.(log|exp|sqrt)\((.*?)\)")
_RULES = {
    "log": ("SL101", "unguarded-log"),
    "exp": ("SL201", "unguarded-exp"),
    "sqrt": ("SL103", "unguarded-sqrt"),
}


@dataclass(frozen=True)
class FakeRule:
    code: str
    name: str
    enabled: bool = True
    summary: str = "Summary."
    text: str = "# page\n"

    @property
    def sections(self) -> dict[str, str]:
        return sections(self.text)


@dataclass(frozen=True)
class FakeCatalog:
    rules: dict[str, FakeRule] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    digest: str = "digest"


@dataclass(frozen=True)
class FakeOptions:
    root: Path | None = None
    discharged: bool = False
    level: Level = Level.POSSIBLE
    edited: Mapping[str, bytes] = field(default_factory=dict)
    focus: object = None


CATALOG = FakeCatalog({code: FakeRule(code, name) for code, name in _RULES.values()})


def check_source(
    source: bytes, filename: str, catalog: object, options: FakeOptions, told: object = None
) -> FileReport:
    text = source.decode()
    if "CRASH" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "RAISE" in text:
        raise ValueError("the engine is broken")
    if "DEEP" in text:
        raise RecursionError
    while "ENDLESS" in text:
        pass
    if "BAD SYNTAX" in text:
        return FileReport(filename, problems=(Problem("invalid syntax", filename, Position(1, 5)),))
    found = []
    for row, line in enumerate(text.split("\n"), 1):
        code = line.split("#")[0]
        found += [_diagnostic(match, row, filename) for match in _CALL.finditer(code)]
    discharged = tuple(item for item in found if item.status is Status.DISCHARGED)
    return FileReport(
        filename,
        diagnostics=tuple(item for item in found if item.status is not Status.DISCHARGED),
        discharged=discharged if options.discharged else (),
        lines=text.count("\n"),
        discharge_counts={"clamp": len(discharged)} if discharged else {},
        consulted=_consulted(text),
    )


def _consulted(text: str) -> dict[str, str]:
    from stablelint.syntax.content import digest

    return {path: digest(Path(path).read_bytes()) for path in re.findall(r"# reads (\S+)", text)}


def _diagnostic(match: re.Match[str], row: int, filename: str) -> Diagnostic:
    operation, operand = match[1], match[2]
    span = Span(Position(row, match.start() + 1), Position(row, match.end() + 1))
    code, name = _RULES[operation]
    fix = None
    if operation == "log":
        name_span = Span(Position(row, match.start() + 7), Position(row, match.start() + 10))
        fix = Fix(Applicability.SAFE, "use log1p", (Edit(name_span, "log1p"),))
    return Diagnostic(
        code=code,
        name=name,
        filename=filename,
        span=span,
        message=f"{operation} of `{operand}` can fail",
        severity=Severity.ERROR,
        status=Status.DISCHARGED if operation == "sqrt" else Status.VIOLATED,
        level=Level.POSSIBLE if operation == "exp" else Level.LIKELY,
        confidence=0.2 if operation == "exp" else 0.9,
        expression=match[0],
        derivation=(Step("it comes from here", span),),
        fix=fix,
        discharged_by="clamp" if operation == "sqrt" else None,
    )


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts the fake in the place of the real engine and catalogue, in this process and its forks."""
    engine = ModuleType("stablelint.analysis.check")
    vars(engine).update(
        check_source=check_source, AnalysisOptions=FakeOptions, compile_patterns=lambda catalog: None
    )
    monkeypatch.setitem(sys.modules, "stablelint.analysis.check", engine)
    catalog = ModuleType("stablelint.catalog")
    vars(catalog).update(
        __path__=stablelint.catalog.__path__, load_catalog=lambda **_: CATALOG, Catalog=FakeCatalog
    )
    monkeypatch.setitem(sys.modules, "stablelint.catalog", catalog)
