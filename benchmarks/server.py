#!/usr/bin/env python3
"""Times the language server: from opening a file to its findings, from a keystroke to the new ones, and a hover.

    python benchmarks/server.py FILE …

Each keystroke changes the text in the middle of the file; the best and the median of twenty are told.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from server.editor import Editor, drive


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
            keystrokes, hovers = [], []
            for count in range(1, 21):
                middle = len(lines) // 2
                changed = "\n".join([*lines[:middle], "#" * count, *lines[middle:]])
                begun = time.perf_counter()
                editor.type(uri, changed)
                await editor.diagnostics(uri)
                keystrokes.append(time.perf_counter() - begun)
                begun = time.perf_counter()
                await editor.hover(uri, middle + 5, 12)
                hovers.append(time.perf_counter() - begun)
            print(
                f"{path.name}: {len(lines)} lines, {len(found)} findings; open {opened:.2f} s, keystroke "
                f"{1000 * min(keystrokes):.0f} ms (median {1000 * median(keystrokes):.0f}), "
                f"hover {1000 * min(hovers):.0f} ms"
            )

        drive(folder, story, inlayHints=True)


if __name__ == "__main__":
    main(sys.argv[1:])
