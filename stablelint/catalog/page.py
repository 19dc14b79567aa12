"""Rule pages as Markdown: one H1, one summary line, one toml block, then prose and examples.

`split` reads the head of a page and is cheap; sections and examples are read only when asked for. Lines
count from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablelint.catalog.errors import RuleError
from stablelint.records import dataclass

_FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<info>[^`\n]*)$")
_MARKER = re.compile(r"#\s*error\b(?:\s*:\s*(?P<text>.*))?")


@dataclass(frozen=True, slots=True)
class Head:
    """What stands above the prose; `table` is the text of the toml block, which begins at `table_line`."""

    name: str
    summary: str
    table: str
    table_line: int


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its info string, its text and the line its text begins at."""

    info: str
    code: str
    line: int


@dataclass(frozen=True, slots=True)
class Marker:
    """A line of an example that must be reported, and what its comment says."""

    line: int  # within the example, from 1
    text: str


@dataclass(frozen=True, slots=True)
class Example:
    """A Python example: where it must be reported (nowhere: it is a good one) and what the fix writes."""

    code: str
    line: int  # of the page
    markers: tuple[Marker, ...]
    fixed: str | None = None


def split(text: str) -> Head:
    """Read the head of a page; raises RuleError with the line where it is not one."""
    lines = text.split("\n")
    at = _next_line(lines, 0)
    if not lines[at].startswith("# "):
        raise RuleError("a page begins with `# rule-name`", line=at + 1)
    name = lines[at][2:].strip()
    at = _next_line(lines, at + 1)
    summary = lines[at].strip()
    if not summary or summary.startswith(("#", "```")):
        raise RuleError("one summary line follows the name", line=at + 1)
    at = _next_line(lines, at + 1)
    if lines[at].strip() != "```toml":
        raise RuleError("a ```toml block follows the summary line", line=at + 1)
    try:
        end = lines.index("```", at + 1)
    except ValueError:
        raise RuleError("the toml block is not closed", line=at + 1) from None
    return Head(name, summary, "\n".join(lines[at + 1 : end]), at + 2)


def sections(text: str) -> dict[str, str]:
    """The page's sections by title, each with its text up to the next."""
    found: dict[str, str] = {}
    title, start, fence = None, 0, ""
    lines = text.split("\n")
    for index, line in enumerate([*lines, "## "]):
        match = _FENCE.match(line)
        if match:
            fence = match["ticks"] if not fence else ("" if _closes(match, fence) else fence)
        elif line.startswith("## ") and (not fence or index == len(lines)):
            if title is not None:
                found[title] = "\n".join(lines[start:index]).strip()
            title, start = line[3:].strip(), index + 1
    return found


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    opened: tuple[str, str, int] | None = None
    lines = text.split("\n")
    for index, line in enumerate(lines):
        match = _FENCE.match(line)
        if match is None:
            continue
        if opened is None:
            opened = (match["ticks"], match["info"].strip(), index)
        elif _closes(match, opened[0]):
            yield Block(opened[1], "".join(f"{row}\n" for row in lines[opened[2] + 1 : index]), opened[2] + 2)
            opened = None


def examples(text: str) -> tuple[Example, ...]:
    """The Python examples; a ``python fixed`` block belongs to the example before it."""
    found: list[Example] = []
    for block in blocks(text):
        if block.info == "python":
            found.append(Example(block.code, block.line, _markers(block.code)))
        elif block.info == "python fixed":
            if not found or not found[-1].markers:
                raise RuleError(
                    "a `python fixed` block follows the example that it fixes", line=block.line - 1
                )
            last = found[-1]
            found[-1] = Example(last.code, last.line, last.markers, block.code)
    return tuple(found)


def _markers(code: str) -> tuple[Marker, ...]:
    rows = enumerate(code.split("\n"), start=1)
    return tuple(
        Marker(row, (match["text"] or "").strip()) for row, line in rows if (match := _MARKER.search(line))
    )


def _closes(match: re.Match[str], fence: str) -> bool:
    return len(match["ticks"]) >= len(fence) and not match["info"].strip()


def _next_line(lines: list[str], start: int) -> int:
    for index in range(start, len(lines)):
        if lines[index].strip():
            return index
    raise RuleError("the page ends before its toml block", line=len(lines))
