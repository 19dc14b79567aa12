"""A notebook is read as Python cell by cell, and only the source of what changed is written back."""

import ast
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablelint.syntax.notebook import Notebook, read_notebook, without_magic
from stablelint.syntax.source import SourceError


def cell(source: str | list[str], kind: str = "code") -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {"z": 1, "a": 1.50}, "source": source}


def file_of(*cells: dict[str, Any], indent: int | None = 1, ascii: bool = False, tail: str = "\n") -> str:
    content = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=indent, ensure_ascii=ascii) + tail


def read(file: str) -> Notebook:
    return read_notebook(file.encode(), "n.ipynb")


TEXTS = st.text(alphabet=st.sampled_from("ab =1%!?#\\\n\té\u2028\U0001f600"), max_size=30)


@given(
    st.lists(st.tuples(TEXTS, st.booleans(), st.booleans()), max_size=4),
    st.booleans(),
    st.sampled_from([None, 1, "\t"]),
)
def test_what_does_not_change_is_written_as_it_was(cells: Any, ascii: bool, indent: Any) -> None:
    made = [
        cell(t.splitlines(keepends=True) if listed else t, "code" if code else "raw")
        for t, listed, code in cells
    ]
    notebook = read(file_of(*made, ascii=ascii, indent=indent))
    assert notebook.with_text(notebook.text) == notebook.file


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("tail", ["", "\n"])
@pytest.mark.parametrize("ascii", [True, False])
def test_a_change_of_one_cell_touches_its_source_alone(indent: int | None, tail: str, ascii: bool) -> None:
    before = [
        cell(["# é\n"], "markdown"),
        cell(["%time\n", "x = 'é'\n", "y = 1"]),
        cell("z = 2\n!ls"),
        cell([]),
    ]
    after = [before[0], cell(["%time\n", "x = 'é'\n", "w = 0\n", "y = 3"]), cell("z = 4\n!ls"), before[3]]
    notebook = read(file_of(*before, indent=indent, tail=tail, ascii=ascii))
    text = notebook.text.replace("y = 1", "w = 0\ny = 3").replace("z = 2", "z = 4")
    assert notebook.with_text(text) == file_of(*after, indent=indent, tail=tail, ascii=ascii)


def test_what_is_put_above_all_cells_goes_to_the_first() -> None:
    notebook = read(file_of(cell("x = 1"), cell("y = 2")))
    assert notebook.with_text("import math\n" + notebook.text) == file_of(
        cell("import math\nx = 1"), cell("y = 2")
    )


def test_a_text_that_has_lost_a_cell_is_not_written() -> None:
    notebook = read(file_of(cell("x = 1"), cell("y = 2")))
    with pytest.raises(ValueError, match="cell 2"):
        notebook.with_text(notebook.text.replace(notebook.marks[1], ""))


def test_cells_count_from_one_among_all_and_rows_from_one_in_each() -> None:
    notebook = read(file_of(cell("# text", "markdown"), cell("a = 1\nb = 2"), cell("c = 3")))
    row = notebook.text.split("\n").index("b = 2") + 1
    found = notebook.cell_at(row)
    assert found is not None
    assert (found.number, row - found.first + 1) == (2, 2)


def test_a_notebook_in_another_language_has_no_cells() -> None:
    other = json.dumps({"cells": [cell("x <- 1")], "metadata": {"kernelspec": {"language": "R"}}})
    assert read(other).text == ""


MAGIC = {
    "%matplotlib inline": "pass",
    "    !pip install torch": "    pass",
    "files = !ls": "pass",
    "net?": "pass",
    "?net": "pass",
    "x = y % z": "x = y % z",
    "s = '''\n%d\n'''": "s = '''\n%d\n'''",
    "%%bash\nls": "#\n#",
    "%%time\nx = 1": "pass\nx = 1",
    "!pip install \\\n  torch": "pass\n#",
    "await f()": "await f()",
}


@pytest.mark.parametrize("text", MAGIC)
def test_what_only_ipython_understands_does_nothing(text: str) -> None:
    plain = "\n".join(without_magic(text.split("\n")))
    assert plain == MAGIC[text]
    ast.parse("if 1:\n" + plain if plain.startswith(" ") else plain)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("[]", "no list of cells"),
        ("{}", "no list of cells"),
        ('{"worksheets": []}', "format before 4"),
        ('{"cells": [{"cell_type": "code"}]}', "no source"),
        ('{"cells": [{"cell_type": "code", "source": 3}]}', "no source"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_notebook_is_one_problem(file: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        read(file)


@pytest.mark.parametrize("item", ["3", "null", "[]", "{}"])
def test_a_cell_that_is_none_is_passed_over(item: str) -> None:
    assert read(f'{{"cells": [{item}]}}').text == ""
