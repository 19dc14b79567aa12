"""How many findings are reached by the calls that `stablelint verify` makes without a command, and why others are not.

python benchmarks/verify_calls.py FOLDER [FOLDER ...] [--seconds 540]
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

_SHOWN = 20  # causes


def called(folder: Path, seconds: float) -> tuple[int, Counter[str]]:
    """The findings of a project that a call came to, and the causes for which none came to the others."""
    command = [sys.executable, "-m", "stablelint", "verify", ".", "--again", "--no-cache", "--quiet"]
    done = subprocess.run(
        [*command, "--timeout", str(seconds), "--output-format", "json"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode == 2 and not done.stdout:
        raise SystemExit(f"{folder}: {done.stderr}")
    reached, causes = 0, Counter[str]()
    for site in json.loads(done.stdout)["sites"]:
        shown = site["function"] or {}
        if shown.get("line") or shown.get("healthy_line"):
            reached += 1
        else:
            causes[str(shown.get("why") or "no time was left").partition("\n")[0][:100]] += 1
    return reached, causes


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=540.0, help="for the calls of one project")
    options = parser.parse_args()
    total, others = 0, Counter[str]()
    for folder in options.folders:
        reached, causes = called(folder, options.seconds)
        print(f"{folder.name}: {reached} of {reached + causes.total()}", flush=True)
        total, others = total + reached, others + causes
    print(f"all: {total} of {total + others.total()}")
    for cause, number in others.most_common(_SHOWN):
        print(f"{number:5} {cause}")


if __name__ == "__main__":
    main()
