"""For machines: an array shaped like ruff's, with status, level, severity, derivation and the like besides."""

from __future__ import annotations

import json
from typing import Any

from stablelint.diagnostic import Diagnostic, Fix
from stablelint.report.context import Context
from stablelint.workspace.notebooks import cell_of
from stablelint.workspace.result import CheckResult


def render(result: CheckResult, context: Context) -> str:
    """All findings, then what was proved safe if that was asked for. File names are absolute."""
    items = [as_object(item) for item in (*result.diagnostics, *result.discharged)]
    return json.dumps(items, indent=2) + "\n"


def as_object(item: Diagnostic) -> dict[str, Any]:
    """One finding as a JSON object. Rows and columns count from 1."""
    return {
        "code": item.code,
        "name": item.name,
        **_file(item.filename),
        **item.span.as_json(),
        "message": item.message,
        "url": item.url,
        "fix": None if item.fix is None else _fix(item.fix),
        "fix_withheld": item.fix_withheld,
        "status": item.status.value,
        "discharged_by": item.discharged_by,
        "assumes": list(item.assumes),
        "level": item.level.value,
        "confidence": item.confidence,
        "because": [
            {"fact": reason.fact, "sentence": reason.sentence, "weight": reason.weight}
            for reason in item.because
            if reason.weight
        ],
        "severity": item.severity.value,
        "derivation": [
            {"message": step.text, **_file(step.filename or item.filename), **step.span.as_json()}
            for step in item.derivation
        ],
    }


def _file(filename: str) -> dict[str, Any]:
    """A file, and the cell of a notebook, as members of a JSON object."""
    path, cell = cell_of(filename)
    return {"filename": path, **({"cell": cell} if cell is not None else {})}


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "message": fix.message,
        **({"caution": fix.caution} if fix.caution else {}),
        "edits": [edit.as_json() for edit in fix.edits],
    }
