"""`stablelint fix`: shows or writes the rewrites that remove findings."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

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
    request_of,
    stdin_source,
    without_known,
)
from stablelint.cli.progress import ProgressLine
from stablelint.config import ConfigError
from stablelint.diagnostic import Level, Problem
from stablelint.syntax.source import SourceError
from stablelint.workspace.notebooks import as_file, in_cells
from stablelint.workspace.pipeline import check, check_text

if TYPE_CHECKING:
    from stablelint.workspace.fixing import FileFix, Wanted

NAME = "fix"
HELP = "show the rewrites that remove findings; --apply writes them"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    parser.usage = "stablelint fix [OPTIONS] [PATH ...]"
    add_paths(parser)
    add_selection(
        parser, "likely (default): rewrites of likely findings; possible (default with --verified): of all"
    )
    group = parser.add_argument_group("fixing")
    group.add_argument("--apply", action="store_true", help="write the fixes to the files")
    group.add_argument("--diff", action="store_true", help="show a plain unified diff, for other tools")
    group.add_argument(
        "--unsafe-fixes", action="store_true", default=None, help="also fixes that change values or gradients"
    )
    group.add_argument(
        "--verified", action="store_true", help="fixes that `stablelint verify` has passed, and no others"
    )
    add_baseline(group, "fix")
    group.add_argument("--quiet", "-q", action="store_true", help="no summary, no progress")
    group.add_argument("--exit-zero", action="store_true", help="exit with 0 even if there are findings")
    add_running(parser)
    add_stdin(parser)


def run(options: argparse.Namespace) -> int:
    """Shows or writes the fixes.

    Returns 0 if there is nothing to do, 1 if there are changes to make or, with --apply or `-`, findings left,
    2 if the tool could not do its work.
    """
    if options.verified:
        options.level = options.level or Level.POSSIBLE.value  # as for `verify`: a run has decided
    session = open_session(options, named_paths(options))
    return (_fix_stdin if reads_stdin(options) else _fix)(options, session)


def _fix(options: argparse.Namespace, session: Session) -> int:
    from stablelint.workspace.fixing import fix_files

    progress = ProgressLine(options.quiet)
    request = request_of(options, session, progress=progress)
    wanted = _wanted(options, session)
    try:
        result = check(named_paths(options), request, session.catalog)
        result = without_known(result, wanted.known, session)
        problems = [*session.problems, *result.problems]
        fixes: list[FileFix] = []
        for outcome in fix_files(result.shown, request, wanted, result.received):
            if isinstance(outcome, Problem):
                problems.append(outcome)
            else:
                fixes.append(outcome)
    finally:
        progress.clear()
    patches = _patches(fixes, problems) if options.diff else {}  # before the files change
    written = _write(fixes, problems) if options.apply else fixes
    changed = any(item.before != item.after for item in written)
    all_written = len(written) == len(fixes)
    if changed or (all_written and (written or not problems)):  # else only the reason is news
        _show(options, written, result.baselined, patches)
    print_problems(problems)
    if problems:
        return FAILED
    return _code(options, written, options.apply)


def _fix_stdin(options: argparse.Namespace, session: Session) -> int:
    """Prints the fixed source (with --diff the change); what cannot be read is printed as it came."""
    from stablelint.report.fixes import diff
    from stablelint.workspace.fixing import fix_text

    if options.apply:
        raise ConfigError([Problem("--apply writes files: `-` prints the fixed source by itself")])
    data, name = stdin_source(options)
    request = request_of(options, session)
    wanted = _wanted(options, session)
    result = without_known(check_text(data, name, request, session.catalog), wanted.known, session)
    problems = [*session.problems, *result.problems]
    fixed = None if problems else fix_text(data, name, request, wanted)
    if isinstance(fixed, Problem):
        problems.append(fixed)
    if fixed is None or isinstance(fixed, Problem):
        if not options.diff:
            _print_bytes(data)
        print_problems(problems)
        return FAILED
    if options.diff:
        _show(options, [fixed], result.baselined, {fixed.filename: diff(fixed, context_of(sys.stdout))})
    else:
        _print_bytes(fixed.after)
        _summarise(options, [fixed], result.baselined, written=True)
    return _code(options, [fixed], written=not options.diff)


def _print_bytes(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _wanted(options: argparse.Namespace, session: Session) -> Wanted:
    from stablelint.workspace.fixing import Wanted

    unsafe = session.settings.unsafe_fixes if options.unsafe_fixes is None else options.unsafe_fixes
    known = known_findings(options, session)
    return Wanted(session.selection, unsafe=unsafe, verified=options.verified, known=known)


def _patches(fixes: Sequence[FileFix], problems: list[Problem]) -> dict[str, bytes]:
    """By file, its change as a plain unified diff."""
    from stablelint.report.fixes import diff

    found = {}
    for item in fixes:
        try:
            before, after = as_file(item.filename, item.before, item.after)
        except (OSError, SourceError, ValueError) as error:
            problems.append(Problem(str(error), item.filename))
        else:
            found[item.filename] = diff(replace(item, before=before, after=after), context_of(sys.stdout))
    return found


def _write(fixes: list[FileFix], problems: list[Problem]) -> list[FileFix]:
    """Writes the files that have a change, those of one fix all or none; what cannot be written is no fix."""
    from stablelint.codemod.text.apply import Change, WriteRefused, write_together
    from stablelint.workspace.across import together

    done = []
    for group in together(fixes, attrgetter("files")):
        changed = [item for item in group if item.before != item.after]
        try:
            texts = [as_file(item.filename, item.before, item.after) for item in changed]
            write_together(
                [Change(Path(item.filename), *text) for item, text in zip(changed, texts, strict=True)]
            )
        except (WriteRefused, ValueError) as error:
            problems += _refused(group, error)
        except KeyboardInterrupt:
            problems.append(
                Problem("interrupted: this file and those after it are as they were", group[0].filename)
            )
            break
        else:
            done += group
    return done


def _refused(group: Sequence[FileFix], error: Exception) -> Iterator[Problem]:
    """What is said of files that are written together, of which one could not be."""
    path = str(getattr(error, "path", group[0].filename))
    yield Problem(str(error), path)
    for item in group:
        if item.filename != path and item.before != item.after:
            yield Problem(f"left alone: its fix changes {os.path.basename(path)}, too", item.filename)


def _code(options: argparse.Namespace, fixes: list[FileFix], written: bool) -> int:
    if options.exit_zero:
        return CLEAN
    if written:
        return FINDINGS if any(item.left for item in fixes) else CLEAN
    return FINDINGS if any(item.before != item.after for item in fixes) else CLEAN


def _show(
    options: argparse.Namespace, fixes: list[FileFix], known: int, patches: Mapping[str, bytes]
) -> None:
    """Shows the changes: with --diff the `patches`, else with the reasons."""
    from stablelint.report.fixes import explained

    context = context_of(sys.stdout)
    fixes = [replace(one, withheld=in_cells(one.withheld), left=in_cells(one.left)) for one in fixes]
    changed = [item for item in fixes if item.before != item.after]
    if options.diff:
        _print_bytes(b"".join(patches.get(item.filename, b"") for item in changed))
    elif not options.quiet or not options.apply:
        for item in changed:
            print("\n".join(explained(item, context)), end="\n\n")
    sys.stdout.flush()
    _summarise(options, fixes, known, options.apply)


def _summarise(options: argparse.Namespace, fixes: list[FileFix], known: int, written: bool) -> None:
    from stablelint.report.fixes import summary

    if not options.quiet:
        stream = sys.stderr if options.diff or reads_stdin(options) else sys.stdout
        lines = summary(
            fixes,
            known,
            written,
            context_of(sys.stdout, plain=options.diff),
            writable=not reads_stdin(options),
            verified=options.verified,
        )
        print("\n".join(lines), file=stream)
        stream.flush()
