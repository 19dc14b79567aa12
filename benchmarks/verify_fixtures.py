"""Run `stablelint verify` on every program in fixtures/ and tabulate the verdicts; status 1 when one is wrong.

The root cause of a buggy program is to be confirmed (or what its about.json says), nothing of a clean one.

python benchmarks/verify_fixtures.py [NAME ...] [--rerun] [--json FILE]
"""

import argparse
import contextlib
import io
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from stablelint.cli.main import main

Document = dict[str, Any]
FIXTURES = Path(__file__).parent.parent / "fixtures"


def verify(program: Path, rerun: bool, rule: str) -> tuple[int, Document | None, float]:
    """Exit code, document and seconds of one verification."""
    out = io.StringIO()
    words = ["verify", program.name, "--level", "possible", "--output-format", "json", "-q", "--no-cache"]
    words += ["--search", "2", "--timeout", "240", *(["--extend-select", rule] if rule else [])]
    words += [*([] if rerun else ["--no-rerun"]), "--", program.name]
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / program.name).write_bytes(program.read_bytes())
        before = Path.cwd()
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(out):
                code = main(words)
        finally:
            os.chdir(before)
    try:
        document = json.loads(out.getvalue())
    except ValueError:
        document = None
    return code, document, time.perf_counter() - started


def row(folder: Path, rerun: bool) -> Document:
    """What was found in one fixture."""
    about = json.loads((folder / "about.json").read_text())
    clean = not (folder / "buggy.py").exists()
    program = folder / ("program.py" if clean else "buggy.py")
    # a fix of the order of calls is proved by the rerun alone
    rerun = rerun or str(about.get("category", "")).startswith("amp")
    code, document, seconds = verify(program, rerun, str(about.get("code", "")))
    sites = document["sites"] if document else []
    found = [
        {
            "code": site["code"],
            "row": site["location"]["row"],
            "verdict": site["verdict"],
            "calls": site["captured"]["calls"],
            "fix": site["fix"],
            "notes": site["notes"],
        }
        for site in sites
    ]
    lines = {about.get("line"), *about.get("also_lines", [])}
    hits = [item for item in found if not clean and item["row"] in lines]
    expected = about.get("verdict", "confirmed")
    if clean:
        right = all(item["verdict"] != "confirmed" for item in found)
    else:
        right = any(item["verdict"] == expected for item in hits)
    return {
        "right": right,
        "name": folder.name,
        "clean": clean,
        "code": about.get("code"),
        "line": about.get("line"),
        "exit": code,
        "seconds": round(seconds, 1),
        "sites": found,
        "hits": [f"{item['code']}={item['verdict']}" for item in hits],
        "rerun": document.get("rerun") if document else None,
    }


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rerun", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for folder in sorted(path.parent for path in FIXTURES.glob("*/about.json")):
        if options.names and folder.name not in options.names:
            continue
        found = row(folder, options.rerun)
        rows.append(found)
        shown = ", ".join(f"{s['code']}:{s['row']}={s['verdict']}" for s in found["sites"]) or "no finding"
        claim = (found["rerun"] or {}).get("claim", "") if options.rerun else ""
        print(
            f"{'ok   ' if found['right'] else 'WRONG'} {found['name']:34} {found['code']}:{found['line']}  {shown}"
            f"  {found['seconds']} s  {claim}",
            flush=True,
        )
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    wrong = [found["name"] for found in rows if not found["right"]]
    print(
        f"{len(rows) - len(wrong)} of {len(rows)} as they should be"
        + (f"; not so: {', '.join(wrong)}" if wrong else "")
    )
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    _main()
