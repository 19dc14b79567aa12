"""What is shown of a slow file while one types agrees with the whole answer that follows."""

import ast
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("pygls", reason="the language server is not installed")

from lsprotocol import types

from server.editor import FAULTY, Editor, drive
from stablelint import check
from stablelint.analysis.check import AnalysisOptions, Focus, check_source
from stablelint.catalog import load_catalog
from stablelint.diagnostic import Diagnostic
from stablelint.server.glance import change_in_function

_FIXTURES = Path(__file__).parents[2] / "fixtures"
_HELPERS = """
def _share(weights):
    return weights / weights.sum()

def shares(logits):
    return _share(torch.softmax(logits, 0)), _share(torch.relu(logits))

def deep(logits):
    return torch.log(_share(logits))
"""
_TYPED = ("typed = 1", "return None", "typed = torch.zeros(3).log()", "if typed:\n{}    pass", "# typed")


def _programs() -> list[str]:
    found = sorted(_FIXTURES.glob("*/buggy.py"))
    assert len(found) > 20
    joined = ["\n".join(path.read_text("utf-8") for path in found[at::12]) + _HELPERS for at in range(12)]
    return [text for text in joined if "from __future__" not in text]


def _statements(text: str) -> list[ast.stmt]:
    """The statements that stand directly in a function."""
    functions = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef))
    return [statement for node in functions for statement in node.body]


def _found(text: str, rows: range | None = None) -> tuple[Diagnostic, ...]:
    options = AnalysisOptions(focus=Focus(rows))
    return check_source(text.encode(), "program.py", load_catalog(entry_points=False), options).diagnostics


@settings(deadline=None, max_examples=15)
@given(st.sampled_from(_programs()), st.data(), st.sampled_from(_TYPED))
def test_a_function_looked_at_alone_has_the_findings_that_it_has_in_its_file(
    text: str, data: st.DataObject, typed: str
) -> None:
    at = data.draw(st.sampled_from(_statements(text)))
    lines = text.split("\n")
    indent = " " * at.col_offset
    after = [*lines[: at.lineno - 1], *(indent + typed.format(indent)).split("\n"), *lines[at.lineno - 1 :]]
    known = change_in_function(lines, after, "\n".join(after).encode())
    assume(known is not None)  # a comment above the first statement may belong to the signature
    assert known is not None
    assert at.lineno in known.rows
    whole = _found("\n".join(after))
    assert [d for d in whole if d.span.start.row in known.rows] == list(_found("\n".join(after), known.rows))


@pytest.mark.parametrize("seed", range(3))
def test_after_any_edits_what_is_shown_is_what_a_fresh_check_finds(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    program, helper = tmp_path / "program.py", tmp_path / "helper.py"
    (tmp_path / "pyproject.toml").write_text("[tool.stablelint]\n")
    text = (
        "from helper import share\n"
        + random.choice(_programs())
        + "\n\ndef shared(x):\n    return torch.log(share(x))\n"
    )
    program.write_text(text)

    async def story(editor: Editor) -> None:
        typed = text
        uri = editor.open("program.py")
        for _ in range(8):
            bounded = random.choice(("torch.softmax(x, 0)", "torch.softmax(x, 0) + 1e-3", "x"))
            helper.write_text(f"import torch\n\n\ndef share(x):\n    return {bounded}\n")
            typed = _edited(typed, random)
            editor.type(uri, typed)
            await editor.diagnostics(uri)
            await editor.hover(uri, 0, 0)  # which waits for the whole
            found = check(typed, filename=program, possible=True, use_cache=False)
            assert sorted((d.range.start.line + 1, str(d.code)) for d in editor.shown[uri]) == [
                (d.span.start.row, d.code) for d in sorted(found, key=lambda d: (d.span.start.row, d.code))
            ]

    drive(tmp_path, story)


def _edited(text: str, random: Random) -> str:
    """The text with a statement more, or one less, in some function."""
    at = random.choice(_statements(text))
    lines, indent = text.split("\n"), " " * at.col_offset
    kept = (
        lines[at.lineno - 1 :] if random.random() < 0.7 else [f"{indent}pass", *lines[at.end_lineno or 0 :]]
    )
    typed = random.choice(_TYPED).format(indent)
    return "\n".join([*lines[: at.lineno - 1], *(indent + typed).split("\n"), *kept])


@given(st.lists(st.sampled_from("ab"), max_size=9), st.integers(0, 9), st.integers(0, 3), st.integers(0, 3))
def test_what_stands_outside_of_a_change_moves_with_its_line(
    names: list[str], at: int, gone: int, come: int
) -> None:
    before = ["def f():", "    x = 0", *(f"    {name}{i} = 0" for i, name in enumerate(names)), "", "y = 0"]
    at = min(at + 2, len(before) - 2)
    after = [*before[:at], *["    new = 0"] * come, *before[min(at + gone, len(before) - 2) :]]
    known = change_in_function(before, after, "\n".join(after).encode())
    assume(known is not None)
    assert known is not None
    place = types.Range(types.Position(len(before) - 1, 0), types.Position(len(before) - 1, 5))
    inside = types.Range(types.Position(1, 4), types.Position(1, 9))
    shown = [types.Diagnostic(range=item, message="") for item in (inside, place)]
    [moved] = known.moved(shown)
    assert after[moved.range.start.line] == "y = 0"


def test_a_change_of_what_others_see_is_left_to_the_whole_answer() -> None:
    before = ["import torch", "def f(x):", "    return x", "def g(x):", "    return x"]
    for row, line in ((0, "import math"), (1, "def f(x, y):"), (2, "return ((")):
        after = [*before[:row], line, *before[row + 1 :]]
        assert change_in_function(before, after, "\n".join(after).encode()) is None
    both = [line.replace("return x", "return x + 1") for line in before]
    assert change_in_function(before, both, "\n".join(both).encode()) is None


def test_a_file_that_may_be_slow_is_answered_for_the_function_that_is_typed_in_and_then_whole(
    tmp_path: Path,
) -> None:
    head = FAULTY + "\n\ndef other(x):\n    y = 1\n    return x\n\n\n"
    text = head + "def last(x):\n    return torch.log(torch.softmax(x, 0))\n"
    typed = text.replace("    y = 1\n", "    y = 1\n    z = torch.log(torch.softmax(x, 0))\n")
    (tmp_path / "loss.py").write_text(text)  # what is on disk says nothing of how long an answer takes

    async def story(editor: Editor) -> None:
        uri = editor.open("loss.py")
        assert [item.code for item in await editor.diagnostics(uri)] == ["SL202", "SL202"]
        editor.type(uri, typed)
        first = await editor.diagnostics(uri)
        await editor.until(lambda: editor.answers[uri] == 2 or None)
        assert sorted(first, key=lambda item: item.range.start.line) == editor.shown[uri]
        assert [item.code for item in first] == ["SL202"] * 3
        editor.type(uri, text + "\n")
        await editor.diagnostics(uri)
        await editor.hover(uri, 5, 8)  # which waits for the whole
        assert editor.answers[uri] == 1, "a file that is answered at once is answered once"

    drive(tmp_path, story)
