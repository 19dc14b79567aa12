"""The server as an editor meets it: a process, spoken to through the protocol."""

import asyncio
import json
from pathlib import Path

from server.editor import FAULTY, Editor, applied, drive
from stablelint.diagnostic import Position, Span
from stablelint.runtime.verify.outcome import Report, SiteReport
from stablelint.runtime.verify.site import Site, Verdict
from stablelint.workspace.runs.evidence import write_observations

from lsprotocol import types  # isort: skip - `editor` skips where it is missing

HERE = types.Range(types.Position(6, 15), types.Position(6, 15))


def test_findings_come_with_the_text_and_go_with_it(tmp_path: Path) -> None:
    (tmp_path / "loss.py").write_text(FAULTY)

    async def story(editor: Editor) -> None:
        uri = editor.open("loss.py")
        [found] = await editor.diagnostics(uri)
        assert found.code == "SL202"
        assert found.range.start == types.Position(6, 13)
        assert found.severity is types.DiagnosticSeverity.Error
        assert found.related_information
        assert [item.location.range.start.line for item in found.related_information] == [5]
        assert "underflow" in found.related_information[0].message
        editor.type(uri, FAULTY.replace("F.softmax", "F.relu"))
        assert [item.code for item in await editor.diagnostics(uri)] != ["SL202"]
        editor.type(uri, FAULTY.replace("torch.log(p)", "torch.log(p.clamp(min=1e-6))"))
        assert await editor.diagnostics(uri) == []

    drive(tmp_path, story)


def test_the_first_findings_wait_for_no_large_library(tmp_path: Path) -> None:
    async def story(editor: Editor) -> None:
        await editor.diagnostics(editor.open("loss.py", FAULTY))
        loaded = editor.libraries()
        assert not [name for name in ("torch", "numpy") if f"site-packages/{name}/" in loaded]

    drive(tmp_path, story, inlayHints=True)


def test_a_fix_is_applied_and_a_finding_silenced(tmp_path: Path) -> None:
    async def story(editor: Editor) -> None:
        uri = editor.open("loss.py", FAULTY)
        fix, ignore, read = await editor.actions(uri, HERE, ["quickfix"])
        fixed = applied(FAULTY, fix.edit, uri)
        assert "F.log_softmax(logits, dim=-1)" in fixed
        assert fix.is_preferred
        editor.type(uri, fixed)
        assert await editor.diagnostics(uri) == []
        assert "torch.log(p)  # noqa: SL202 because " in applied(FAULTY, ignore.edit, uri)
        assert read.command is not None
        await editor.client.workspace_execute_command_async(
            types.ExecuteCommandParams(read.command.command, read.command.arguments)
        )
        assert editor.opened
        assert editor.opened[0].endswith("log-of-softmax.md")

    drive(tmp_path, story)


def test_everything_safe_is_fixed_at_once_for_editors_that_resolve_and_those_that_do_not(
    tmp_path: Path,
) -> None:
    for resolves in (True, False):

        async def story(editor: Editor, resolves: bool = resolves) -> None:
            uri = editor.open("loss.py", FAULTY)
            [action] = await editor.actions(uri, HERE, ["source.fixAll"])
            assert (action.edit is None) is resolves
            if resolves:
                action = await editor.client.code_action_resolve_async(action)
            assert "F.log_softmax(logits, dim=-1)" in applied(FAULTY, action.edit, uri)

        drive(tmp_path, story, resolves=resolves)


def test_hover_and_hints_tell_the_range(tmp_path: Path) -> None:
    site = Site("SL202", "loss.py", Span(Position(7, 14), Position(7, 26)), "torch.log(p)", "", None)
    extents = {"p": {"min": 3e-9, "max": 0.97, "zeros": 0}}
    report = Report((SiteReport(site, Verdict.NOT_REPRODUCED, 64, extents),), command=("pytest",))
    write_observations(tmp_path, report, {"loss.py": FAULTY.encode()})
    (tmp_path / "pyproject.toml").write_text("[tool.stablelint]\n")

    async def story(editor: Editor) -> None:
        uri = editor.open("loss.py", FAULTY)
        assert await editor.hover(uri, 6, 23) == (
            "**[0, 1]** · tensor  \nsoftmax lies in [0, 1]; 0 is reached by underflow  \na gradient can pass"
            "  \nseen in [3e-09, 0.97] (64 times)"
        )
        assert await editor.hover(uri, 3, 0) is None
        whole = types.Range(types.Position(0, 0), types.Position(9, 0))
        hints = await editor.client.text_document_inlay_hint_async(
            types.InlayHintParams(types.TextDocumentIdentifier(uri), whole)
        )
        assert [(hint.position.line, hint.label) for hint in hints or []] == [
            (5, " ∈ [0, 1]"),
            (6, " ∈ [-inf, 0]"),
        ]
        assert str((hints or [])[0].tooltip).endswith("seen in [3e-09, 0.97] (64 times)")

    drive(tmp_path, story)


