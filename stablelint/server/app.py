"""The server: the newest text of each document, and what is known of it.

The findings of a text are worked out in one thread beside the one that listens, the newest text first: a keystroke
discards what is not begun, and what is finished for an older text is thrown away.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from stablelint import __version__
from stablelint.diagnostic import Diagnostic, Problem, Span
from stablelint.records import dataclass, field
from stablelint.server import speak
from stablelint.server.glance import change_in_function, kept
from stablelint.server.projects import Project, Projects, on_disk
from stablelint.server.text import Text
from stablelint.workspace.pipeline import check

if TYPE_CHECKING:
    from stablelint.analysis.ranges_at import Ranges
    from stablelint.workspace.runs.seen import Seen

_PAUSE = 0.003  # seconds: keystrokes of one burst, and the changes of one command, are answered once
_STACK_BYTES = 64 << 20  # nested expressions go deeper than a thread's own stack on some systems
_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [
        types.NotebookDocumentFilterWithCells(
            [types.NotebookCellLanguage("python")], notebook="jupyter-notebook"
        )
    ]
)
P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class Known:
    """What was found in the newest text of a file for which there is an answer."""

    text: Text
    project: Project
    findings: tuple[Diagnostic, ...]
    ranges: dict[range, tuple[Ranges, Mapping[Span, Seen]]] = field(default_factory=dict)  # by rows
    fixable: tuple[Diagnostic, ...] | None = None
    uris: frozenset[str] = field(default_factory=frozenset)
    shown: dict[str, list[types.Diagnostic]] = field(default_factory=dict)  # by document


class Server(LanguageServer):
    """Checks what is open. `known` holds the answers by path."""

    def __init__(self) -> None:
        super().__init__("stablelint", __version__, notebook_document_sync=_NOTEBOOKS)
        threading.stack_size(_STACK_BYTES)
        self._thread = ThreadPoolExecutor(1, "stablelint")
        self._projects = Projects()
        self._pending: dict[str, asyncio.Task[Known | None]] = {}
        self._shown_by: dict[str, set[str]] = {}  # files with problems, by the folder that has shown them
        self.known: dict[str, Known] = {}
        self.hinting = True

    def warm_up(self) -> None:
        """Loads the analysis while the editor and the server make each other's acquaintance."""
        self._thread.submit(importlib.import_module, "stablelint.analysis.ranges_at")
        self._thread.submit(importlib.import_module, "stablelint.codemod.propose")

    async def aside(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Does some work in the other thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(work, *args, **kwargs))

    def text_of(self, uri: str) -> Text | None:
        """The text to which an open document belongs; None where it is no Python of a file."""
        notebook = self.workspace.get_notebook_document(cell_uri=uri)
        if notebook is None:
            notebook = self.workspace.get_notebook_document(notebook_uri=uri)
        codec = self.workspace.position_codec
        if notebook is not None:
            documents = self.workspace.text_documents
            cells = [
                (cell.document, documents[cell.document].source)
                for cell in notebook.cells
                if cell.kind is types.NotebookCellKind.Code and cell.document in documents
            ]
            path = os.path.splitext(path_of(notebook.uri))[0] + ".ipynb"
            return Text.of_cells(path, cells, codec, notebook.version) if cells else None
        document = self.workspace.text_documents.get(uri)
        if document is None or document.language_id not in (None, "", "python"):
            return None
        return Text.of_file(path_of(uri), uri, document.source, codec, document.version)

    def refresh(self, uri: str) -> asyncio.Task[Known | None]:
        """Looks at a document anew; what is under way for its former text is discarded."""
        text = self.text_of(uri)
        key = text.path if text is not None else uri
        if key in self._pending:
            self._pending[key].cancel()
        task = self._pending[key] = asyncio.ensure_future(self._look(uri))
        return task

    async def current(self, uri: str) -> Known | None:
        """The answer for the text as it is now."""
        text = self.text_of(uri)
        if text is None:
            return None
        known = self.known.get(text.path)
        if known is not None and known.text.data == text.data:
            return known
        try:
            return await asyncio.shield(self._pending.get(text.path) or self.refresh(uri))
        except asyncio.CancelledError:
            return None

    async def _look(self, uri: str) -> Known | None:
        await asyncio.sleep(_PAUSE)
        text = self.text_of(uri)
        if text is None:
            return None
        project = await self.aside(self._projects.of, text.path)
        abandoned = threading.Event()
        try:
            await self._glance(text, project, abandoned)
            result = await self.aside(project.check, text.path, text.data, abandoned.is_set)
        except asyncio.CancelledError:
            abandoned.set()
            raise
        known = Known(text, project, result.diagnostics, uris=frozenset(part.uri for part in text.parts))
        known.shown = self._shown(known, result.problems)
        if result.problems and not text.is_notebook:
            await self._keep(known)
        self.known[text.path] = known
        self.publish(known.shown, None if text.is_notebook else text.version)
        self._publish_problems(os.path.dirname(text.path), project.problems)
        return known

    async def _glance(self, text: Text, project: Project, abandoned: threading.Event) -> None:
        """Shows what is found in the function that is typed in, ahead of the rest where that takes long."""
        known = self.known.get(text.path)
        if known is None or text.is_notebook or not project.is_slow(text.path):
            return
        typed = await self.aside(change_in_function, known.text.lines, text.lines, text.data)
        if typed is None:
            return
        result = await self.aside(project.check, text.path, text.data, abandoned.is_set, typed.rows)
        catalog = project.session.catalog
        found = [
            speak.diagnostic(item, text, catalog)[1]
            for item in result.diagnostics
            if item.span.start.row in typed.rows
        ]
        uri = text.parts[0].uri
        self.publish({uri: [*typed.moved(known.shown.get(uri, ())), *found]}, text.version)

    def _shown(self, known: Known, problems: Iterable[Problem]) -> dict[str, list[types.Diagnostic]]:
        """What was found, in each document of the text."""
        text = known.text
        shown: dict[str, list[types.Diagnostic]] = {uri: [] for uri in known.uris}
        for item in known.findings:
            uri, found = speak.diagnostic(item, text, known.project.session.catalog)
            shown[uri].append(found)
        for problem in problems:
            shown[text.parts[0].uri].append(speak.problem(problem))
        return shown

    async def _keep(self, known: Known) -> None:
        """Goes on to show what was found before, while the text does not parse."""
        before, text = self.known.get(known.text.path), known.text
        if before is not None:
            uri = text.parts[0].uri
            shown = before.shown.get(uri, [])
            known.shown[uri] += await self.aside(kept, shown, before.text.lines, text.lines, text.data)

    def _publish_problems(self, folder: str, problems: Iterable[Problem]) -> None:
        """Shows what is wrong with settings and rule pages where it stands, and takes back what was mended."""
        shown: dict[str, list[types.Diagnostic]] = {uri: [] for uri in self._shown_by.pop(folder, ())}
        for problem in problems:
            shown.setdefault(speak.uri_of(problem.filename or folder), []).append(speak.problem(problem))
        self._shown_by[folder] = {uri for uri, found in shown.items() if found}
        self.publish(shown)

    def publish(self, shown: Mapping[str, list[types.Diagnostic]], version: int | None = None) -> None:
        """Replaces what the editor shows in each document."""
        for uri, found in shown.items():
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def forget(self, path: str, uris: Iterable[str]) -> None:
        """Takes back what is shown of a file that is closed."""
        self.known.pop(path, None)
        if task := self._pending.pop(path, None):
            task.cancel()
        self.publish({uri: [] for uri in uris})

    async def ranges(self, known: Known, rows: range) -> tuple[Ranges, Mapping[Span, Seen]]:
        """The ranges around rows of a text, and what runs have seen, worked out when they are first asked for."""
        if rows not in known.ranges:
            text = known.text
            known.ranges[rows] = await self.aside(known.project.ranges, text.path, text.data, rows)
        return known.ranges[rows]

    async def fixable(self, known: Known) -> tuple[Diagnostic, ...]:
        """The findings of a text with their fixes, worked out when they are first asked for."""
        if known.fixable is None and known.findings:
            result = await self.aside(known.project.fixable, known.text.path, known.text.data)
            known.fixable = result.diagnostics
        return known.fixable or ()

    async def check_workspace(self, token: types.ProgressToken | None) -> int:
        """Checks every folder of the workspace in a process of its own, and shows what it leaves in the cache."""
        roots = [path_of(uri) for uri in self.workspace.folders] or [self.workspace.root_path or os.getcwd()]
        count = 0
        for at, root in enumerate(roots):
            if token is not None:
                self.work_done_progress.report(
                    token, types.WorkDoneProgressReport(message=root, percentage=100 * at // len(roots))
                )
            command = [sys.executable, "-m", "stablelint", "check", "--quiet", "--exit-zero", root]
            quiet = asyncio.subprocess.DEVNULL
            process = await asyncio.create_subprocess_exec(*command, stdin=quiet, stdout=quiet, stderr=quiet)
            try:
                await process.wait()
            finally:
                if process.returncode is None:
                    process.kill()
            count += await self._show_folder(root)
        return count

    async def _show_folder(self, root: str) -> int:
        project = await self.aside(self._projects.of, os.path.join(root, ""))
        result = await self.aside(check, [root], project.request, project.session.catalog)
        shown: dict[str, list[types.Diagnostic]] = {}
        for item in result.diagnostics:
            if item.filename in self.known:
                continue  # what is open is shown as it is typed
            data = (on_disk(item.filename) or b"").decode("utf-8", "replace")
            text = Text.of_file(
                item.filename, speak.uri_of(item.filename), data, self.workspace.position_codec, None
            )
            uri, found = speak.diagnostic(item, text, project.session.catalog)
            shown.setdefault(uri, []).append(found)
        self.publish(shown)
        return len(result.diagnostics)


def path_of(uri: str) -> str:
    """The path that a document has, or would have: an untitled one is a file of the current folder."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    return os.path.abspath(path or uri.rpartition(":")[2].strip("/") or "untitled")
