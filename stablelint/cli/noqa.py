"""`check --add-noqa`: one comment in the line of each finding."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from stablelint.cli.exit_codes import CLEAN, FAILED
from stablelint.cli.options import print_problems
from stablelint.diagnostic import Diagnostic, Problem
from stablelint.runtime.plain import plural
from stablelint.syntax.content import NOTEBOOK
from stablelint.workspace.result import CheckResult
from stablelint.workspace.suppress import UNUSED_CODE


def add_noqa(result: CheckResult) -> int:
    """Writes the comments and returns the exit code."""
    problems = list(result.problems)
    added = 0
    findings = [item for item in result.diagnostics if item.code != UNUSED_CODE]
    for filename, group in groupby(findings, key=lambda item: item.filename):
        found = list(group)
        problem = _change(filename, found)
        if problem is None:
            added += len(found)
        else:
            problems.append(problem)
    print(f"Silenced {plural(added, 'finding')} by `# noqa` comments.", file=sys.stderr)
    print_problems(problems)
    return FAILED if problems else CLEAN


def _change(filename: str, found: Iterable[Diagnostic]) -> Problem | None:
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
