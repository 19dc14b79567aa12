"""The fourteen patterns of the study "Investigating and Detecting Silent Bugs in PyTorch Programs" (SANER 2024).

    git clone https://github.com/Hong-Shuo/PYSIASSIST
    python benchmarks/silent_bugs.py --study PYSIASSIST [--page docs/training.md]

Two sets of snippets are checked: those of `benchmarks/data/silent_bugs.toml`, and, where a checkout of the study is given,
the posts on which its authors evaluated their checker, with the verdicts that they recorded. A snippet counts as found
where a rule of its pattern speaks, at whatever confidence. The posts are counted twice: all of them, and those whose text
shows the mistake (`not_shown` in the same file gives the others, and the reasons).
"""

import argparse
import textwrap
import tomllib
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import page

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog
from stablelint.catalog.catalog import Catalog

_SNIPPETS = Path(__file__).parent / "data" / "silent_bugs.toml"
_HEAD = """
import torch, time, random, torchvision
import numpy as np
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable
from torch.optim import SGD, Adam, lr_scheduler
from torch.utils.data import DataLoader, Dataset, RandomSampler, TensorDataset
from torchvision import datasets, models, transforms
"""
_LOSSES = (*(f"SL{number}" for number in range(301, 320)), "SL612", "SL637", "SL101", "SL638", "SL639")
_PATTERNS = (
    ("model initialisation", ("SL607", "SL610", "SL641")),
    ("model evaluation", ("SL615", "SL622", "SL623")),
    (
        "optimizer and loss",
        "SL408 SL601 SL603 SL604 SL605 SL608 SL614 SL617 SL620 SL628 SL629 SL640 SL642".split(),
    ),
    ("model storage", ("SL613", "SL634", "SL644")),
    ("computational graph", "SL605 SL609 SL614 SL620 SL629 SL643".split()),
    ("loading data", ("SL624", "SL630")),
    ("random numbers", ("SL624", "SL635")),
    ("preprocessing", ("SL625", "SL636")),
    ("`Variable`", ("SL620", "SL626", "SL629", "SL632", "SL641")),
    ("loss and activation", _LOSSES),
    ("`view`", ("SL619",)),
    ("`.data`", ("SL609", "SL620", "SL633", "SL643")),
    ("clocks and the GPU", ("SL631",)),
    ("cuDNN", ("SL627",)),
)
_CELL = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of code with its pattern (1 to 14), whether it is faulty and shows it, and what the study's checker said."""

    pattern: int
    faulty: bool
    code: str
    flagged: bool = False
    shown: bool = True


def _table(name: str) -> list[dict[str, Any]]:
    """A table of the file of snippets."""
    table: list[dict[str, Any]] = tomllib.loads(_SNIPPETS.read_text("utf-8"))[name]
    return table


def own() -> list[Snippet]:
    """The snippets of this project."""
    return [
        Snippet(group["pattern"], kind == "faulty", group["program"].replace("…", line))
        for group in _table("snippet")
        for kind in ("faulty", "repaired")
        for line in group[kind]
    ]


def of_study(checkout: Path) -> list[Snippet]:
    """The posts of the study's evaluation: the sheets of faulty and of repaired code, `T` where its checker was right."""
    book = zipfile.ZipFile(checkout / "dataset" / "testing_codes_set.xlsx")
    strings = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
    texts = ["".join(t.text or "" for t in string.iter(f"{_CELL}t")) for string in strings]
    hidden = {post for group in _table("not_shown") for post in group["posts"]}
    found: list[Snippet] = []
    places: Counter[int] = Counter()
    for faulty, sheet in ((True, "sheet1"), (False, "sheet2")):
        rows = ElementTree.fromstring(book.read(f"xl/worksheets/{sheet}.xml")).iter(f"{_CELL}row")
        for row in rows:
            cells = _cells(row, texts)
            if cells.get("A", "").isdigit() and "C" in cells:
                pattern, right = int(cells["A"]), cells.get("D") == "T"
                places[pattern] += faulty
                shown = not faulty or f"{pattern}.{places[pattern]}" not in hidden
                found.append(Snippet(pattern, faulty, cells["C"], right is faulty, shown))
    return found


def _cells(row: ElementTree.Element, texts: list[str]) -> dict[str, str]:
    """The text of a row's cells by column."""
    found = {}
    for cell in row.iter(f"{_CELL}c"):
        value = cell.findtext(f"{_CELL}v")
        if value is not None:
            found[cell.get("r", "").rstrip("0123456789")] = (
                texts[int(value)] if cell.get("t") == "s" else value
            )
    return found


def speaks(snippet: Snippet, catalog: Catalog) -> bool:
    """Whether a rule of the snippet's pattern speaks of it; what is no Python is passed over."""
    text = snippet.code.replace("_x000D_", "").replace("\r", "").replace("\xa0", " ")
    for source in (_HEAD + text, _HEAD + textwrap.dedent(text)):
        report = check_source(source.encode(), "post.py", catalog, AnalysisOptions())
        if not report.problems:
            return any(found.code in _PATTERNS[snippet.pattern - 1][1] for found in report.diagnostics)
    return False


def rows_of(snippets: list[Snippet], catalog: Catalog, *, theirs: bool) -> list[list[str]]:
    """A row a pattern: faulty snippets found and repaired ones spoken of, by stablelint and by the study's checker."""
    counts: Counter[tuple[int, str]] = Counter()
    for snippet in snippets:
        kind = "faulty" if snippet.faulty else "repaired"
        kinds = (kind, "shown") if snippet.faulty and snippet.shown else (kind,)
        verdicts = {"": True, "ours": speaks(snippet, catalog), "theirs": snippet.flagged}
        for tool, holds in verdicts.items():
            counts.update({(i, kind + tool): int(holds) for i in (snippet.pattern, 0) for kind in kinds})
    names = {i: name for i, (name, _) in enumerate(_PATTERNS, 1)} | {0: "all"}
    columns = [(kind, tool) for tool in ("ours", "theirs") for kind in ("faulty", "shown", "repaired")]
    shown = columns if theirs else [("faulty", "ours"), ("repaired", "ours")]
    return [
        [name, *(f"{counts[i, kind + tool]} of {counts[i, kind]}" for kind, tool in shown)]
        for i, name in names.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--study", type=Path, help="a checkout of the study's repository")
    parser.add_argument("--page", type=Path, help="the page whose tables are to be renewed")
    options = parser.parse_args()
    catalog = load_catalog(entry_points=False)  # the reports hold what is off by default, too
    tables = {"snippets": (["pattern", "faulty", "repaired"], rows_of(own(), catalog, theirs=False))}
    if options.study is not None:
        head = [
            "pattern",
            *(kind + tool for tool in ("", ", by PYSIASSIST") for kind in ("faulty", "shown", "repaired")),
        ]
        tables["study"] = (head, rows_of(of_study(options.study), catalog, theirs=True))
    for name, (head, rows) in tables.items():
        text = page.table(head, rows)
        print(text)
        if options.page is not None:
            page.fill(options.page, name, text)


if __name__ == "__main__":
    main()
