"""`stablelint compare`: where two runs part, or two sets of tensors."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stablelint.cli.main import CLEAN, FAILED, FINDINGS
from stablelint.cli.options import print_problems
from stablelint.diagnostic import Problem

NAME = "compare"
HELP = "find where two runs of a command part, and why; or compare two checkpoints"
TAKES_COMMAND = True


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options; what stands behind `--` is the command to run."""
    parser.usage = "stablelint compare [OPTIONS] (FILE FILE | -- COMMAND ...)"
    parser.add_argument("files", nargs="*", metavar="FILE", help="two checkpoints: .pt, .safetensors, .npz")
    parser.epilog = "for example: stablelint compare -- python train.py"
    close = parser.add_argument_group("tolerances", "by default those of torch.testing for the element type")
    close.add_argument("--rtol", type=_tolerance, metavar="X", help="relative tolerance")
    close.add_argument("--atol", type=_tolerance, metavar="X", help="absolute tolerance")
    close.add_argument("--equal-nan", action="store_true", help="a NaN equals a NaN")
    output = parser.add_argument_group("output")
    output.add_argument("--output-format", choices=("full", "json"), default="full", help="default: full")
    output.add_argument("--output-file", metavar="FILE", help="write the report to this file")
    output.add_argument("--html", metavar="FILE", help="write a page with plots")
    output.add_argument("--quiet", "-q", action="store_true", help="say nothing where the two are the same")


def run(options: argparse.Namespace) -> int:
    """Compares. Returns 0 where the two are the same, 1 where they differ, 2 where they could not be compared."""
    if len(options.files) != 2:
        return _failed("nothing to compare", "stablelint compare a.pt b.pt")
    return _ended(options, _files(options))


def _files(options: argparse.Namespace) -> dict[str, Any] | Problem:
    """The tolerance report on two files, or why there is none."""
    try:
        from stablelint.runtime.compare import checkpoints
        from stablelint.runtime.compare.plain import plain
        from stablelint.runtime.compare.tolerance import Tolerances, compare_named
    except ImportError as error:
        return Problem(f"comparing needs torch: {error}", hint="pip install 'stablelint[verify]'")
    try:
        first, second = (checkpoints.read(Path(file)) for file in options.files)
    except checkpoints.UnreadableError as error:
        return Problem(str(error), hint=error.hint)
    first, second, note = checkpoints.without_wrappers(first, second)
    found = compare_named(first, second, Tolerances(options.rtol, options.atol, options.equal_nan), note)
    names = dict(zip(("first", "second"), options.files, strict=True))
    return {"kind": "tensors", "same": found.same, **names, **plain(found)}


def _ended(options: argparse.Namespace, report: dict[str, Any] | Problem) -> int:
    """Writes the report where it is wanted. Returns the exit code."""
    if isinstance(report, Problem):
        print_problems([report])
        return FAILED
    problems: list[Problem] = []
    text = _text(options, report)
    if options.output_file:
        _write(options.output_file, text, problems)
    elif not (options.quiet and report["same"]):
        sys.stdout.write(text)
    if options.html:
        from stablelint.report.compare_html import render

        _write(options.html, render(report), problems)
    print_problems(problems)
    if problems:
        return FAILED
    return CLEAN if report["same"] else FINDINGS


def _text(options: argparse.Namespace, report: Mapping[str, Any]) -> str:
    if options.output_format == "json":
        return json.dumps(report, indent=2) + "\n"
    from stablelint.report.compare_tolerance import render
    from stablelint.report.context import Context
    from stablelint.report.style import Style, wants_colour, width_of

    context = Context(os.getcwd(), Style(wants_colour(sys.stdout)), width_of(sys.stdout))
    return render(report, context)


def _write(path: str, text: str, problems: list[Problem]) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        problems.append(Problem(f"cannot write {path}: {error.strerror}"))


def _tolerance(text: str) -> float:
    """A tolerance. Raises ArgumentTypeError for what is none."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"not a tolerance: {text}")
    return value


def _failed(message: str, hint: str | None = None) -> int:
    print_problems([Problem(message, hint=hint)])
    return FAILED
