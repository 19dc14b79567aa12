"""An editor that speaks the protocol to a real server process."""

import ast
import asyncio
import atexit
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server is not installed")

from lsprotocol import types
from pygls.lsp.client import LanguageClient

FAULTY = """\
import torch
import torch.nn.functional as F


def loss(logits, target):
    p = F.softmax(logits, dim=-1)
    chosen = torch.log(p)
    return -(chosen * target).sum()
"""


class Editor:
    """Holds what the server has published, and the version of each document."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = LanguageClient("editor", "1")
        self.shown: dict[str, list[types.Diagnostic]] = {}
        self.opened: list[str] = []  # what the server asked to be shown
        self.tokens: list[types.ProgressToken] = []  # of what the server shows progress of
        self.steps: list[str] = []  # of that: "begin", "report", "end"
        self._news = asyncio.Event()
        self._versions: dict[str, int] = {}
        self.answers: dict[str, int] = {}  # how often the newest text of a document was answered
        self.answered: dict[str, float] = {}  # and when the last time

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            if params.version is None or params.version == self._versions.get(params.uri, params.version):
                self.shown[params.uri] = list(params.diagnostics)
                self.answers[params.uri] = self.answers.get(params.uri, 0) + 1
                self.answered[params.uri] = time.perf_counter()
                self._news.set()

        @self.client.feature(types.WINDOW_SHOW_DOCUMENT)
        def show(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
            self.opened.append(params.uri)
            return types.ShowDocumentResult(True)

        @self.client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
        def create(params: types.WorkDoneProgressCreateParams) -> None:
            self.tokens.append(params.token)

        @self.client.feature(types.PROGRESS)
        def progressed(params: types.ProgressParams) -> None:
            self.steps.append(getattr(params.value, "kind", None) or params.value["kind"])
            self._news.set()

    async def start(self, *, resolves: bool = True, roots: tuple[str, ...] = (".",), **options: Any) -> None:
        support = types.ClientCodeActionResolveOptions(["edit"]) if resolves else None
        actions = types.CodeActionClientCapabilities(resolve_support=support)
        capabilities = types.ClientCapabilities(
            text_document=types.TextDocumentClientCapabilities(code_action=actions),
            window=types.WindowClientCapabilities(work_done_progress=True),
        )
        await self.client.start_io(sys.executable, "-m", "stablelint", "server")
        folders = [types.WorkspaceFolder((self.folder / root).as_uri(), root) for root in roots]
        await self.client.initialize_async(
            types.InitializeParams(capabilities, workspace_folders=folders, initialization_options=options)
        )
        self.client.initialized(types.InitializedParams())

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str | None = None) -> str:
        """Opens a file, with its text on disk or another."""
        uri = self.uri(name)
        self._versions[uri] = 1
        known = (self.folder / name).read_text("utf-8") if text is None else text
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, types.LanguageKind.Python, 1, known))
        )
        return uri

    def type(self, uri: str, text: str) -> None:
        """Replaces the text of a document, unsaved."""
        self._versions[uri] += 1
        self.shown.pop(uri, None)
        self.answers[uri] = 0
        change = types.TextDocumentContentChangeWholeDocument(text)
        identifier = types.VersionedTextDocumentIdentifier(self._versions[uri], uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))

    async def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """What the server publishes for the newest text of a document."""
        return await self.until(lambda: self.shown.get(uri))

    async def until(self, condition: Callable[[], Any]) -> Any:
        """Waits for news that fulfil a condition."""

        async def wait() -> Any:
            while (found := condition()) is None or found is False:
                self._news.clear()
                await self._news.wait()
            return found

        return await asyncio.wait_for(wait(), 30)

    def libraries(self) -> str:
        """The files that the server has mapped into its memory; "" where the system does not tell."""
        process = self.client._server
        try:
            return Path(f"/proc/{process.pid if process else 0}/maps").read_text()
        except OSError:
            return ""

    async def hover(self, uri: str, line: int, character: int) -> str | None:
        found = await self.client.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        )
        return None if found is None else str(getattr(found.contents, "value", found.contents))

    async def actions(
        self, uri: str, at: types.Range, only: list[str] | None = None
    ) -> list[types.CodeAction]:
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(uri), at, types.CodeActionContext([], only=only)
        )
        found = await self.client.text_document_code_action_async(params) or []
        # The client's own reading takes an action that has a command for the command alone.
        return [item if isinstance(item, types.CodeAction) else _action(item) for item in found]


def _action(read: types.Command) -> types.CodeAction:
    command: Any = read.command
    return types.CodeAction(read.title, command=types.Command(**ast.literal_eval(command)))


_runner = asyncio.Runner()
_shared: list[Editor] = []


def drive(folder: Path, story: Callable[[Editor], Awaitable[None]], **options: Any) -> None:
    """Runs a story; with no options of its own, in the one editor that the tests of a process share."""

    async def run() -> None:
        if options:
            editor = Editor(folder)
            await editor.start(**options)
            try:
                await story(editor)
            finally:
                await editor.stop()
            return
        if not _shared:
            _shared.append(Editor(folder))
            await _shared[0].start()
            atexit.register(lambda: _runner.run(_shared[0].stop()))
        _shared[0].folder = folder
        await story(_shared[0])

    _runner.run(run())


def applied(text: str, edit: types.WorkspaceEdit | None, uri: str) -> str:
    """The text after an edit, of which all columns count ASCII characters."""
    assert edit is not None
    assert edit.changes is not None
    lines = text.split("\n")

    def offset(at: types.Position) -> int:
        return sum(len(line) + 1 for line in lines[: at.line]) + at.character

    for change in sorted(edit.changes[uri], key=lambda item: offset(item.range.start), reverse=True):
        text = text[: offset(change.range.start)] + change.new_text + text[offset(change.range.end) :]
    return text
