"""`stablelint compare`: where two runs part, or two sets of tensors."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablelint.cli.exit_codes import CLEAN, FAILED, FINDINGS
from stablelint.cli.handover import add_report, failed, hand_over
from stablelint.cli.options import number, print_problems
from stablelint.report.style import is_terminal

if TYPE_CHECKING:
    from stablelint.runtime.compare.command import Setup
    from stablelint.runtime.compare.outcome import Comparison
    from stablelint.runtime.compare.session import Session

NAME = "compare"
HELP = "find where two runs of a command part, and why; or compare two checkpoints"
TAKES_COMMAND = True

_COUNT = number(int, lambda count: count >= 1, "a number from 1 on")
_TOLERANCE = number(float, lambda tolerance: tolerance >= 0, "a tolerance")


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options; what stands behind `--` is the command to run."""
    parser.usage = "stablelint compare [OPTIONS] (FILE FILE | -- COMMAND ...)"
    parser.add_argument("files", nargs="*", metavar="FILE", help="two checkpoints: .pt, .safetensors, .npz")
    parser.epilog = "for example: stablelint compare -- python train.py"
    against = parser.add_argument_group("against what", "by default the command is run twice as it is")
    which = against.add_mutually_exclusive_group()
    which.add_argument(
        "--compiled",
        nargs="?",
        const="",
        metavar="BACKEND",
        help="against torch.compile: a backend's name or module:function (default: the command's own, or inductor)",
    )
    which.add_argument(
        "--dtype", choices=("bfloat16", "float16"), help="against autocast to another precision"
    )
    which.add_argument("--device", metavar="DEVICE", help="against another device, such as cuda")
    which.add_argument("--against", metavar="FOLDER", help="against the same command run in another tree")
    against.add_argument(
        "--script",
        default="compare-repro.py",
        metavar="FILE",
        help="where --compiled writes the script that shows the difference (default: compare-repro.py)",
    )
    runs = parser.add_argument_group("runs")
    runs.add_argument(
        "--steps",
        type=_steps,
        default=(0, None),
        metavar="A:B",
        help="record the optimizer steps from A on and end the command before B (default: all)",
    )
    runs.add_argument("--every", type=_COUNT, default=1, metavar="N", help="record every Nth step")
    runs.add_argument(
        "--modules",
        action="store_true",
        help="record what modules return, and operations only in the step in which that differs: for long runs",
    )
    runs.add_argument(
        "--limit",
        type=_COUNT,
        default=512,
        metavar="MB",
        help="disk that a recording may take (default: 512)",
    )
    runs.add_argument("--no-attempts", action="store_true", help="do not run the command under remedies")
    runs.add_argument("--keep", metavar="FOLDER", help="keep what was recorded, in a folder of this one")
    close = parser.add_argument_group("tolerances", "by default those of torch.testing for the element type")
    close.add_argument("--rtol", type=_TOLERANCE, metavar="X", help="relative tolerance")
    close.add_argument("--atol", type=_TOLERANCE, metavar="X", help="absolute tolerance")
    close.add_argument("--equal-nan", action="store_true", help="a NaN equals a NaN")
    output = add_report(parser, "plots")
    output.add_argument("--quiet", "-q", action="store_true", help="say nothing where the two are the same")


def run(options: argparse.Namespace) -> int:
    """Compares. Returns 0 where the two are the same, 1 where they differ, 2 where they could not be compared."""
    others = (options.compiled, options.dtype, options.device, options.against)
    if options.modules and any(one is not None for one in others):
        raise failed("--modules is for the command run twice as it is: the others judge operations")
    if importlib.util.find_spec("torch") is None:
        raise failed("comparing needs torch", "pip install 'stablelint[verify]'")
    if options.command and not options.files:
        return _ended(options, _runs(options))
    if len(options.files) == 2 and not options.command:
        return _ended(options, _files(options))
    wrong = "two files or a command are compared, not both" if options.command else "nothing to compare"
    raise failed(wrong, "stablelint compare a.pt b.pt, or stablelint compare -- python train.py")


