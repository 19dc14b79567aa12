"""What the editor asks, and who answers it."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from lsprotocol import types

from stablelint.server import speak
from stablelint.server.app import Server, path_of
from stablelint.server.speak import FIX_ALL, KINDS, OPEN_PAGE, actions
from stablelint.workspace.fixing import FileFix

CHECK_WORKSPACE = "stablelint.checkWorkspace"


def create() -> Server:
    """A server that answers all that is told in this file."""
    server = Server()
    for answer in (_texts, _ranges, _actions, _commands):
        answer(server)
    return server


def _texts(server: Server) -> None:
    """Answers what comes, changes and goes."""

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.warm_up()
        options = params.initialization_options
        server.hinting = not isinstance(options, dict) or options.get("inlayHints") is not False

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def changed(params: types.DidOpenTextDocumentParams) -> None:
        server.refresh(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(path_of(params.text_document.uri), [params.text_document.uri])

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def changed_notebook(params: types.DidOpenNotebookDocumentParams) -> None:
        server.refresh(params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def closed_notebook(params: types.DidCloseNotebookDocumentParams) -> None:
        server.forget(
            path_of(params.notebook_document.uri), [cell.uri for cell in params.cell_text_documents]
        )

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def changed_around(params: object) -> None:
        for known in list(server.known.values()):
            server.refresh(known.text.parts[0].uri)


def _ranges(server: Server) -> None:
    """Answers where values lie."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        known = await server.current(params.text_document.uri)
        if known is None:
            return None
        place = known.text.place(params.text_document.uri, params.position)
        ranges, seen = await server.ranges(known, range(place.row, place.row + 1))
        at = ranges.at(place)
        return None if at is None else speak.hover(at, seen.get(at.span), known.text)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def inlay_hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        known = await server.current(params.text_document.uri) if server.hinting else None
        if known is None:
            return []
        shown = known.text.span(params.text_document.uri, params.range)
        ranges, seen = await server.ranges(known, range(shown.start.row, shown.end.row + 1))
        return list(speak.hints(ranges, seen, known.text, shown))


def _actions(server: Server) -> None:
    """Answers what can be done about a finding."""

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(list(KINDS), resolve_provider=True)
    )
    async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        known = await server.current(params.text_document.uri)
        if known is None:
            return []
        found = await server.fixable(known)
        offered = list(actions(found, known.text, known.project.session.catalog, params))
        if not _resolves(server.client_capabilities):
            return [await resolve(item) if item.kind == FIX_ALL else item for item in offered]
        return offered

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        known = await server.current(str(action.data))
        if action.kind == FIX_ALL and known is not None:
            fixed = await server.aside(known.project.fixed, known.text.path, known.text.data)
            if isinstance(fixed, FileFix):
                edits = known.text.text_edits(known.text.edits_to(fixed.after))
                action.edit = types.WorkspaceEdit(changes=edits)
        return action


def _commands(server: Server) -> None:
    """Answers what an editor has it do."""

    @server.command(OPEN_PAGE)
    def open_page(uri: str) -> None:
        server.window_show_document(types.ShowDocumentParams(uri, external=not uri.startswith("file:")))

    @server.command(CHECK_WORKSPACE)
    async def check_workspace() -> int:
        window = server.client_capabilities.window
        if window is None or not window.work_done_progress:
            return await server.check_workspace(None)
        token = f"stablelint-{uuid4()}"
        progress = server.work_done_progress
        await progress.create_async(token)
        progress.begin(token, types.WorkDoneProgressBegin("stablelint", cancellable=True))
        work = asyncio.ensure_future(server.check_workspace(token))
        stopped = progress.tokens[token]
        stopped.add_done_callback(lambda _: work.cancel())
        try:
            return await work
        except asyncio.CancelledError:
            if not stopped.cancelled():
                raise
            return 0
        finally:
            progress.end(token, types.WorkDoneProgressEnd())
            del progress.tokens[token]


def _resolves(client: types.ClientCapabilities) -> bool:
    """Whether the editor asks for the edit of an action once it is chosen."""
    actions_ = client.text_document.code_action if client.text_document is not None else None
    support = actions_.resolve_support if actions_ is not None else None
    return support is not None and "edit" in support.properties
