import json
import os
from dataclasses import replace

import pytest

from report import sample
from stablelint.config import OUTPUT_FORMATS
from stablelint.diagnostic import Applicability, Edit, Fix, Position, Span
from stablelint.report.context import Context, Sources
from stablelint.report.formats import render
from stablelint.workspace.result import CheckResult

CONTEXT = Context(os.fspath(sample.FOLDER))


def test_json_has_the_shape_that_readers_of_ruff_expect() -> None:
    items = json.loads(render("json", sample.RESULT, CONTEXT))
    assert list(items[0]) == [
        "code",
        "name",
        "filename",
        "location",
        "end_location",
        "message",
        "url",
        "fix",
        "fix_withheld",
        "status",
        "discharged_by",
        "assumes",
        "level",
        "confidence",
        "because",
        "severity",
        "derivation",
    ]
    assert items[0]["location"] == {"row": 21, "column": 14}
    assert items[0]["fix"]["applicability"] == "safe"
    assert items[0]["fix_withheld"] is None
    assert (items[1]["fix"], items[1]["fix_withheld"]) == (None, "a comment would be lost")
    assert [item["status"] for item in items] == ["violated", "unguarded", "violated", "violated"]


@pytest.mark.parametrize("output_format", ["json", "gitlab"])
def test_nothing_found_is_an_empty_array(output_format: str) -> None:
    assert json.loads(render(output_format, CheckResult(), CONTEXT)) == []


@pytest.mark.parametrize("output_format", ["json", "gitlab", "sarif"])
def test_json_survives_any_encoding_of_the_stream(output_format: str) -> None:
    item = replace(sample.LOG, filename=os.fspath(sample.FOLDER / "ñ 日本.py"), message="`ñ` can be 0")
    text = render(output_format, CheckResult((item,)), CONTEXT)
    assert text.isascii()
    assert "`ñ` can be 0" in json.dumps(json.loads(text), ensure_ascii=False)


