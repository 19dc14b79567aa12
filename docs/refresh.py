"""Brings what the README, docs/levels.md and docs/audit.md show of the current version up to date.

In the README a block is a comment `<!-- $ stablelint check FILE -->` and the fenced text behind it: the command is
run in the repository's folder and its output takes the text's place. In docs/levels.md the facts, their weights, the
shares of flaws and the reliability of confidences take the place of what stands between their comments, as do the
checks in docs/audit.md, and docs/reliability.svg is drawn. With `--check` nothing is written, and the exit code is 1
if something would be.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
_BLOCK = re.compile(r"(<!-- \$ (stablelint [^\n]*?) -->\n```\w*\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)


def refreshed(text: str) -> str:
    """`text` with every block as its command now has it."""
    return _BLOCK.sub(lambda block: f"{block[1]}$ {block[2]}\n{_output(block[2])}{block[4]}", text)


def _output(command: str) -> str:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command}: {done.stderr}")
    return done.stdout


def levels(text: str) -> str:
    """`text` of docs/levels.md with the tables as the weights now have them."""
    from stablelint.analysis.evidence.fact import all_facts
    from stablelint.analysis.evidence.score import weights
    from stablelint.diagnostic import LIKELY_FROM

    measured = weights()
    weighing = [(measured.facts[fact.name], fact) for fact in all_facts() if fact.name in measured.facts]
    weighing.sort(key=lambda item: -abs(item[0]))
    rows = [f"| {fact.sentence} | {weight:+.2f} |" for weight, fact in weighing]
    base = f"They start from {measured.base:+.2f}; likely is what reaches a confidence of {LIKELY_FROM:.2f}."
    table = "\n".join(["| fact | adds to the log-odds |", "| --- | ---: |", *rows, "", base])
    seen = [
        f"| {low:.1f} to {low + 0.1:.1f} | {mean:.2f} | {share:.2f} | {count:.0f} |"
        for low, mean, share, count in measured.reliability
    ]
    head = ["| said | mean | worth a repair | read |", "| --- | ---: | ---: | ---: |"]
    for name, content in (
        ("facts", table),
        ("flaws", _flaws()),
        ("reliability", "\n".join([*head, *seen])),
    ):
        text = _between(text, name, content)
    return text


def checks(text: str) -> str:
    """`text` of docs/audit.md with a row for each check, family by family."""
    from stablelint.runtime.audit.outcome import all_checks

    head = ["| family | check | holds where it passes | needs |", "| --- | --- | --- | --- |"]
    rows = [f"| {one.family} | `{one.name}` | {one.sentence} | {one.needs} |" for one in all_checks()]
    return _between(text, "checks", "\n".join([*head, *rows]))


def _flaws() -> str:
    """The facts that tell on flaws, and the rules whose flaws were read, the most worthwhile first."""
    from stablelint.analysis.evidence.fact import all_facts
    from stablelint.analysis.evidence.score import weights
    from stablelint.catalog import load_catalog

    rules, added = load_catalog(entry_points=False).rules, weights().flaws
    known = [(rate, rules[code]) for code, rate in weights().rates.items() if rate.read and code in rules]
    facts = [f"| {f.sentence} | {added[f.name]:+.2f} |" for f in all_facts() if f.name in added]
    rows = [
        f"| {rule.code} {rule.name} | {rate.worth} of {rate.read} | {raised(rate.share, added['shown']):.2f} |"
        for rate, rule in sorted(known, key=lambda item: (-item[0].share, item[1].code))
    ]
    head = ["", "| rule | worth a change | confidence where shown |", "| --- | ---: | ---: |"]
    return "\n".join(["| fact | adds to the log-odds |", "| --- | ---: |", *facts, *head, *rows])


def raised(share: float, weight: float) -> float:
    """A chance whose log-odds are raised by a weight."""
    return 1 / (1 + (1 - share) / share * math.exp(-weight))


def _between(text: str, name: str, content: str) -> str:
    start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    head, rest = text.split(start, 1)
    return f"{head}{start}\n{content}\n\n{end}{rest.split(end, 1)[1]}"


def reliability() -> str:
    """A drawing of the shares over the confidences, with the diagonal on which both would be the same."""
    from stablelint.analysis.evidence.score import weights

    side, edge = 240, 40
    points = [
        (edge + mean * side, edge + (1 - share) * side, 2 + count**0.5 / 4)
        for _, mean, share, count in weights().reliability
    ]
    marks = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" fill="#d9480f"/>' for x, y, r in points)
    ticks = "".join(
        f'<text x="{edge + tenth * side / 10:.0f}" y="{edge + side + 16}" text-anchor="middle">{tenth / 10}</text>'
        f'<text x="{edge - 6}" y="{edge + side - tenth * side / 10 + 4:.0f}" text-anchor="end">{tenth / 10}</text>'
        for tenth in range(0, 11, 2)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side + 2 * edge} {side + 2 * edge}" '
        'font-family="sans-serif" font-size="10" fill="#555">'
        f'<rect x="{edge}" y="{edge}" width="{side}" height="{side}" fill="none" stroke="#999"/>'
        f'<line x1="{edge}" y1="{edge + side}" x2="{edge + side}" y2="{edge}" stroke="#999" stroke-dasharray="4"/>'
        f'{ticks}{marks}<text x="{edge + side / 2}" y="{2 * edge + side - 8}" text-anchor="middle">confidence</text>'
        f'<text x="{edge}" y="{edge - 10}">share worth a repair; areas grow with the number read</text></svg>\n'
    )


def main() -> int:
    """Refreshes the files, or says which are not current."""
    files = {
        README: refreshed,
        ROOT / "docs" / "levels.md": levels,
        ROOT / "docs" / "audit.md": checks,
        ROOT / "docs" / "reliability.svg": lambda _: reliability(),
    }
    stale = {}
    for path, renew in files.items():
        before = path.read_text("utf-8") if path.exists() else ""
        after = renew(before)
        if before != after:
            stale[path] = after
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} shows old output; `make docs` refreshes it")
        return int(bool(stale))
    for path, text in stale.items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
