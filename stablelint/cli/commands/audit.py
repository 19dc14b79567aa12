"""`stablelint audit`: a few steps of a training command under watch, and a table of checks."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from stablelint.cli.handover import add_report, context_of, failed, number, write_file
from stablelint.cli.main import FAILED, FINDINGS
from stablelint.cli.options import print_problems
from stablelint.diagnostic import Problem

NAME = "audit"
HELP = "run a few steps of a training command and check its data, model, loop and reproducibility"
TAKES_COMMAND = True

_CHILD = "stablelint.runtime.crash.audited"
_KINDS = ("audit", "missing", "unguarded", "crash")
_STEPS = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options; what stands behind `--` is the command to run."""
    parser.usage = "stablelint audit [OPTIONS] [--] COMMAND ..."
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.epilog = "for example: stablelint audit -- python train.py"
    parser.add_argument(
        "--steps",
        type=number(int, lambda steps: steps >= 0, "a number of steps"),
        default=_STEPS,
        metavar="N",
        help=f"end the command after N optimizer steps; 0 lets it run to its end (default: {_STEPS})",
    )
    output = add_report(parser, "histograms")
    output.add_argument("--output-file", metavar="FILE", help="write the report to this file")
    output.add_argument("--all", action="store_true", help="show also what passed and what was not seen")
    output.add_argument("--quiet", "-q", action="store_true", help="print nothing where no check fails")


def run(options: argparse.Namespace) -> int:
    """Runs the command. Returns 1 where a check failed, 2 where nothing could be watched, else its exit code."""
    from stablelint.report.run.crash import render
    from stablelint.runtime.process.launch import run_planned
    from stablelint.runtime.process.start import Plan
    from stablelint.runtime.process.words import CommandNotFoundError

    command = [*options.words, *(["--"] if options.words and options.command else []), *options.command]
    if not command:
        return failed("no command to run", "stablelint audit -- python train.py")
    plan = Plan("", child=_CHILD, steps=options.steps)
    try:
        code, (audits, missing, unguarded, crashes) = run_planned(command, plan, _KINDS)
    except CommandNotFoundError as error:
        return failed(str(error))
    if unguarded:
        return failed(f"a process was not watched: {unguarded[0]['error']}")
    if crashes:
        sys.stderr.write(render(crashes[0], context_of(sys.stderr)))
    audit = max(audits, key=lambda one: (one["steps"], -one["process"]), default=None)
    if audit is None:
        reason = f": {missing[0]['python']} has no torch" if missing else ""
        return (
            failed(f"no training was seen{reason}", "the command must call a model with parameters") or code
        )
    problems = _written(options, audit)
    print_problems(problems)
    if problems:
        return FAILED
    return FINDINGS if audit["counts"]["failed"] else code


def _written(options: argparse.Namespace, audit: dict[str, Any]) -> list[Problem]:
    """Report and page; one that cannot be written is a problem, and the other is."""
    problems: list[Problem] = []
    text = _text(options, audit)
    if options.output_file:
        write_file(options.output_file, text, problems)
    elif not options.quiet or audit["counts"]["failed"]:
        sys.stdout.write(text)
    if options.html:
        from stablelint.report.audit.html import render

        write_file(options.html, render(audit), problems)
    return problems


def _text(options: argparse.Namespace, audit: dict[str, Any]) -> str:
    if options.output_format == "json":
        return json.dumps(audit, indent=2) + "\n"
    from stablelint.report.audit.text import render

    return render(audit, context_of(sys.stdout, plain=bool(options.output_file)), options.all)
