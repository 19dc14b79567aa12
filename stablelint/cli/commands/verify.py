"""`stablelint verify`: proves each fix by running it."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stablelint.cli.exit_codes import CLEAN, FAILED, FINDINGS
from stablelint.cli.handover import add_report, hand_over
from stablelint.cli.options import (
    Session,
    add_paths,
    add_running,
    add_selection,
    number,
    open_session,
    print_problems,
    request_of,
)
from stablelint.config import ConfigError
from stablelint.diagnostic import Diagnostic, Edit, Fix, Level, Passes, Problem
from stablelint.records import dataclass, field
from stablelint.runtime.plain import plural
from stablelint.syntax.content import NOTEBOOK
from stablelint.workspace.pipeline import check
from stablelint.workspace.session import Request

if TYPE_CHECKING:
    from stablelint.runtime.verify.outcome import Report, SiteReport
    from stablelint.runtime.verify.site import Site
    from stablelint.runtime.verify.verify import Verification

NAME = "verify"
HELP = "prove each fix by running it: on what a command computes, or on calls that are made for it"
TAKES_COMMAND = True


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options; what stands behind `--` is the command to run."""
    parser.usage = "stablelint verify [OPTIONS] [PATH ...] [-- COMMAND ...]"
    parser.epilog = "for example: stablelint verify src/ -- python train.py"
    add_paths(parser)
    add_selection(parser, "possible (default): verify every finding; likely: likely ones")
    group = parser.add_argument_group("verifying")
    group.add_argument(
        "--timeout",
        type=number(float, lambda time: 0 < time < float("inf"), "a number of seconds above 0"),
        metavar="SECONDS",
        help="stop the command after this long",
    )
    group.add_argument(
        "--search",
        type=float,
        default=5.0,
        metavar="SECONDS",
        help="time to search for failing inputs (default: 5)",
    )
    group.add_argument("--no-rerun", action="store_true", help="do not run the command again with the fixes")
    group.add_argument("--again", action="store_true", help="verify anew what an earlier run has settled")
    output = add_report(parser, "plots")
    output.add_argument(
        "--emit-tests", metavar="FOLDER", help="write a regression test for each fix that is proved"
    )
    output.add_argument(
        "--quiet", "-q", action="store_true", help="no progress, and hide the command's output"
    )
    add_running(parser)


def run(options: argparse.Namespace) -> int:
    """Verifies and reports. Returns 0 when no fix was refused, 1 otherwise, 2 when the work was cut short."""
    _look_for_obstacles(options)
    session = open_session(options, list(options.paths) or ["."])
    request = request_of(options, session)
    result = check(list(options.paths) or ["."], request, session.catalog)
    if result.problems and not result.files:  # the command may take hours, and would tell nothing
        raise ConfigError([*session.problems, *result.problems])
    level = Level(options.level or Level.POSSIBLE)  # a run decides what the text cannot
    found = _collected(session, request, _in_files(result.at(level), options.quiet), result.received)
    problems = [*session.problems, *result.problems, *found.problems]
    code = _verified(options, session, found, problems, result.files)
    print_problems(problems)
    return FAILED if problems else code


def _in_files(items: Sequence[Diagnostic], quiet: bool) -> list[Diagnostic]:
    """The findings that do not stand in a notebook, which no command runs; says how many do."""
    kept = [item for item in items if not item.filename.endswith(NOTEBOOK)]
    if len(kept) < len(items) and not quiet:
        left = plural(len(items) - len(kept), "finding")
        print(f"stablelint: leaving out {left} in notebooks: only files are verified", file=sys.stderr)
    return kept


def _look_for_obstacles(options: argparse.Namespace) -> None:
    """Raises ConfigError for what is known to be missing before any file is read."""
    from stablelint.runtime.process.launch import CommandNotFoundError, command_line
    from stablelint.runtime.release import installed_too_old

    if any(importlib.util.find_spec(name) is None for name in ("torch", "safetensors")):
        hint = "pip install 'stablelint[verify]'"
        raise ConfigError([Problem("verify runs code: it needs torch and safetensors", hint=hint)])
    if (reason := installed_too_old()) is not None:
        raise ConfigError([Problem(reason)])
    try:
        if options.command:
            command_line(options.command)
    except CommandNotFoundError as error:
        raise ConfigError([Problem(str(error))]) from None


@dataclass(slots=True)
class _Found:
    """Sites, and what is needed to apply any choice of their fixes."""

    sites: list[Site] = field(default_factory=list)
    sources: dict[str, bytes] = field(default_factory=dict)
    fixes: dict[str, tuple[str, Fix]] = field(default_factory=dict)  # site -> file and fix
    prints: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def compose(self, chosen: frozenset[str]) -> Mapping[str, bytes]:
        """The files with the chosen fixes, by resolved path; raises OSError where one of them cannot be read."""
        from stablelint.codemod.text.edits import apply_edits, select

        fixes = [self.fixes[site] for site in sorted(chosen & self.fixes.keys())]
        taken, _ = select([whole for _, whole in fixes])
        files: dict[str, list[Edit]] = {}
        for name, fix in (fixes[index] for index in taken):
            for path, edits in fix.by_file(name).items():
                files.setdefault(path, []).extend(edits)
        texts = {path: self.sources.get(path) or Path(path).read_bytes() for path in files}
        return {os.path.realpath(path): apply_edits(texts[path], edits) for path, edits in files.items()}


