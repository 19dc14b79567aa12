"""Tables of what people judged: a row a finding or a diff, with a verdict and one line of reason."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The columns of a table, and the two verdicts that a judge chooses from, the good one first."""

    columns: tuple[str, ...]
    allowed: tuple[str, str]

    def read(self, path: Path) -> list[Row]:
        """The rows judged so far; raises SystemExit on a verdict that is none."""
        if not path.is_file():
            return []
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            if row["verdict"] not in ("", *self.allowed):
                place = f"{row['package']} {row['place']}"
                raise SystemExit(f"{path.name}: {place}: verdict {row['verdict']!r}; use {self.allowed}")
        return rows

    def write(self, path: Path, rows: list[Row]) -> None:
        """Writes the table; one line a row."""
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows({name: " ".join(value.split()) for name, value in row.items()} for row in rows)

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
