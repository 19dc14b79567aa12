"""What people judged, a JSON line a row in judgements.jsonl: each row belongs to a named table.

The tables of findings (`findings`, `findings-before`, `unseen` …) say `worth` or `noise`, those of fixes (`fixes`,
`fixes-seed13` …) `merge` or `change`; judged.md and diffs_judged.md tell how each was drawn and read.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

PATH = Path(__file__).with_name("judgements.jsonl")

Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class Judgements:
    """The columns of a kind of table, and the two verdicts that a judge chooses from, the good one first."""

    columns: tuple[str, ...]
    allowed: tuple[str, str]

    def read(self, table: str) -> list[Row]:
        """The rows of a table, without its name; raises SystemExit on a verdict that is none."""
        rows = [{name: row[name] for name in self.columns} for row in _lines() if row["table"] == table]
        for row in rows:
            if row["verdict"] not in ("", *self.allowed):
                place = f"{row['package']} {row['place']}"
                raise SystemExit(f"{table}: {place}: verdict {row['verdict']!r}; use {self.allowed}")
        return rows

    def write(self, table: str, rows: list[Row]) -> None:
        """Puts the rows in the place of the table's, the other tables as they were."""
        others = [row for row in _lines() if row["table"] != table]
        mine = [{"table": table, **{k: " ".join(row[k].split()) for k in self.columns}} for row in rows]
        ordered = sorted([*others, *mine], key=lambda row: row["table"])
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ordered)
        PATH.write_text(text, encoding="utf-8")

    def score(self, rows: list[Row]) -> str:
        """Share of the good verdict per rule and over all."""
        judged = [row for row in rows if row["verdict"]]
        if not judged:
            return "nothing is judged yet"
        total = Counter(row["code"] for row in judged)
        good = Counter(row["code"] for row in judged if self._good(row))
        lines = [f"{code}  {good[code]:3} of {total[code]:3}" for code in sorted(total)]
        return "\n".join([*lines, f"all    {self.share(judged)}"])

    def share(self, rows: list[Row]) -> str:
        """How many of the judged rows have the good verdict, in words; there must be one that is judged."""
        judged = [row for row in rows if row["verdict"]]
        good = sum(map(self._good, judged))
        packages = len({row["package"] for row in judged})
        return f"{good:3} of {len(judged):3}  {good / len(judged):.0%} over {packages} packages"

    def _good(self, row: Row) -> bool:
        return row["verdict"] == self.allowed[0]


def _lines() -> list[Row]:
    if not PATH.is_file():
        return []
    return [json.loads(line) for line in PATH.read_text(encoding="utf-8").splitlines()]