def test_columns_count_as_the_editor_counts_them(tmp_path: Path) -> None:
    text = FAULTY.replace("    chosen = ", '    chosen = "𝛼𝛽" and ')

    async def story(editor: Editor) -> None:
        uri = editor.open("loss.py", text)
        [found] = await editor.diagnostics(uri)
        line = text.split("\n")[6].encode("utf-16-le")
        start, end = found.range.start.character, found.range.end.character
        assert line[2 * start : 2 * end].decode("utf-16-le") == "torch.log(p)"

    drive(tmp_path, story)


def test_each_root_has_its_settings_and_wrong_ones_are_told_in_their_place(tmp_path: Path) -> None:
    for name, section in (("one", 'ignore = ["SL202"]'), ("two", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pyproject.toml").write_text(f"[tool.stablelint]\n{section}\n")
        (tmp_path / name / "loss.py").write_text(FAULTY)

    async def story(editor: Editor) -> None:
        one, two = editor.open("one/loss.py"), editor.open("two/loss.py")
        assert await editor.diagnostics(one) == []
        assert [item.code for item in await editor.diagnostics(two)] == ["SL202"]
        settings = tmp_path / "one" / "pyproject.toml"
        settings.write_text('[tool.stablelint]\n\nignored = ["SL202"]\n')
        editor.type(one, FAULTY + "\n")
        [wrong] = await editor.diagnostics(settings.as_uri())
        assert wrong.range.start.line == 2
        assert 'unknown key "ignored"' in wrong.message
        assert await editor.diagnostics(one) == [], "the last settings that could be read hold"
        settings.write_text("[tool.stablelint]\n")
        editor.type(one, FAULTY)
        assert [item.code for item in await editor.diagnostics(one)] == ["SL202"]
        assert await editor.until(lambda: editor.shown[settings.as_uri()] == [])

    drive(tmp_path, story)


def test_what_was_found_stays_while_a_text_does_not_parse(tmp_path: Path) -> None:
    async def story(editor: Editor) -> None:
        uri = editor.open("loss.py", FAULTY)
        [found] = await editor.diagnostics(uri)
        for typed in ("q = (\n", "q = ((\n"):
            editor.type(uri, typed + FAULTY)
            problem, moved = sorted(await editor.diagnostics(uri), key=lambda item: item.range.start.line)
            assert problem.range.start.line == 0
            assert "cannot parse" in problem.message
            assert (moved.code, moved.range.start.line) == ("SL202", found.range.start.line + 1)
            assert await editor.hover(uri, 7, 23) is None
        editor.type(uri, FAULTY.replace("torch.log(p)", "torch.log((p)"))
        [problem] = await editor.diagnostics(uri)
        assert "cannot parse" in problem.message, "what stands where it is typed is not shown"
        editor.type(uri, FAULTY)
        assert await editor.diagnostics(uri) == [found]

    drive(tmp_path, story)


def test_a_burst_of_keystrokes_ends_in_the_answer_for_the_last(tmp_path: Path) -> None:
    async def story(editor: Editor) -> None:
        uri = editor.open("loss.py", FAULTY)
        for count in range(30):
            editor.type(uri, "\n" * count + FAULTY)
        [found] = await editor.diagnostics(uri)
        assert found.range.start.line == 6 + 29

    drive(tmp_path, story)


def test_every_root_is_checked_with_progress_and_excluded_files_are_not(tmp_path: Path) -> None:
    for root in ("one", "two"):
        (tmp_path / root).mkdir()
        (tmp_path / root / "pyproject.toml").write_text(
            '[tool.stablelint]\nextend-exclude = ["vendored.py"]\n'
        )
        for name in ("loss.py", "vendored.py"):
            (tmp_path / root / name).write_text(FAULTY)

    async def story(editor: Editor) -> None:
        assert await editor.diagnostics(editor.open("one/vendored.py")) == []
        command = types.ExecuteCommandParams("stablelint.checkWorkspace", [])
        assert await editor.client.workspace_execute_command_async(command) == 2
        for root in ("one", "two"):
            assert [item.code for item in editor.shown[editor.uri(f"{root}/loss.py")]] == ["SL202"]
        assert (editor.steps[0], editor.steps[-1]) == ("begin", "end")
        assert await editor.client.workspace_execute_command_async(command) == 2, "and again"

    drive(tmp_path, story, roots=("one", "two"))


def test_a_check_of_the_workspace_is_cancelled_where_its_progress_is_shown(tmp_path: Path) -> None:
    (tmp_path / "loss.py").write_text(FAULTY)

    async def story(editor: Editor) -> None:
        command = types.ExecuteCommandParams("stablelint.checkWorkspace", [])
        work = asyncio.ensure_future(editor.client.workspace_execute_command_async(command))
        await editor.until(lambda: "begin" in editor.steps)
        [token] = editor.tokens
        editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
        assert await work == 0
        assert editor.steps[-1] == "end"
        assert editor.uri("loss.py") not in editor.shown
        assert await editor.client.workspace_execute_command_async(command) == 1, "and another is not"

    drive(tmp_path, story, inlayHints=True)


def test_a_closed_file_shows_nothing(tmp_path: Path) -> None:
    async def story(editor: Editor) -> None:
        uri = editor.open("loss.py", FAULTY)
        assert await editor.diagnostics(uri)
        document = types.TextDocumentIdentifier(uri)
        editor.client.text_document_did_close(types.DidCloseTextDocumentParams(document))
        assert await editor.until(lambda: editor.shown[uri] == [])

    drive(tmp_path, story)


def test_the_cells_of_a_notebook_are_read_as_one_program(tmp_path: Path) -> None:
    head, _, rest = FAULTY.partition("\n\n\n")
    cells = {"cell:1": "%matplotlib inline\n" + head, "cell:2": "?torch.log\n!ls\n" + rest}
    uri = (tmp_path / "study.ipynb").as_uri()
    document = types.NotebookDocument(
        uri,
        "jupyter-notebook",
        1,
        [types.NotebookCell(types.NotebookCellKind.Code, cell) for cell in cells],
    )
    (tmp_path / "study.ipynb").write_text(json.dumps({"cells": []}))

    async def story(editor: Editor) -> None:
        items = [
            types.TextDocumentItem(cell, types.LanguageKind.Python, 1, text) for cell, text in cells.items()
        ]
        editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(document, items))
        [found] = await editor.diagnostics("cell:2")
        assert found.range.start == types.Position(4, 13)
        assert await editor.diagnostics("cell:1") == []
        assert "[0, 1]" in str(await editor.hover("cell:2", 4, 23))
        at = types.Range(found.range.start, found.range.start)
        fix = (await editor.actions("cell:2", at, ["quickfix"]))[0]
        assert "log_softmax" in applied(cells["cell:2"], fix.edit, "cell:2")

    drive(tmp_path, story)


def test_without_files_the_server_answers_what_is_typed(tmp_path: Path) -> None:
    async def story(editor: Editor) -> None:
        uri = "untitled:Untitled-1"
        document = types.TextDocumentItem(uri, types.LanguageKind.Python, 1, FAULTY)
        editor.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        assert [item.code for item in await editor.diagnostics(uri)] == ["SL202"]
        command = types.ExecuteCommandParams("stablelint.checkWorkspace")
        assert await editor.client.workspace_execute_command_async(command) == 0

    drive(tmp_path, story, inlayHints=True)


def test_a_malformed_page_is_told_in_its_place_and_the_other_rules_hold(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.stablelint]\nrules = ["lint_rules"]\n')
    page = tmp_path / "lint_rules" / "my-log.md"
    page.parent.mkdir()
    page.write_text('# my-log\n\nA log.\n\n```toml\ncode = "XX001"\nseverty = "error"\n```\n')

    async def story(editor: Editor) -> None:
        uri = editor.open("loss.py", FAULTY)
        assert [item.code for item in await editor.diagnostics(uri)] == ["SL202"]
        [wrong] = await editor.diagnostics(page.as_uri())
        assert (wrong.range.start.line, wrong.severity) == (6, types.DiagnosticSeverity.Error)
        page.unlink()
        editor.type(uri, FAULTY + "\n")
        assert await editor.until(lambda: editor.shown[page.as_uri()] == [])

    drive(tmp_path, story)
