"""The command against another way to run it: a precision, a device, another tree; with float64 as the judge."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import torch

from stablelint.runtime.compare.command import CommandFailedError, Setup, pairs_of
from stablelint.runtime.compare.outcome import Cause, Comparison, Difference, Link, RunSummary, Side, describe
from stablelint.runtime.compare.parting.align import Kind, Parting
from stablelint.runtime.compare.parting.chain import follow
from stablelint.runtime.compare.recording.recorder import Options
from stablelint.runtime.compare.session import Session, losses_agree, summaries_of
from stablelint.runtime.compare.tensors.tolerance import Tolerances

STEPS = 3
"""Steps that are judged where the user names none: each operation is computed twice more."""
_LINKS = 400
_TAME = 10.0  # times: an error that no operation amplifies more than this only adds up


def against_dtype(session: Session, setup: Setup, dtype: str) -> Comparison:
    """As it is, and under autocast to `dtype`."""
    return _compare(session, setup, replace(setup, dtype=dtype, label=dtype), "dtype", dtype)


def against_device(session: Session, setup: Setup, device: str) -> Comparison:
    """On the CPU, and with `device` as the default. Raises CommandFailedError where there is none."""
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise CommandFailedError(f"there is no device {device}: {str(error).splitlines()[0]}") from None
    hidden = replace(setup, label="cpu", environment=(*setup.environment, ("CUDA_VISIBLE_DEVICES", "")))
    return _compare(session, hidden, replace(setup, device=device, label=device), "device")


def against_tree(session: Session, setup: Setup, tree: Path) -> Comparison:
    """Here, and with `tree` as the working folder. Raises CommandFailedError where there is none."""
    if not tree.is_dir():
        raise CommandFailedError(f"there is no folder {tree}")
    return _compare(session, setup, replace(setup, directory=tree, label=str(tree)), "against")


def judged(setup: Setup) -> Setup:
    """The command with every operation judged, its generators seeded and its sets in one order."""
    options: Options = replace(setup.options, judge=True, statistics=True)
    if options.stop is None:
        options = replace(options, stop=options.start + STEPS)
    return replace(setup, options=options, remedies=("seed", "hash"))


def _compare(session: Session, one: Setup, other: Setup, mode: str, dtype: str | None = None) -> Comparison:
    first, second = session.run(judged(one)), session.run(judged(other))
    walks = [follow(*pair) for pair in pairs_of(first, second)]
    found = next((walk for walk in walks if walk.parting is not None), walks[0])
    runs = summaries_of(first, second)
    grown = sorted(found.links, key=lambda link: -link.growth)[:_LINKS]
    chain = tuple(sorted(grown, key=lambda link: link.index))
    notes = (f"looked at the first {max(run.steps for run in runs)} steps; generators were seeded",)
    if found.parting is not None:
        difference = describe(found.parting)
        cause = _cause(found.parting, mode, dtype)
        return Comparison(mode, False, difference.summary, runs, difference, cause, chain, notes)
    if not found.links or _losses_agree(runs, dtype):
        agree = "agree within their rounding, and so do the losses"
        how = agree if found.links else "gave the same numbers, bit for bit"
        return Comparison(mode, True, f"{found.pairs:,} operations {how}", runs, chain=chain, notes=notes)
    worst = max(found.links, key=lambda link: link.growth)
    return Comparison(mode, False, *_grown(worst, runs), chain, notes)


def _cause(parting: Parting, mode: str, dtype: str | None) -> Cause | None:
    one, other = parting.first, parting.second
    if parting.kind is Kind.NONFINITE:
        text = "a number that overflows"
        if dtype is not None:
            text = f"a number beyond {torch.finfo(getattr(torch, dtype)).max:.6g}, the largest of {dtype}"
        return Cause("overflow", text, advice="keep this operation in float32, or scale its operands down")
    if parting.kind is Kind.UNDERFLOW:
        advice = "keep it in float32; for gradients scale the loss (GradScaler)"
        return Cause("underflow", f"numbers below the smallest of {dtype or 'the type'}", advice=advice)
    if parting.kind is Kind.ROUNDING and one is not None and other is not None:
        worse = max((one, other), key=lambda side: side.local[0] / side.local[1] if side.local else 0.0)
        which = "the first" if worse is one else "the second"
        return Cause("kernel", f"the kernel of {which} run computes {worse.operation} inaccurately")
    if parting.kind is Kind.PATH and mode == "against":
        return Cause("code", "the two trees compute something else here")
    if parting.kind is Kind.NUMBER:
        return Cause("number", "a Python number among the arguments is another")
    if parting.kind is Kind.DRAW:
        return Cause("generator", "the generators give each run other numbers though they were seeded alike")
    return None


def _losses_agree(runs: tuple[RunSummary, RunSummary], dtype: str | None) -> bool:
    kind = getattr(torch, dtype) if dtype else torch.float32
    rtol = 4 * Tolerances().of(kind)[0]
    sizes = (abs(value) for run in runs for _, value in run.losses if math.isfinite(value))
    return losses_agree(runs, rtol, rtol * max(sizes, default=0.0))


def _grown(
    worst: Link, runs: tuple[RunSummary, RunSummary]
) -> tuple[str, tuple[RunSummary, RunSummary], Difference | None, Cause]:
    """What there is to say where every operation is within its rounding: that which amplifies the error most."""
    if worst.growth < _TAME:
        cause = Cause("rounding", "roundings add up; no single operation amplifies them")
        return "the losses are apart by roundings that add up", runs, None, cause
    text = "every operation is within its rounding, and the error of its operands grows"
    side = Side(worst.filename, {"row": worst.row, "column": 0}, None, worst.expression, "")
    cause = Cause(
        "cancellation",
        f"`{worst.expression}` amplifies the error of its operands {worst.growth:.3g} times",
        advice="subtract before rounding, or compute it in float32",
    )
    difference = Difference(Kind.GROWTH, worst.step, worst.phase, "", text, side, None)
    return f"{text}: most at `{worst.expression}`", runs, difference, cause
