from textwrap import dedent

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog
from stablelint.diagnostic import Diagnostic

CATALOG = load_catalog(entry_points=False)
HEAD = """
import torch
from collections import OrderedDict
import torch.nn.functional as F
from torch import nn
"""


def findings(code: str, body: str) -> list[str]:
    """The source lines at which a rule speaks."""
    lines = (HEAD + dedent(body)).splitlines()
    return [lines[d.span.start.row - 1].strip() for d in _checked(body) if d.code == code]


def reasons(code: str, body: str) -> list[str]:
    """Why a rule has no fix where it speaks."""
    return [d.fix_withheld or "" for d in _checked(body) if d.code == code]


def _checked(body: str) -> tuple[Diagnostic, ...]:
    source = HEAD + dedent(body)
    report = check_source(source.encode(), "program.py", CATALOG, AnalysisOptions())
    assert report.problems == ()
    return report.diagnostics
