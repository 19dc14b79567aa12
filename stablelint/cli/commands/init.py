"""`stablelint init`: sets a project up, showing each file before it is written."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from stablelint.cli.exit_codes import CLEAN, FAILED
from stablelint.cli.options import print_problems
from stablelint.cli.setup_files import BASELINE, Change, changes
from stablelint.codemod.text.apply import WriteRefused
from stablelint.config import ConfigError, load
from stablelint.diagnostic import Diagnostic, Problem
from stablelint.report.style import Style, is_terminal, wants_colour
from stablelint.runtime.plain import plural
from stablelint.workspace import baseline

NAME = "init"
HELP = "set a project up: settings, baseline, pre-commit hook, workflow; shows each before it is written"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    parser.add_argument(
        "folder", nargs="?", default=".", metavar="FOLDER", help="the project (default: this folder)"
    )
    parser.add_argument("--yes", "-y", action="store_true", help="write everything without asking")


def run(options: argparse.Namespace) -> int:
    """Shows what would be written and writes what is agreed to. Returns the exit code."""
    root = Path(os.path.abspath(options.folder))
    if not root.is_dir():
        raise ConfigError([Problem("no such folder", options.folder)])
    found, problems = _findings(root)
    wanted = list(changes(root, len(found)))
    written: list[Change] = []
    for change in wanted:
        if _agreed(_show(change), options.yes):
            _write(change, root, found, written, problems)
    _conclude(wanted, written, options.yes)
    print_problems(problems)
    return FAILED if problems else CLEAN


def _findings(root: Path) -> tuple[tuple[Diagnostic, ...], list[Problem]]:
    """What a check finds now, without a baseline, and what it could not read."""
    from stablelint.cli.progress import ProgressLine
    from stablelint.workspace.pipeline import check
    from stablelint.workspace.session import Request, session_of

    session = session_of(load(root))
    progress = ProgressLine(quiet=False)
    result = check(
        [os.fspath(root)], Request(session.settings, session.selection, progress=progress), session.catalog
    )
    progress.clear()
    count = len(result.diagnostics)
    found = f"{plural(count, 'finding')}, {len(result.shown):,} of them likely" if count else "no findings"
    print(f"Read {plural(result.files, 'file')}: {found}.")
    unread = result.problems if result.files else ()  # a project may begin without a file
    return result.diagnostics, [*session.problems, *unread]


def _show(change: Change) -> Change:
    from stablelint.codemod.text.diff import unified_diff

    style = Style(wants_colour(sys.stdout))
    shown = os.path.relpath(change.path)
    print(f"\n{style.bold(shown)}: {change.why}")
    for line in unified_diff((change.before or "").encode(), change.after.encode(), shown).splitlines():
        print(style.added(line) if line.startswith("+") else line)
    return change


def _agreed(change: Change, yes: bool) -> bool:
    if yes:
        return True
    if not is_terminal(sys.stdin) or not is_terminal(sys.stdout):
        return False
    return input(f"Write {os.path.relpath(change.path)}? [y/N] ").strip().lower() in ("y", "yes")


def _write(
    change: Change, root: Path, found: tuple[Diagnostic, ...], written: list[Change], problems: list[Problem]
) -> None:
    """Writes a file, and before it the baseline that it names."""
    try:
        if f'baseline = "{BASELINE}"' in change.after:
            baseline.write(os.fspath(root / BASELINE), found, os.fspath(root))
            print(f"Recorded {plural(len(found), 'finding')} in {BASELINE}: only new ones fail from now on.")
        change.write()
        written.append(change)
    except baseline.BaselineError as error:
        problems += error.problems
    except WriteRefused as error:
        problems.append(Problem(str(error), os.fspath(change.path)))


def _conclude(wanted: list[Change], written: list[Change], yes: bool) -> None:
    if not wanted:
        print("The project is set up already. Next: stablelint check")
    elif written:
        print(
            f"\nWrote {', '.join(os.path.relpath(change.path) for change in written)}. Next: stablelint check"
        )
    else:
        hint = "" if yes or is_terminal(sys.stdin) else " `stablelint init --yes` writes all of it."
        print(f"\nNothing was written.{hint}")
