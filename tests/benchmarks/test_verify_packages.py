"""The page of verified packages, renewed for some of them."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import verify_packages


def document(name: str, seconds: int) -> dict[str, Any]:
    (entry,) = verify_packages.packages([name])
    site = {
        "verdict": "confirmed",
        "code": "SL101",
        "name": "unguarded-log",
        "filename": "a.py",
        "location": {"row": 3},
        "expression": "x.log()",
        "fix": None,
        "captured": {"calls": 1, "operands": {}},
        "witness": None,
        "notes": [],
    }
    rerun = {"passed": True, "claim": f"no worse after {seconds} s"}
    return {"entry": entry, "sites": [site], "rerun": rerun, "seconds": seconds}


def test_packages_that_are_not_known_keep_their_rows_and_sections() -> None:
    whole = verify_packages.page([document("nflows", 3), document("zuko", 5)], "")
    renewed = verify_packages.page([document("zuko", 7)], whole)
    assert renewed == verify_packages.page([document("nflows", 3), document("zuko", 7)], "")
