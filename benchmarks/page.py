"""Tables of a page that benchmarks keep up to date: each stands between two comments that bear its name."""

import re
from collections.abc import Sequence
from pathlib import Path


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def fill(page: Path, name: str, text: str) -> None:
    """Put `text` between `<!-- name -->` and `<!-- end of name -->`; raises where the page has no such place."""
    before = page.read_text("utf-8")
    place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if not place.search(before):
        raise SystemExit(f"{page} has no place for {name}")
    page.write_text(place.sub(lambda found: f"{found[1]}\n{text}\n{found[2]}", before), "utf-8")
