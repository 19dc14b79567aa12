"""`stablelint check`: the static pass."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from stablelint.cli.exit_codes import CLEAN, FAILED, FINDINGS
from stablelint.cli.options import (
    Session,
    add_baseline,
    add_paths,
    add_running,
    add_selection,
    add_stdin,
    context_of,
    known_findings,
    named_paths,
    open_session,
    print_problems,
    reads_stdin,
    reported,
    request_of,
    stdin_source,
    without_known,
)
from stablelint.config import OUTPUT_FORMATS, ConfigError
from stablelint.diagnostic import Diagnostic, Level, Problem
from stablelint.runtime.plain import plural
from stablelint.syntax.content import NOTEBOOK
from stablelint.workspace.notebooks import in_cells
from stablelint.workspace.pipeline import check, check_text
from stablelint.workspace.result import CheckResult
from stablelint.workspace.suppress import UNUSED_CODE

NAME = "check"
HELP = "find expressions that produce NaN or Inf; reads the code, never runs it"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    parser.usage = "stablelint check [OPTIONS] [PATH ...]"
    add_paths(parser)
    add_selection(
        parser,
        "likely (default): show likely findings in full, the others on a line each; possible: all in full",
    )
    output = parser.add_argument_group("output")
    output.add_argument("--output-format", choices=OUTPUT_FORMATS, help="default: full")
    output.add_argument(
        "--output-file", "-o", metavar="FILE", help="write the report to this file (`-`: standard output)"
    )
    output.add_argument("--statistics", action="store_true", help="count findings by rule")
    output.add_argument("--show-discharged", action="store_true", help="list what was proved safe, and how")
    output.add_argument("--quiet", "-q", action="store_true", help="no summary, no progress")
    output.add_argument(
        "--fail-on",
        choices=[level.value for level in Level],
        help="exit with 1 where there are findings of this level (default: likely)",
    )
    output.add_argument("--explain", action="store_true", help="explain the words that the findings use")
    output.add_argument("--watch", action="store_true", help="check again whenever a file changes")
    output.add_argument("--exit-zero", action="store_true", help="exit with 0 even if there are findings")
    adopting = parser.add_argument_group("adopting")
    adopting.add_argument("--add-noqa", action="store_true", help="silence the findings by `# noqa` comments")
    add_baseline(adopting, "report")
    adopting.add_argument("--write-baseline", metavar="FILE", help="record the findings in this file")
    add_running(parser)
    add_stdin(parser)


def run(options: argparse.Namespace) -> int:
    """Checks and reports. Returns the exit code."""
    if options.watch and not reads_stdin(options):
        from stablelint.cli.watch import watch

        return watch(lambda: reported(lambda: _run(options)), named_paths(options))
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    options.begun = time.monotonic()
    session = open_session(options, named_paths(options))
    result = _check(options, session)
    return _conclude(options, session, replace(result, problems=(*session.problems, *result.problems)))


def _check(options: argparse.Namespace, session: Session) -> CheckResult:
    from stablelint.cli.progress import ProgressLine

    progress = ProgressLine(options.quiet)
    request = request_of(options, session, discharged=options.show_discharged, progress=progress)
    if reads_stdin(options):
        if options.add_noqa:
            raise ConfigError([Problem("--add-noqa changes files: it cannot be used with `-`")])
        return check_text(*stdin_source(options), request, session.catalog)
    try:
        return check(named_paths(options), request, session.catalog)
    finally:
        progress.clear()


def _conclude(options: argparse.Namespace, session: Session, result: CheckResult) -> int:
    if options.add_noqa:
        return _add_noqa(replace(result, diagnostics=result.shown))
    if options.write_baseline:
        from stablelint.workspace import baseline

        root = os.fspath(session.settings.root)
        baseline.write(options.write_baseline, result.diagnostics, root)
        count = plural(len(result.diagnostics), "finding")
        print(f"Recorded {count} in {options.write_baseline}.", file=sys.stderr)
        print_problems(result.problems)
        return FAILED if result.problems else CLEAN
    result = without_known(result, known_findings(options, session), session)
    found, proved = in_cells(result.diagnostics), in_cells(result.discharged)
    _report(options, session, replace(result, diagnostics=found, discharged=proved))
    if result.problems:
        return FAILED
    failing = Level(options.fail_on) if options.fail_on else session.settings.fail_on
    return FINDINGS if result.at(failing) and not options.exit_zero else CLEAN


def _report(options: argparse.Namespace, session: Session, result: CheckResult) -> None:
    if options.output_file not in (None, "-"):
        target = Path(options.output_file)
        try:
            with target.open("w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(_text(options, session, result, terminal=False))
        except OSError as error:
            message = f"cannot write the report: {error.strerror}"
            raise ConfigError([Problem(message, options.output_file)]) from None
    else:
        sys.stdout.write(_text(options, session, result, terminal=True))
        sys.stdout.flush()
    print_problems(result.problems)


def _text(options: argparse.Namespace, session: Session, result: CheckResult, terminal: bool) -> str:
    from stablelint.report.context import Sources
    from stablelint.report.formats import render
    from stablelint.report.style import is_terminal

    output_format = options.output_format or session.settings.output_format
    read_along = terminal and is_terminal(sys.stdout)
    context = context_of(
        sys.stdout,
        plain=not terminal,
        sources=Sources(result.sources),
        rules=session.catalog.rules if output_format == "sarif" else {},
        summary=not options.quiet,
        terminal=read_along,
        seconds=time.monotonic() - options.begun if read_along else None,
        repository=_repository(output_format),
    )
    if options.statistics and result.diagnostics:
        from stablelint.report.summary import statistics

        return statistics(result.diagnostics, output_format, context)
    text = render(output_format, result, context)
    if options.explain and output_format == "full":
        from stablelint.report.terms import explained

        text += explained(result.diagnostics, context)
    return text


def _repository(output_format: str) -> str | None:
    """The folder that the reader of a report counts its paths from, where a job was started below it."""
    variable = {"github": "GITHUB_WORKSPACE", "gitlab": "CI_PROJECT_DIR"}.get(output_format)
    folder = os.environ.get(variable) if variable else None
    return os.path.realpath(folder) if folder else None


def _add_noqa(result: CheckResult) -> int:
    """Writes one comment in the line of each finding, and returns the exit code."""
    problems = list(result.problems)
    added = 0
    findings = [item for item in result.diagnostics if item.code != UNUSED_CODE]
    for filename, group in groupby(findings, key=lambda item: item.filename):
        found = list(group)
        problem = _silenced(filename, found)
        if problem is None:
            added += len(found)
        else:
            problems.append(problem)
    print(f"Silenced {plural(added, 'finding')} by `# noqa` comments.", file=sys.stderr)
    print_problems(problems)
    return FAILED if problems else CLEAN


def _silenced(filename: str, found: Iterable[Diagnostic]) -> Problem | None:
    from stablelint.codemod.text.apply import WriteRefused, write
    from stablelint.codemod.text.noqa import add_noqa as with_comments
    from stablelint.codemod.text.source import SourceError

    if filename.endswith(NOTEBOOK):
        return Problem("comments are not added to notebooks", filename)
    try:
        with open(filename, "rb") as file:
            before = file.read()
        write(Path(filename), before, with_comments(before, tuple(found)))
    except OSError as error:
        return Problem(f"cannot change this file: {error.strerror}", os.fspath(filename))
    except (WriteRefused, SourceError) as error:
        return Problem(str(error), os.fspath(filename))
    return None
