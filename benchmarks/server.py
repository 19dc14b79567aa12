#!/usr/bin/env python3
"""Times the language server: from opening a file to its findings, from a keystroke to what it changes, and a hover.

    python benchmarks/server.py FILE …

Each keystroke changes a statement in a function in the middle of the file; a slow file is answered twice, first for
this function. The best and the median of twenty are told, and what processor time they took in all: on a machine that
does other work the wall tells little.
"""

import ast
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from server.editor import Editor, drive


def inner_row(text: str) -> int:
    """The row, from 0, of the statement in a function that is nearest to the middle of the file."""
    functions = (
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    rows = [node.body[-1].lineno - 1 for node in functions]
    return min(rows, key=lambda row: abs(row - text.count("\n") // 2))


def main(paths: list[str]) -> None:
    for path in map(Path, paths):
        folder = path.parent.absolute()

        async def story(editor: Editor, path: Path = path) -> None:
            text = path.read_text("utf-8")
            lines = text.split("\n")
            begun = time.perf_counter()
            uri = editor.open(path.name, text)
            found = await editor.diagnostics(uri)
            opened = time.perf_counter() - begun
            keystrokes, wholes, hovers, spent = [], [], [], 0.0
            middle = inner_row(text)
            indent = lines[middle][: -len(lines[middle].lstrip())]
            for count in range(1, 21):
                changed = "\n".join([*lines[:middle], f"{indent}typed = 1{'0' * count}", *lines[middle:]])
                begun, before = time.perf_counter(), editor.processor_time()
                editor.type(uri, changed)
                await editor.diagnostics(uri)
                keystrokes.append(time.perf_counter() - begun)
                await editor.hover(uri, 0, 0)  # which waits for the whole
                wholes.append(editor.answered[uri] - begun)
                spent += editor.processor_time() - before
                begun = time.perf_counter()
                await editor.hover(uri, middle + 5, 12)
                hovers.append(time.perf_counter() - begun)
            print(
                f"{path.name}: {len(lines)} lines, {len(found)} findings; open {opened:.2f} s, keystroke "
                f"{1000 * min(keystrokes):.0f} ms (median {1000 * median(keystrokes):.0f}), the whole "
                f"{1000 * min(wholes):.0f}, of the processor {50 * spent:.0f}, hover {1000 * min(hovers):.0f} ms"
            )

        drive(folder, story, inlayHints=True)


if __name__ == "__main__":
    main(sys.argv[1:])