def test_sarif_carries_rules_chains_fixes_and_problems() -> None:
    (run,) = json.loads(render("sarif", sample.RESULT, CONTEXT))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["SL101", "SL106", "SL210"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    entropy = run["results"][0]
    assert len(entropy["codeFlows"][0]["threadFlows"][0]["locations"]) == 3
    (change,) = entropy["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"] == {"uri": "train.py", "uriBaseId": "ROOT"}
    assert "fixWithheld" not in entropy["properties"]
    assert run["results"][1]["properties"]["fixWithheld"] == "a comment would be lost"
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "invalid syntax"


def test_github_escapes_what_would_end_a_command() -> None:
    lines = render("github", sample.RESULT, CONTEXT).splitlines()
    assert len(lines) == 3
    assert "%25 of them" in lines[2]
    assert "%0A" in lines[2]


def command(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as a runner takes it apart: its name, its properties and its message."""
    _, head, message = line.split("::", 2)
    name, _, listed = head.partition(" ")
    properties = dict(item.split("=", 1) for item in listed.split(","))
    for code, sign in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        properties = {key: value.replace(code, sign) for key, value in properties.items()}
        message = message.replace(code, sign) if code not in ("%3A", "%2C") else message
    return name, properties, message


@pytest.mark.parametrize(
    "name", ["a,b:c.py", "50%.py", "%2C.py", "two\nlines.py", "a::b,line=3.py", "ünï.py"]
)
def test_github_reads_back_what_was_written(name: str) -> None:
    items = [replace(item, filename=os.fspath(sample.FOLDER / name)) for item in sample.RESULT.diagnostics]
    for item, line in zip(
        items, render("github", CheckResult(tuple(items)), CONTEXT).splitlines(), strict=True
    ):
        level, properties, message = command(line)
        assert level in ("error", "warning")
        assert properties["file"] == name
        assert int(properties["line"]) == item.span.start.row
        # Columns are taken only with an end on the same line.
        assert ("col" in properties) == (properties["line"] == properties["endLine"])
        assert set(properties) <= {"title", "file", "line", "endLine", "col", "endColumn"}
        assert message.endswith(item.message)


def test_gitlab_has_what_its_reader_requires() -> None:
    items = json.loads(render("gitlab", sample.RESULT, CONTEXT))
    assert len({item["fingerprint"] for item in items}) == len(items) == 3
    for item in items:
        assert {"description", "check_name", "fingerprint", "severity", "location"} <= set(item)
        assert item["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert not item["location"]["path"].startswith(("/", "./"))
        assert item["location"]["positions"]["begin"]["line"] >= 1


@pytest.mark.parametrize("output_format", ["github", "gitlab"])
def test_paths_count_from_the_repository(output_format: str) -> None:
    inside = replace(CONTEXT, repository=os.fspath(sample.FOLDER.parent))
    assert "sample/train.py" in render(output_format, sample.RESULT, inside)
    elsewhere = replace(CONTEXT, repository="/other/repository")
    assert render(output_format, sample.RESULT, elsewhere) == render(output_format, sample.RESULT, CONTEXT)


def test_gitlab_fingerprints_survive_a_move() -> None:
    moved = replace(sample.LOG, span=sample.span(90, 1, 90, 5))
    marks = [
        json.loads(render("gitlab", CheckResult((item,)), CONTEXT))[0]["fingerprint"]
        for item in (sample.LOG, moved)
    ]
    assert marks[0] == marks[1]


@pytest.mark.parametrize("output_format", OUTPUT_FORMATS)
def test_a_file_that_is_gone_is_still_reported(output_format: str) -> None:
    item = replace(sample.ENTROPY, filename=os.fspath(sample.FOLDER / "gone.py"))
    text = render(output_format, CheckResult((item,), files=1), CONTEXT)
    assert "gone.py" in text
    assert "SL210" in text


def test_source_text_cannot_send_codes_to_the_terminal() -> None:
    path = os.fspath(sample.FOLDER / "evil.py")
    item = replace(sample.LOG, filename=path, span=sample.span(1, 1, 1, 2), derivation=(), message="\x1b[2J")
    sources = Sources({path: b"x = '\x1b[31m'  # \x07\n"})
    text = render("full", CheckResult((item,)), replace(CONTEXT, sources=sources))
    assert "\x1b" not in text
    assert "\x07" not in text


def test_quiet_leaves_the_summary_out() -> None:
    quiet = replace(CONTEXT, summary=False)
    assert render("full", CheckResult(files=3), quiet) == ""
    assert "Found" not in render("concise", sample.RESULT, quiet)


def test_a_clean_run_says_what_was_proved() -> None:
    text = render("full", CheckResult(files=2, discharge_counts={"clamp": 3, "eps": 1}), CONTEXT)
    assert text == "No findings in 2 files.\nProved safe: 4 operations; `--show-discharged` lists them.\n"


def test_a_line_that_no_person_wrote_is_shown_where_it_changes() -> None:
    text = f"X = [{', '.join(['1.0'] * 2000)}]; Y = torch.log(x)"
    edit = Edit(Span(Position(1, len(text) - 11), Position(1, len(text) + 1)), "torch.log1p(x - 1)")
    found = replace(
        sample.LOG,
        span=edit.span,
        derivation=(),
        filename="/nowhere.py",
        fix=Fix(Applicability.UNSAFE, "", (edit,)),
    )
    context = Context("/", sources=Sources({"/nowhere.py": text.encode()}))
    shown = render("full", CheckResult((found,), files=1), context).splitlines()
    changed = [line for line in shown if line.startswith(("1 -", "1 +"))]
    assert [line.partition("; ")[2] for line in changed] == ["Y = torch.log(x)", "Y = torch.log1p(x - 1)"]
    assert all(len(line) <= 120 for line in changed)