def _runs(options: argparse.Namespace) -> dict[str, Any]:
    """The report on two runs of the command."""
    from stablelint.runtime.compare import session
    from stablelint.runtime.compare.command import CommandFailedError, Setup
    from stablelint.runtime.compare.recording.recorder import Options
    from stablelint.runtime.plain import plain
    from stablelint.runtime.process.launch import CommandNotFoundError

    start, stop = options.steps
    record = Options(start, stop, options.every, modules=options.modules)
    setup = Setup(tuple(options.command), "the command", options=record, limit=options.limit << 20)
    with _folder(options) as folder:
        runs = session.Session(folder, _saying(options))
        try:
            found = _compared(runs, setup, options)
        except CommandNotFoundError as error:
            raise failed(str(error)) from None
        except CommandFailedError as error:
            hint = f"its last lines:\n{error.tail}" if error.tail else None
            raise failed(str(error), hint) from None
    report: dict[str, Any] = plain(found)
    return report


def _compared(session: Session, setup: Setup, options: argparse.Namespace) -> Comparison:
    """The comparison that the options ask for."""
    if options.compiled is not None:
        from stablelint.runtime.compare.compiling.session import compare_compiled

        return compare_compiled(session, setup, options.compiled or None, Path(options.script))
    from stablelint.runtime.compare import other
    from stablelint.runtime.compare.session import compare_again

    if options.dtype is not None:
        return other.against_dtype(session, setup, options.dtype)
    if options.device is not None:
        return other.against_device(session, setup, options.device)
    if options.against is not None:
        return other.against_tree(session, setup, Path(options.against))
    return compare_again(session, setup, attempts=not options.no_attempts)


@contextmanager
def _folder(options: argparse.Namespace) -> Iterator[Path]:
    """Where the runs are recorded: kept where the user names a place."""
    if options.keep is not None:
        place = Path(options.keep) / time.strftime("%Y%m%d-%H%M%S")
        place.mkdir(parents=True, exist_ok=True)
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="stablelint-compare-") as folder:
        yield Path(folder)


def _saying(options: argparse.Namespace) -> Callable[[str], None]:
    """Tells a person who waits which run is under way."""
    if options.quiet or not is_terminal(sys.stderr):
        return lambda _: None
    return lambda text: print(f"stablelint: {text}", file=sys.stderr)


def _files(options: argparse.Namespace) -> dict[str, Any]:
    """The tolerance report on two files."""
    from stablelint.runtime.compare.tensors import checkpoints
    from stablelint.runtime.compare.tensors.tolerance import Tolerances, compare_named
    from stablelint.runtime.plain import plain

    try:
        first, second = (checkpoints.read(Path(file)) for file in options.files)
    except checkpoints.UnreadableError as error:
        raise failed(str(error), error.hint) from None
    first, second, note = checkpoints.without_wrappers(first, second)
    found = compare_named(first, second, Tolerances(options.rtol, options.atol, options.equal_nan), note)
    names = dict(zip(("first", "second"), options.files, strict=True))
    return {"kind": "tensors", "same": found.same, **names, **plain(found)}


def _ended(options: argparse.Namespace, report: dict[str, Any]) -> int:
    """Writes the report where it is wanted. Returns the exit code."""
    from stablelint.report.compare import text

    forms = partial(text.render, report), partial(text.render_page, report)
    problems = hand_over(options, report, *forms, sys.stdout, silent=options.quiet and report["same"])
    print_problems(problems)
    if problems:
        return FAILED
    return CLEAN if report["same"] else FINDINGS


def _steps(text: str) -> tuple[int, int | None]:
    """`A:B`, either of them missing. Raises ArgumentTypeError for anything else."""
    start, colon, stop = text.partition(":")
    try:
        first, last = int(start or 0), int(stop) if stop else None
    except ValueError:
        first, last = -1, None
    if not colon or first < 0 or (last is not None and last <= first):
        raise argparse.ArgumentTypeError(f"not a range of steps, such as 0:3: {text}")
    return first, last
