"""`stablelint audit`: a few steps of a training command under watch, and a table of checks."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from stablelint.cli.exit_codes import FAILED, FINDINGS
from stablelint.cli.handover import add_report, add_words, command_of, failed, hand_over
from stablelint.cli.options import context_of, number, print_problems

NAME = "audit"
HELP = "run a few steps of a training command and check its data, model, loop and reproducibility"
TAKES_COMMAND = True

_CHILD = "stablelint.runtime.crash.audited"
_KINDS = ("audit", "missing", "unguarded", "crash")
_STEPS = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options; what stands behind `--` is the command to run."""
    add_words(parser)
    parser.add_argument(
        "--steps",
        type=number(int, lambda steps: steps >= 0, "a number of steps"),
        default=_STEPS,
        metavar="N",
        help=f"end the command after N optimizer steps; 0 lets it run to its end (default: {_STEPS})",
    )
    parser.add_argument(
        "--batches",
        type=number(int, lambda batches: batches > 0, "a number of batches"),
        metavar="N",
        help="end each pass over a DataLoader after N batches, to see evaluations and later epochs, too",
    )
    output = add_report(parser, "histograms")
    output.add_argument("--all", action="store_true", help="show also what passed and what was not seen")
    output.add_argument("--quiet", "-q", action="store_true", help="print nothing where no check fails")


def run(options: argparse.Namespace) -> int:
    """Runs the command. Returns 1 where a check failed, 2 where nothing could be watched, else its exit code."""
    from stablelint.report import audit as report
    from stablelint.report.run.crash import render
    from stablelint.runtime.process.launch import CommandNotFoundError, run_planned
    from stablelint.runtime.process.start import Plan

    command = command_of(options, NAME)
    plan = Plan("", _CHILD, options={"steps": options.steps, "batches": options.batches})
    try:
        code, (audits, missing, unguarded, crashes) = run_planned(command, plan, _KINDS)
    except CommandNotFoundError as error:
        raise failed(str(error)) from None
    if unguarded:
        raise failed(f"a process was not watched: {unguarded[0]['error']}")
    if crashes:
        sys.stderr.write(render(crashes[0], context_of(sys.stderr)))
    audit = max(audits, key=lambda one: (one["steps"], -one["process"]), default=None)
    if audit is None and crashes:
        return code
    if audit is None:
        if missing:
            raise failed(f"no training was seen: {missing[0]['python']} has no torch")
        raise failed("no training was seen", "the command must call a model with parameters")
    passed = not audit["counts"]["failed"]
    text, page = partial(report.render, audit, everything=options.all), partial(report.render_page, audit)
    problems = hand_over(options, audit, text, page, sys.stdout, silent=options.quiet and passed)
    print_problems(problems)
    if problems:
        return FAILED
    return code if passed else FINDINGS
