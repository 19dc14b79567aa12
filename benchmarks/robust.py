#!/usr/bin/env python3
"""Analyses every file of the releases in a process of its own, under limits, and lists failures.

    python benchmarks/robust.py                    all releases of ecosystem.toml
    python benchmarks/robust.py --only kornia      some of them

A crash, a problem that is no syntax error, a file beyond the limits: each is printed with its place. The exit
code is 1 when there is one. Slow files are listed too.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import signal
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from releases import fetch, python_files, releases

sys.path.insert(0, str(Path(__file__).parents[1]))

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog

CATALOG = load_catalog(entry_points=False)  # read once, before the workers fork


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may take; `seconds` are of processor time."""

    seconds: int
    mib: int
    slow: float  # slower files are listed, and do not fail


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it went for one file; `failure` is empty where it went well."""

    path: Path
    seconds: float
    lines: int
    failure: str


def examine(path: Path, root: Path, limits: Limits) -> Outcome:
    """Analyses one file in a forked child."""
    source = path.read_bytes()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        answer = json.dumps(_analyse(source, path, root, limits))
        os.write(write, answer.encode()[:60_000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    _, status, usage = os.wait4(child, 0)
    seconds = usage.ru_utime + usage.ru_stime  # what else the machine does is not held against a file
    failure = json.loads(said) if said else _cause_of_death(os.waitstatus_to_exitcode(status), limits)
    return Outcome(path, seconds, source.count(b"\n"), failure)


def _analyse(source: bytes, path: Path, root: Path, limits: Limits) -> str:
    resource.setrlimit(resource.RLIMIT_AS, (limits.mib << 20, limits.mib << 20))
    signal.setitimer(signal.ITIMER_PROF, limits.seconds)
    try:
        report = check_source(source, str(path), CATALOG, AnalysisOptions(root=root))
    except Exception as error:  # whatever it is, it is what this script looks for
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
    return "; ".join(p.message for p in report.problems if "syntax" not in p.message.lower())


def _cause_of_death(code: int, limits: Limits) -> str:
    return f"more than {limits.seconds} s" if code == -signal.SIGPROF else f"died with exit code {code}"


def survey(only: list[str] | None, limits: Limits, jobs: int) -> Iterator[tuple[str, Path, Outcome]]:
    """Every file that mentions torch, release by release."""
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for name, version in releases(only).items():
            tree = fetch(name, version)
            files = [path for path in python_files(tree) if b"torch" in path.read_bytes()]
            for outcome in pool.imap_unordered(partial(examine, root=tree, limits=limits), files):
                yield name, tree, outcome


def main() -> int:
    """Prints what fails and what is slow."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="PACKAGE")
    parser.add_argument("--seconds", type=int, default=20, help="time limit of a file")
    parser.add_argument("--mib", type=int, default=1024, help="memory limit of a file")
    parser.add_argument("--slow", type=float, default=3.0, help="list files that take longer than this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    limits = Limits(options.seconds, options.mib, options.slow)
    files = lines = failures = 0
    total = 0.0
    for name, tree, outcome in survey(options.only, limits, options.jobs):
        files, lines, total = files + 1, lines + outcome.lines, total + outcome.seconds
        failures += bool(outcome.failure)
        place = f"{name} {outcome.path.relative_to(tree)} ({outcome.lines} lines)"
        if outcome.failure:
            print(f"FAILED {place}: {outcome.failure}", flush=True)
        elif outcome.seconds > limits.slow:
            print(f"slow   {place}: {outcome.seconds:.1f} s", flush=True)
    print(f"{files} files, {lines:,} lines, {total:.0f} s; {failures} failed")
    return int(failures > 0)


if __name__ == "__main__":
    raise SystemExit(main())
