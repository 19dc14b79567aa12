"""One module a format; each has `render(result, context) -> str`."""

from __future__ import annotations

import importlib

from stablelint.report.context import Context
from stablelint.workspace.result import CheckResult


def render(name: str, result: CheckResult, context: Context) -> str:
    """The report of `result` in the format `name`, one of `config.OUTPUT_FORMATS`."""
    module = importlib.import_module(f"{__name__}.{name}")
    text: str = module.render(result, context)
    return text
