"""`stablelint run`: a command under the guard, and the expression behind its first NaN or Inf."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablelint.cli.exit_codes import FAILED, FINDINGS
from stablelint.cli.handover import add_report, add_words, command_of, failed, hand_over, write_file
from stablelint.cli.options import number, print_problems
from stablelint.config import load
from stablelint.diagnostic import Problem

if TYPE_CHECKING:
    from stablelint.report.context import Context
    from stablelint.runtime.process.launch import Ending

NAME = "run"
HELP = "run a training command and name the expression behind its first NaN or Inf"
TAKES_COMMAND = True

_ADVISER = "stablelint.workspace.advice:RuleAdviser"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options; what stands behind `--` is the command to run."""
    add_words(parser)
    parser.add_argument(
        "--keep-going", action="store_true", help="report and let the command go on, instead of stopping it"
    )
    parser.add_argument(
        "--apply", action="store_true", help="write the fix of the first event, if its replay confirmed it"
    )
    parser.add_argument(
        "--verify-steps",
        type=number(int, lambda steps: steps >= 0, "a number of steps"),
        default=0,
        metavar="N",
        help="take N more steps with the fix, in a forked copy of the process (default: 0)",
    )
    parser.add_argument(
        "--norm-limit",
        type=_limit,
        metavar="LIMIT",
        help="warn at once of a gradient norm beyond this number, or beyond what is `learned` from the steps before",
    )
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="NAME",
        help="leave out parameters of this name, which may have * in it",
    )
    parser.add_argument(
        "--stats",
        action="store_true",
        help="tell what each layer handed out; costs time at every call of a layer",
    )
    output = add_report(parser, "plots")
    output.add_argument(
        "--log", metavar="FILE", help="append the events to this file, one JSON object a line"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="read the settings from here")


def run(options: argparse.Namespace) -> int:
    """Runs the command. Returns its exit code; 1 where that is 0 but an event was seen, 2 if not started."""
    from stablelint.runtime.process.launch import CommandNotFoundError, run_guarded

    command = command_of(options, NAME)
    settings = load(Path.cwd(), options.config)
    try:
        ending = run_guarded(
            command,
            adviser=_ADVISER,
            rules=[str(folder) for folder in settings.rules],
            keep_going=options.keep_going,
            guard={name: getattr(options, name) for name in ("verify_steps", "norm_limit", "skip", "stats")},
        )
    except CommandNotFoundError as error:
        raise failed(str(error)) from None
    problems = _written(options, ending)
    silent = options.output_format == "json" and not options.output_file
    if not (ending.reports or ending.unguarded or ending.crashes or silent):
        _say_what_was_seen(ending)
    if options.apply and ending.reports:
        problems += _applied(ending.reports[0])
    problems += [Problem(f"a process was not guarded: {why}") for why in ending.unguarded]
    print_problems(problems)
    if problems:
        return FAILED
    return ending.code or (FINDINGS if ending.reports else 0)


def _applied(report: Mapping[str, Any]) -> list[Problem]:
    """Writes a confirmed fix, where the file is still what the command ran; says what was done."""
    from stablelint.codemod.text.apply import WriteRefused, write
    from stablelint.codemod.text.edits import apply_edits
    from stablelint.diagnostic import Edit, Position, Span
    from stablelint.report.run.text import deciding

    fix, proof = report["fix"], report["verification"]
    if fix is None or proof is None or not deciding(proof)["finite"]:
        print("stablelint: nothing was written: no fix was confirmed by a replay", file=sys.stderr)
        return []
    path = Path(fix["filename"])

    def position(place: Mapping[str, int]) -> Position:
        return Position(place["row"], place["column"])

    edits = tuple(
        Edit(Span(position(one["location"]), position(one["end_location"])), one["content"])
        for one in fix["edits"]
    )
    try:
        source = path.read_bytes()
        if hashlib.sha256(source).hexdigest() != fix["sha256"]:
            return [Problem(f"{path} was not written: it has changed since the command ran it")]
        write(path, source, apply_edits(source, edits))
    except OSError as error:
        return [Problem(f"cannot read {path}: {error.strerror}")]
    except WriteRefused as refused:
        return [Problem(f"{path}: {refused}")]
    print(f"stablelint: wrote the confirmed fix to {path}", file=sys.stderr)
    return []


def _limit(text: str) -> float | str:
    """A norm, or "learned". Raises ArgumentTypeError for anything else."""
    try:
        number = 1.0 if text == "learned" else float(text)
    except ValueError:
        number = -1.0
    if not number > 0:
        raise argparse.ArgumentTypeError(f"neither a positive number nor `learned`: {text}")
    return text if text == "learned" else number


def _written(options: argparse.Namespace, ending: Ending) -> list[Problem]:
    """Report, page and log; one that cannot be written is a problem, and the others are."""
    from stablelint.report.run.text import render_page

    page = partial(render_page, ending.reports)
    problems = hand_over(options, _as_json(ending), partial(_text, ending), page, sys.stderr)
    if options.log and ending.reports:
        lines = "".join(json.dumps(report) + "\n" for report in ending.reports)
        write_file(options.log, lines, problems, "a")
    return problems


def _as_json(ending: Ending) -> dict[str, Any]:
    """The first event, with the `later` ones in it, or that there is none."""
    nothing = {"event": None, "cause": None, "fix": None, "verification": None}
    first, *later = ending.reports or [nothing]
    crash = {"crash": ending.crashes[0]} if ending.crashes and not ending.reports else {}
    return {**first, **crash, **({"later": later} if later else {}), "run": ending.as_json()}


def _text(ending: Ending, context: Context) -> str:
    from stablelint.report.run.text import render, sources_of

    context = replace(context, sources=sources_of(ending.reports))
    if ending.crashes and not ending.reports:
        from stablelint.report.run.crash import render as explained

        return explained(ending.crashes[0], context)
    return render(ending.reports, context)


def _say_what_was_seen(ending: Ending) -> None:
    if not ending.saw_torch and ending.without_torch:
        text = f"nothing was watched: {', '.join(ending.without_torch)} has no torch"
    elif not ending.saw_torch:
        text = "the command did not import torch, so there was nothing to watch"
    elif ending.steps == 0:
        text = "no optimizer step was seen"
    else:
        text = f"{ending.steps} steps, no NaN and no Inf in losses or gradients"
    if ending.signal is not None:
        memory = ", as the system does when memory runs out" if ending.signal == "SIGKILL" else ""
        text = f"the command was ended by {ending.signal}{memory}; {text}"
    print(f"stablelint: {text}", file=sys.stderr)
