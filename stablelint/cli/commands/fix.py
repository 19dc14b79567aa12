"""`stablelint fix`: shows or writes the rewrites that remove findings."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from stablelint.cli.main import CLEAN, FAILED, FINDINGS
from stablelint.cli.options import (
    Session,
    add_paths,
    add_running,
    add_selection,
    open_session,
    print_problems,
)
from stablelint.cli.progress import ProgressLine
from stablelint.config import ConfigError
from stablelint.diagnostic import Problem
from stablelint.workspace.pipeline import Request, check

if TYPE_CHECKING:
    from stablelint.report.context import Context
    from stablelint.workspace.fixing import FileFix

NAME = "fix"
HELP = "show the rewrites that remove findings; --apply writes them"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    add_paths(parser)
    add_selection(parser)
    group = parser.add_argument_group("fixing")
    group.add_argument("--apply", action="store_true", help="write the files")
    group.add_argument("--diff", action="store_true", help="print a plain unified diff")
    group.add_argument(
        "--unsafe-fixes", action="store_true", default=None, help="also those that change values"
    )
    group.add_argument(
        "--verified", action="store_true", help="only those that `stablelint verify` has passed"
    )
    group.add_argument("--quiet", "-q", action="store_true", help="no summary, no progress")
    group.add_argument("--exit-zero", action="store_true", help="exit with 0 even if there are findings")
    add_running(parser)


def run(options: argparse.Namespace) -> int:
    """Shows or writes the fixes.

    Returns 0 if there is nothing to do, 1 if there are changes to make or, with --apply, findings left, 2 if
    the tool could not do its work.
    """
    try:
        session = open_session(options, list(options.paths) or ["."])
        return _fix(options, session)
    except ConfigError as error:
        print_problems(error.problems)
        return FAILED


def _fix(options: argparse.Namespace, session: Session) -> int:
    from stablelint.workspace.fixing import Wanted, fix_files

    progress = ProgressLine(options.quiet)
    request = Request(
        settings=session.settings,
        selection=session.selection,
        use_cache=not options.no_cache,
        jobs=options.jobs,
        progress=progress,
    )
    unsafe = session.settings.unsafe_fixes if options.unsafe_fixes is None else options.unsafe_fixes
    wanted = Wanted(session.selection, unsafe=unsafe, verified=options.verified)
    try:
        result = check(list(options.paths) or ["."], request, session.catalog)
        problems = [*session.problems, *result.problems]
        fixes: list[FileFix] = []
        for _, outcome in fix_files(sorted({item.filename for item in result.diagnostics}), request, wanted):
            if isinstance(outcome, Problem):
                problems.append(outcome)
            else:
                fixes.append(outcome)
    finally:
        progress.clear()
    written = _write(fixes, problems) if options.apply else fixes
    _show(options, written)
    print_problems(problems)
    if problems:
        return FAILED
    return _code(options, written)


def _write(fixes: list[FileFix], problems: list[Problem]) -> list[FileFix]:
    """Writes each file that has a change; the fixes of a file that cannot be written are no fixes."""
    from stablelint.codemod.apply import WriteRefused, write

    done = []
    for item in fixes:
        try:
            if item.before != item.after:
                write(Path(item.filename), item.before, item.after)
        except WriteRefused as error:
            problems.append(Problem(str(error)))
        else:
            done.append(item)
    return done


def _code(options: argparse.Namespace, fixes: list[FileFix]) -> int:
    if options.exit_zero:
        return CLEAN
    if options.apply:
        return FINDINGS if any(item.left for item in fixes) else CLEAN
    return FINDINGS if any(item.before != item.after for item in fixes) else CLEAN


def _show(options: argparse.Namespace, fixes: list[FileFix]) -> None:
    from stablelint.report.fixes import diff, explained, summary

    context = _context(options)
    changed = [item for item in fixes if item.before != item.after]
    if options.diff:
        sys.stdout.write("".join(diff(item, context) for item in changed))
    elif not options.quiet or not options.apply:
        for item in changed:
            print("\n".join(explained(item, context)), end="\n\n")
    if not options.quiet:
        print("\n".join(summary(fixes, options.apply, context)), file=_summary_stream(options))
    sys.stdout.flush()


def _summary_stream(options: argparse.Namespace) -> TextIO:
    return sys.stderr if options.diff else sys.stdout


def _context(options: argparse.Namespace) -> Context:
    from stablelint.report.context import Context
    from stablelint.report.style import Style, wants_colour, width_of

    colour = wants_colour(sys.stdout) and not options.diff
    return Context(os.getcwd(), Style(colour), width_of(sys.stdout))
