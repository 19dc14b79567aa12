#!/usr/bin/env python3
"""Runs the test-suites of packages before and after all fixes are applied to them, and compares test by test.

    python benchmarks/fix_suites.py --python VENV/bin/python            every suite below
    python benchmarks/fix_suites.py --python VENV/bin/python --only e3nn --level likely

VENV is an environment with torch, pytest and what each package needs, but not the package: that is read from
a copy of its source archive, where it holds tests, or of its release, whose doctests are run. A test that
passes before and not after is shown with the reason; the exit code is 1 where there is one, and where none passed
before, for then nothing was compared.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from measure import ROOT
from releases import CACHE, fetch, releases

TIMEOUT = 1500.0


@dataclass(frozen=True, slots=True)
class Suite:
    """Where a package's tests are, and which of them finish in a few minutes."""

    source: bool  # in its source archive; else doctests in its release
    package: str
    tests: tuple[str, ...]
    options: tuple[str, ...] = ()


_DOCTESTS = ("--doctest-modules", "-o", "doctest_optionflags=NORMALIZE_WHITESPACE ELLIPSIS")
_GPYTORCH = "constraints distributions kernels likelihoods means metrics mlls priors utils variational"
_KORNIA = "color enhance feature filters geometry losses metrics morphology"
_METRICS = "classification clustering image nominal pairwise regression retrieval segmentation"
SUITES = {
    "e3nn": Suite(True, "e3nn", ("tests",)),
    "gpytorch": Suite(True, "gpytorch", tuple(f"test/{name}" for name in _GPYTORCH.split())),
    "kornia": Suite(False, "kornia", tuple(f"kornia/{name}" for name in _KORNIA.split()), _DOCTESTS),
    "nflows": Suite(True, "nflows", ("tests",)),
    "torchmetrics": Suite(
        False,
        "torchmetrics",
        tuple(f"torchmetrics/functional/{name}" for name in _METRICS.split()),
        _DOCTESTS,
    ),
}
Outcomes = dict[str, tuple[str, str]]  # test: what became of it, and why


def tree_of(name: str, version: str, suite: Suite, target: Path, python: str) -> None:
    """Puts a copy of the package with its tests into `target`."""
    if not suite.source:
        shutil.copytree(fetch(name, version), target)
        return
    kept = CACHE / "sources" / f"{name}-{version}"
    if not kept.is_dir():
        _download(name, version, kept, python)
    shutil.copytree(kept, target)


def _download(name: str, version: str, target: Path, python: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        options = ["-q", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "-d", scratch]
        command = [python, "-m", "pip", "download", *options, f"{name}=={version}"]
        if subprocess.run(command).returncode:
            raise SystemExit(f"cannot download the source archive of {name} {version}")
        (archive,) = Path(scratch).iterdir()
        shutil.unpack_archive(archive, Path(scratch) / "unpacked")
        (folder,) = (Path(scratch) / "unpacked").iterdir()
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(folder, target)


def outcomes(tree: Path, suite: Suite, python: str) -> Outcomes:
    """Runs the suite in a tree; what became of each test."""
    report = tree / "outcomes.xml"
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    command += [
        *suite.options,
        f"--junitxml={report}",
        *(path for path in suite.tests if (tree / path).exists()),
    ]
    environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    with (tree / "outcomes.txt").open("w") as log:
        subprocess.run(command, cwd=tree, env=environment, stdout=log, stderr=log, timeout=TIMEOUT)
    found: Outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        states = [child for child in case if child.tag in ("failure", "error", "skipped")]
        state = states[0].tag if states else "passed"
        reason = (states[0].get("message") or "").strip().splitlines()[:1] if states else []
        found[f"{case.get('classname')}::{case.get('name')}"] = (state, "".join(reason))
    return found


def apply_fixes(tree: Path, suite: Suite, level: str) -> str:
    """Applies every fix, unsafe ones too, to the package (not its tests); the summary's first line."""
    command = [sys.executable, "-m", "stablelint", "fix", "--apply", "--unsafe-fixes", "--level", level]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "--no-cache", suite.package], cwd=tree, env=environment, capture_output=True, text=True
    )
    return next((line for line in done.stdout.splitlines() if line.startswith("Fixed")), "Fixed nothing")


def main() -> int:
    """Runs, fixes, runs again, compares."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", required=True, help="with torch, pytest and the packages' dependencies")
    parser.add_argument("--only", nargs="+", metavar="PACKAGE", default=list(SUITES))
    parser.add_argument("--level", choices=("likely", "possible"), default="possible")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the trees here")
    options = parser.parse_args()
    python = os.path.abspath(options.python)
    rows, worse = [], 0
    for name, version in releases(options.only).items():
        suite = SUITES[name]
        with tempfile.TemporaryDirectory() as scratch:
            tree = (options.keep or Path(scratch)).absolute() / name
            shutil.rmtree(tree, ignore_errors=True)
            tree_of(name, version, suite, tree, python)
            before = outcomes(tree, suite, python)
            said = apply_fixes(tree, suite, options.level)
            after = outcomes(tree, suite, python)
        passed = [test for test, (state, _) in before.items() if state == "passed"]
        broken = [test for test in passed if after.get(test, ("gone", ""))[0] != "passed"]
        mended = sum(
            state == "passed" and before.get(test, ("", ""))[0] != "passed"
            for test, (state, _) in after.items()
        )
        for test in broken:
            print(f"{name}: {test}: {' '.join(after.get(test, ('gone', '')))}", flush=True)
        if not passed:
            reasons = Counter(reason for _, reason in before.values())
            print(f"{name}: no test passes before; most say: {reasons.most_common(1)}", flush=True)
        worse += len(broken) or not passed
        rows.append(
            f"| {name} {version} | {len(before)} | {len(passed)} | {len(broken)} | {mended} | {said} |"
        )
        print(rows[-1], flush=True)
    print("| package | tests | pass before | fail after | pass only after | fixes |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    print("\n".join(rows))
    return int(worse > 0)


if __name__ == "__main__":
    raise SystemExit(main())
