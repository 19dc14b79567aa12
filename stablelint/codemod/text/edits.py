"""Edits: order, overlap, application."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from stablelint.codemod.text.source import SourceText
from stablelint.diagnostic import Edit, Fix


class OverlappingEdits(Exception):  # noqa: N818 - a state of the edits, named as such
    """Two edits that touch the same text in different ways."""


def conflict(one: Edit, other: Edit) -> bool:
    """Whether two edits cannot both be made in one pass.

    Equal insertions are one insertion (two fixes that need the same import); different insertions at one
    place conflict, because neither was made with the other in view.
    """
    if one.filename != other.filename:
        return False
    if one == other:
        return one.span.start != one.span.end
    if one.span.start == other.span.start and (_is_insertion(one) or _is_insertion(other)):
        return _is_insertion(one) and _is_insertion(other)
    return one.span.overlaps(other.span)


def _is_insertion(edit: Edit) -> bool:
    return edit.span.start == edit.span.end


def _meet(one: Edit, other: Edit) -> bool:
    """Whether something is put in at an end of what is replaced: a line break, say, that both bring along."""
    if one.filename != other.filename or _is_insertion(one) == _is_insertion(other):
        return False
    put, replaced = (one, other) if _is_insertion(one) else (other, one)
    return put.span.start in (replaced.span.start, replaced.span.end)


def _breaks(edit: Edit) -> bool:
    """Whether an edit parts a line, and does not put in lines of its own."""
    text = edit.content.strip()
    return "\n" in edit.content and ("\n" in text or not text.strip("()[]{},"))


def _share_a_line(one: Edit, other: Edit) -> bool:
    """Whether an edit changes a line that another breaks, without the change in view."""
    is_near = one.span.start.row <= other.span.end.row and other.span.start.row <= one.span.end.row
    return one.filename == other.filename and is_near and (_breaks(one) or _breaks(other))


def select(fixes: Sequence[Fix]) -> tuple[list[int], list[int]]:
    """Split fixes, by index, into those that can be made together and those left for a later round.

    The first of two conflicting fixes wins; a fix is taken with all its edits or not at all.
    """
    taken: list[int] = []
    deferred: list[int] = []
    edits: list[Edit] = []
    for index, fix in enumerate(fixes):
        own = [edit for edit in fix.edits if edit not in edits]
        foreign = [edit for edit in edits if edit not in fix.edits]
        pairs = [(edit, other) for edit in own for other in foreign]
        if any(conflict(edit, other) for edit in fix.edits for other in edits) or any(
            _meet(*pair) or _share_a_line(*pair) for pair in pairs
        ):
            deferred.append(index)
        else:
            taken.append(index)
            edits.extend(fix.edits)
    return taken, deferred


def apply_to_text(source: SourceText, edits: Iterable[Edit]) -> str:
    """Text with the edits made; OverlappingEdits when two of them conflict, SourceError outside the file."""
    ordered = sorted(set(edits), key=lambda edit: (edit.span.start, edit.span.end))
    for one, other in pairwise(ordered):
        if conflict(one, other):
            raise OverlappingEdits(f"two edits meet at line {other.span.start.row}")
    pieces: list[str] = []
    done = 0
    for edit in _in_one_block(ordered):
        start = source.offset(edit.span.start)
        pieces += [source.text[done:start], edit.content]
        done = source.offset(edit.span.end)
    pieces.append(source.text[done:])
    return "".join(pieces)


def _in_one_block(ordered: Sequence[Edit]) -> Iterator[Edit]:
    """The edits, less the heads of blocks that follow right on the lines of an equal one: one block holds both."""
    head, row = "", 0  # of the last block, and the last of its lines that is moved in
    for edit in ordered:
        is_head = _is_insertion(edit) and edit.content.lstrip().startswith("with ")
        if is_head and edit.content == head and row == edit.span.start.row - 1:
            edit = edit._replace(content=re.split(r"[\r\n]", edit.content)[-1])
        elif is_head:
            head = edit.content
        if is_head:
            row = edit.span.start.row
        elif _is_insertion(edit) and not edit.content.strip():
            row = edit.span.start.row
        yield edit


def apply_edits(source: bytes, edits: Iterable[Edit]) -> bytes:
    """Bytes with the edits made, in the encoding of the file; raises as `apply_to_text` does."""
    decoded = SourceText.decode(source)
    return decoded.encode(apply_to_text(decoded, edits))
