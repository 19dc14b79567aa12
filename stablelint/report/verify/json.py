"""The document of `verify --output-format json`."""

from __future__ import annotations

import json

from stablelint.runtime.verify.outcome import Report


def render(report: Report) -> str:
    """The report as JSON; what is not finite is null or a string."""
    return json.dumps(report.to_json(), indent=2, allow_nan=False) + "\n"
