import json
import os
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from report import sample
from report.sarif_shape import faults
from stablelint.catalog import load_catalog
from stablelint.diagnostic import Position, Problem
from stablelint.report.context import Context
from stablelint.report.formats import render
from stablelint.workspace.result import CheckResult

RULES = load_catalog().rules
CONTEXT = Context(os.fspath(sample.FOLDER), rules=RULES)


def log(result: CheckResult) -> Any:
    return json.loads(render("sarif", result, CONTEXT))


def test_a_full_result_has_the_shape_of_the_schema() -> None:
    assert list(faults(log(sample.RESULT))) == []


@pytest.mark.parametrize(
    "result",
    [
        CheckResult(),
        CheckResult((replace(sample.LOG, derivation=(), url=None),)),
        CheckResult((replace(sample.LOG, code="X001", name="a-rule-without-a-page"),)),
        CheckResult(problems=(Problem("no Python files"), Problem("unreadable", "elsewhere.py"))),
        CheckResult(problems=(Problem("cannot parse", "/other/part.py", Position(1, 1)),)),
    ],
    ids=["nothing", "bare", "no page", "problems", "outside"],
)
def test_a_poor_result_has_the_shape_of_the_schema_too(result: CheckResult) -> None:
    assert list(faults(log(result))) == []


@pytest.mark.parametrize(
    "name", ["a b#c%?.py", "a,b:c.py", "new\nline.py", "ünï.py", "bad\udcff.py", "a\\b.py"]
)
def test_any_file_name_becomes_a_uri(name: str) -> None:
    item = replace(sample.ENTROPY, filename=os.fspath(sample.FOLDER / name))
    assert list(faults(log(CheckResult((item,))))) == []


def test_a_rule_is_described_by_its_page() -> None:
    rules = log(sample.RESULT)["runs"][0]["tool"]["driver"]["rules"]
    described = {rule["id"]: rule for rule in rules}["SL101"]
    assert described["shortDescription"]["text"] == RULES["SL101"].summary
    assert described["fullDescription"]["text"].startswith(
        "`log(0)` is `-inf` and the logarithm of a negative"
    )
    assert "\n" not in described["fullDescription"]["text"]


def test_the_description_of_every_rule_fits_what_a_reader_shows() -> None:
    found = log(CheckResult(tuple(replace(sample.LOG, code=code) for code in RULES)))
    described = {
        one["id"]: one["fullDescription"]["text"] for one in found["runs"][0]["tool"]["driver"]["rules"]
    }
    assert described.keys() == RULES.keys()
    assert not {code: text for code, text in described.items() if not 40 < len(text) <= 1024}


def test_the_shape_tells_what_is_wrong() -> None:
    broken = deepcopy(log(sample.RESULT))
    (run,) = broken["runs"]
    run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    run["results"][1]["mesage"] = run["results"][1].pop("message")
    run["results"][2]["fixes"][0]["artifactChanges"] = []
    assert list(faults(broken)) == [
        "$.runs[0].results[0].locations[0].physicalLocation.region.startLine: 0",
        "$.runs[0].results[1].message: missing",
        "$.runs[0].results[1].mesage: unknown",
        "$.runs[0].results[2].fixes[0].artifactChanges: empty",
    ]