def _collected(
    session: Session, request: Request, diagnostics: Sequence[Diagnostic], received: Mapping[str, Passes]
) -> _Found:
    """Findings again, this time with the bindings of their rules, which the cache does not keep."""
    from stablelint.codemod.propose import propose_all
    from stablelint.workspace.examine import Examiner
    from stablelint.workspace.notebooks import python_at

    found = _Found()
    examiner = Examiner(request.scope, session.catalog, received)
    wanted = {(item.filename, item.code, item.span) for item in diagnostics}
    for name in sorted({item.filename for item in diagnostics}):
        try:
            source = Path(name).read_bytes()
        except OSError as error:
            found.problems.append(Problem(f"cannot read this file: {error.strerror}", name))
            continue
        found.sources[name] = source
        report = examiner.report(source, name)
        here = [item for item in report.diagnostics if (item.filename, item.code, item.span) in wanted]
        for diagnostic in propose_all(source, here, python_at):
            _add(found, diagnostic, session, source)
    return found


def _add(found: _Found, diagnostic: Diagnostic, session: Session, source: bytes) -> None:
    from stablelint.runtime.verify.builder import build_site
    from stablelint.runtime.verify.output.evidence import fingerprint

    site = build_site(diagnostic, session.catalog.rules.get(diagnostic.code), source)
    found.sites.append(site)
    found.prints[site.id] = fingerprint(site, source, diagnostic.fix.edits if diagnostic.fix else ())
    if diagnostic.fix is not None:
        found.fixes[site.id] = (diagnostic.filename, diagnostic.fix)


def _verified(
    options: argparse.Namespace, session: Session, found: _Found, problems: list[Problem], files: int
) -> int:
    from stablelint.runtime.process.launch import CommandNotFoundError
    from stablelint.runtime.verify.site import Request as VerifyRequest
    from stablelint.runtime.verify.verify import verify

    # a page and a test are made of operands, and of those of an earlier run nothing is kept but the verdict
    anew = options.again or options.html or options.emit_tests
    known = [] if anew else _known(session, found, options.command)
    settled = {report.site.id for report in known}
    request = VerifyRequest(
        [site for site in found.sites if site.id not in settled],
        found.sources,
        options.command,
        found.compose,
        found.prints,
        timeout=options.timeout,
        search_seconds=max(options.search, 0.0),
        rerun=not options.no_rerun,
        curves=bool(options.html),
        files=files,
        output=os.open(os.devnull, os.O_WRONLY) if options.quiet else sys.stderr.fileno(),
    )

    def progress(message: str) -> None:
        if not options.quiet:
            print(f"stablelint: {message}", file=sys.stderr, flush=True)

    try:
        verification = verify(request, progress, known)
    except CommandNotFoundError as error:
        problems.append(Problem(str(error)))
        return FAILED
    report = verification.report
    problems += [Problem(text) for text in report.problems]
    _written(options, session, verification, found, problems)
    return _code(report)


def _known(session: Session, found: _Found, command: Sequence[str]) -> list[SiteReport]:
    """Sites whose verdict an earlier run has settled, for the same text of their function and of the fix."""
    from stablelint.runtime.verify.outcome import SiteReport
    from stablelint.runtime.verify.output.evidence import read_verdicts

    verdicts = read_verdicts(Path(session.settings.root), ran=bool(command))
    note = "known from an earlier run; --again verifies it anew"
    return [
        SiteReport(site, verdict, notes=(note,), fingerprint=name, known=True)
        for site in found.sites
        if (verdict := verdicts.get(name := found.prints[site.id])) is not None and verdict.settles
    ]


def _code(report: Report) -> int:
    refused = any(site.verdict.refuses for site in report.sites)
    failed = report.rerun is not None and report.rerun.passed is False
    if report.incomplete:
        return FAILED
    return FINDINGS if refused or failed else CLEAN


def _written(
    options: argparse.Namespace,
    session: Session,
    verification: Verification,
    found: _Found,
    problems: list[Problem],
) -> None:
    """Evidence, tests, report and page; a file that cannot be written is a problem, and the others are."""
    from stablelint.runtime.verify.output.evidence import write_verdicts
    from stablelint.workspace.runs.evidence import write_observations

    report = verification.report
    root = Path(session.settings.root)
    try:
        write_verdicts(root, report.sites, options.command)
        write_observations(root, report, found.sources)
    except OSError as error:
        problems.append(Problem(f"cannot store the verdicts: {error.strerror}", error.filename))
    if options.emit_tests:
        from stablelint.runtime.verify.output.emit_tests import emit_tests

        try:
            emit_tests(Path(options.emit_tests), verification)
        except OSError as error:
            problems.append(Problem(f"cannot write tests: {error.strerror}", error.filename))
    from stablelint.report.verify import html, text

    forms = partial(text.render, report), partial(html.render, report)
    problems += hand_over(options, report.as_json(), *forms, sys.stdout)
