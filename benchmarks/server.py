#!/usr/bin/env python3
"""Times the language server: from opening a file to its findings, from a keystroke to what it changes, and a hover.

    python benchmarks/server.py FILE …        a line for each
    python benchmarks/server.py FOLDER …      of its files of 900 to 1,500 lines, and how many are answered within 150 ms

Each keystroke changes a statement in a function in the middle of the file; a slow file is answered twice, first for
this function. The best and the median of twenty are told, and what processor time they took in all: on a machine that
does other work the wall tells little.
"""

import ast
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from server.editor import Editor, drive

from stablelint.server.projects import PROMPT
from stablelint.syntax.relevance import is_checked

KEYSTROKES = 20
LONG = (900, 1500)  # lines


def inner_row(text: str) -> int:
    """The row, from 0, of the statement in a function that is nearest to the middle of the file."""
    functions = (
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    rows = [node.body[-1].lineno - 1 for node in functions]
    return min(rows, key=lambda row: abs(row - text.count("\n") // 2))


@dataclass
class Times:
    """What was measured in one file, in seconds; `spent` is the processor's, of all keystrokes together."""

    opened: float = 0.0
    found: int = 0
    keystrokes: list[float] = field(default_factory=list)
    wholes: list[float] = field(default_factory=list)
    hovers: list[float] = field(default_factory=list)
    spent: float = 0.0


async def measure(editor: Editor, path: Path, text: str) -> Times:
    """Opens a file, and types into it."""
    times, lines = Times(), text.split("\n")
    begun = time.perf_counter()
    uri = editor.open(path.name, text)
    times.found = len(await editor.diagnostics(uri))
    times.opened = time.perf_counter() - begun
    middle = inner_row(text)
    indent = lines[middle][: -len(lines[middle].lstrip())]
    for count in range(1, KEYSTROKES + 1):
        changed = "\n".join([*lines[:middle], f"{indent}typed = 1{'0' * count}", *lines[middle:]])
        begun, before = time.perf_counter(), editor.processor_time()
        editor.type(uri, changed)
        await editor.diagnostics(uri)
        times.keystrokes.append(time.perf_counter() - begun)
        await editor.hover(uri, 0, 0)  # which waits for the whole
        times.wholes.append(editor.answered[uri] - begun)
        times.spent += editor.processor_time() - before
        begun = time.perf_counter()
        await editor.hover(uri, middle + 5, 12)
        times.hovers.append(time.perf_counter() - begun)
    return times


def timed(path: Path) -> Times:
    """What typing into a file takes, which is told in a line."""
    text, known = path.read_text("utf-8"), list[Times]()

    async def story(editor: Editor) -> None:
        known.append(await measure(editor, path, text))

    drive(path.parent.absolute(), story, inlayHints=True)
    [times] = known
    print(
        f"{path.name}: {text.count(chr(10)) + 1} lines, {times.found} findings; open {times.opened:.2f} s, keystroke "
        f"{1000 * min(times.keystrokes):.0f} ms (median {1000 * median(times.keystrokes):.0f}), the whole "
        f"{1000 * min(times.wholes):.0f}, of the processor {1000 * times.spent / KEYSTROKES:.0f}, hover "
        f"{1000 * min(times.hovers):.0f} ms",
        flush=True,
    )
    return times


def long_files(folder: Path) -> Iterator[Path]:
    """The files in which one types a while: they use torch and have functions."""
    for path in sorted(folder.rglob("*.py")):
        data = path.read_bytes()
        if LONG[0] <= data.count(b"\n") <= LONG[1] and is_checked(data) and b"def " in data:
            yield path


def main(names: list[str]) -> None:
    paths = [path for name in map(Path, names) for path in (long_files(name) if name.is_dir() else [name])]
    times = list(map(timed, paths))
    for told, measured in (
        ("first answered", [min(one.keystrokes) for one in times]),
        ("answered whole", [min(one.wholes) for one in times]),
        ("of the processor", [one.spent / KEYSTROKES for one in times]),
    ):
        prompt = sum(seconds <= PROMPT for seconds in measured)
        print(
            f"{told}: median {1000 * median(measured):.0f} ms, at most {1000 * max(measured):.0f}; "
            f"within {1000 * PROMPT:.0f} in {prompt} of {len(times)}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
