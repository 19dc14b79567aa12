from textwrap import dedent

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog

CATALOG = load_catalog(entry_points=False)
HEAD = """
import torch
from collections import OrderedDict
import torch.nn.functional as F
from torch import nn
"""


def findings(code: str, body: str) -> list[str]:
    """The source lines at which a rule speaks."""
    source = HEAD + dedent(body)
    report = check_source(source.encode(), "program.py", CATALOG, AnalysisOptions())
    assert report.problems == ()
    lines = source.splitlines()
    return [lines[d.span.start.row - 1].strip() for d in report.diagnostics if d.code == code]
