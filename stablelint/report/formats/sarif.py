"""SARIF 2.1.0: findings with their chains as code flows, their fixes, and the pages of their rules."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from stablelint import __version__
from stablelint.diagnostic import Diagnostic, Fix, Level, Problem, Span
from stablelint.report.context import Context
from stablelint.workspace.baseline import marked
from stablelint.workspace.notebooks import cell_of
from stablelint.workspace.result import CheckResult

if TYPE_CHECKING:
    from stablelint.catalog import Rule

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(result: CheckResult, context: Context) -> str:
    """One run; what the tool could not do is a notification of its invocation."""
    first_of_code: dict[str, Diagnostic] = {}
    for item in result.diagnostics:
        first_of_code.setdefault(item.code, item)
    codes = sorted(first_of_code)
    run = {
        "tool": {
            "driver": {
                "name": "stablelint",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(first_of_code[code], context) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"ROOT": {"uri": "file://" + _quoted(context.folder.rstrip("/") + "/")}},
        "invocations": [
            {
                "executionSuccessful": not result.problems,
                "toolExecutionNotifications": [_notification(one, context) for one in result.problems],
            }
        ],
        "results": [
            _result(item, codes.index(item.code), mark, context)
            for item, mark in marked(result.diagnostics, context.folder)
        ],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2) + "\n"


def _rule(example: Diagnostic, context: Context) -> dict[str, Any]:
    page = context.rules.get(example.code)
    summary, text = (example.name, example.message) if page is None else (page.summary, page.text)
    return {
        "id": example.code,
        "name": example.name,
        "defaultConfiguration": {"level": example.severity.value},
        **({"helpUri": example.url} if example.url else {}),
        "shortDescription": {"text": summary},
        # GitHub's code scanning refuses a rule without this one.
        "fullDescription": {"text": summary if page is None else _reason(page)},
        "help": {"text": text, "markdown": text},
    }


def _reason(page: Rule) -> str:
    """The first paragraph of what the page says against the code, else its summary."""
    prose = page.sections.get("Why is this bad?", "")
    return " ".join(prose.split("\n\n", 1)[0].split()) or page.summary


def _result(item: Diagnostic, index: int, fingerprint: str, context: Context) -> dict[str, Any]:
    described: dict[str, Any] = {
        "ruleId": item.code,
        "ruleIndex": index,
        "level": item.severity.value if item.level is Level.LIKELY else "note",
        "rank": round(100 * item.confidence, 1),
        "message": {"text": item.message},
        "locations": [_location(item.filename, item.span, context)],
        "partialFingerprints": {"stablelint/v1": fingerprint},
        "properties": _properties(item),
    }
    if item.derivation:
        steps = [
            {"location": _location(step.filename or item.filename, step.span, context, step.text)}
            for step in item.derivation
        ]
        described["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if item.fix is not None:
        described["fixes"] = [_fix(item.filename, item.fix, context)]
    return described


def _properties(item: Diagnostic) -> dict[str, str]:
    """What SARIF has no field for."""
    properties = {"status": item.status.value, "level": item.level.value}
    if (cell := cell_of(item.filename)[1]) is not None:
        properties["cell"] = str(cell)
    if item.fix_withheld:
        properties["fixWithheld"] = item.fix_withheld
    return properties


def _location(filename: str, span: Span, context: Context, text: str | None = None) -> dict[str, Any]:
    place: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": _artifact(filename, context), "region": _region(span)}
    }
    if text is not None:
        place["message"] = {"text": text}
    return place


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.start.row,
        "startColumn": span.start.column,
        "endLine": span.end.row,
        "endColumn": span.end.column,
    }


def _artifact(filename: str, context: Context) -> dict[str, str]:
    filename, _ = cell_of(filename)
    relative = context.path(filename)
    if relative == filename:
        return {"uri": "file://" + _quoted(filename)}
    return {"uri": _quoted(relative), "uriBaseId": "ROOT"}


def _quoted(path: str) -> str:
    return quote(os.fsencode(path))  # a path need not be UTF-8


def _fix(filename: str, fix: Fix, context: Context) -> dict[str, Any]:
    changes = [
        {
            "artifactLocation": _artifact(path, context),
            "replacements": [
                {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.content}}
                for edit in edits
            ],
        }
        for path, edits in fix.by_file(filename).items()
    ]
    description = {"text": f"{fix.message} ({fix.applicability.value})"}
    return {"description": description, "artifactChanges": changes}


def _notification(problem: Problem, context: Context) -> dict[str, Any]:
    described: dict[str, Any] = {"level": "error", "message": {"text": problem.message}}
    if problem.filename:
        location: dict[str, Any] = {"artifactLocation": _artifact(problem.filename, context)}
        if problem.position is not None:
            location["region"] = {"startLine": problem.position.row, "startColumn": problem.position.column}
        described["locations"] = [{"physicalLocation": location}]
    return described
