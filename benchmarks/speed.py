#!/usr/bin/env python3
"""Times the linter beside its floor and its peers, in one run, on the transformers wheel.

    python benchmarks/speed.py                  the linter, ast.parse and ruff
    python benchmarks/speed.py --package timm   another release
    python benchmarks/speed.py --peers DIR      also torchfix and semgrep, whose commands are in DIR
    python benchmarks/speed.py --output docs/speed.md

torchfix takes minutes on the whole wheel: it is timed on every tenth file, its figures scaled by the bytes.
CPU is that of all processes of a command; memory the most that they held together.
"""

import argparse
import compileall
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from measure import ROOT, Cost, best_of, run
from releases import count_lines, fetch, python_files, releases

PACKAGE = "transformers"
PYTHON = sys.executable
LINT = [PYTHON, "-m", "stablelint", "check", "--exit-zero", "-q"]

PARSE_ALL = """
import ast, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    ast.parse(path.read_bytes())
"""

SEMGREP_RULES = """
rules:
  - {id: a, languages: [python], severity: ERROR, message: a, pattern: torch.log($X)}
  - {id: b, languages: [python], severity: ERROR, message: b, pattern: torch.sqrt($X)}
  - {id: c, languages: [python], severity: ERROR, message: c, pattern: torch.exp($X)}
  - {id: d, languages: [python], severity: ERROR, message: d, pattern: "torch.log(torch.softmax($X, ...))"}
  - {id: e, languages: [python], severity: ERROR, message: e, pattern: $X / $Y.sum(...)}
"""

SOME_RULES = """
import pathlib, sys
from stablelint.catalog import load_catalog
from stablelint.catalog.catalog import Catalog
from stablelint.workspace.examine import Examiner, Scope
whole, step = load_catalog(), int(sys.argv[2])
some = Catalog(whole.sources[::step], f"{whole.digest} {step}")
print(len(some.rules))
if len(sys.argv) == 3:
    examine = Examiner(Scope(sys.argv[1]), some)
    for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py"))[::10]:
        examine(str(path))
"""

SMALL = """
import torch

def nll(logits, labels):
    probabilities = torch.softmax(logits, dim=-1)
    return -torch.log(probabilities).gather(1, labels[:, None]).mean()
"""

BLOCK = """
class Layer{n}(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.project = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x, mask):
        h = self.project(x) / (x.norm(dim=-1, keepdim=True) + 1e-6)
        p = torch.softmax(h.masked_fill(mask, float("-inf")), dim=-1)
        entropy = -(p * torch.log(p + 1e-9)).sum(-1)
        if entropy.mean() > {n}:
            h = h * torch.sqrt(entropy.clamp(min=1e-6)).unsqueeze(-1)
        return self.scale * h / entropy.sum()
"""

IMPORTED = re.compile(r"^from \.+[\w.]*?(\w+) import", re.MULTILINE)
Row = tuple[str, float, float, float]


def whole_package(tree: Path, peers: Path | None, scratch: Path) -> Iterator[Row]:
    """Name, wall seconds, CPU seconds and peak MiB of every tool on the whole package."""
    cache = str(scratch / "cache")
    yield row("python, start and stop", best_of(5, [PYTHON, "-c", "pass"], tree))
    yield row("ast.parse, one thread", best_of(2, [PYTHON, "-c", PARSE_ALL, "."], tree))
    yield row("stablelint, cold", best_of(2, [*LINT, "--no-cache", "."], tree))
    run([*LINT, "--cache-dir", cache, "."], tree)
    yield row("stablelint, warm", best_of(3, [*LINT, "--cache-dir", cache, "."], tree))
    ruff = [shutil.which("ruff", path=f"{Path(PYTHON).parent}:{os.environ['PATH']}") or "ruff", "check", "-q"]
    ruff += ["--isolated", "--exit-zero", "--cache-dir", str(scratch / "ruff")]
    run([*ruff, "."], tree)
    yield row("ruff, warm", best_of(3, [*ruff, "."], tree))
    if peers is not None:
        yield from peer_rows(tree, peers, scratch)


def peer_rows(tree: Path, peers: Path, scratch: Path) -> Iterator[Row]:
    """torchfix on a tenth of the files, scaled; semgrep with five patterns."""
    part, factor = every_tenth(tree, scratch / "part")
    if (peers / "torchfix").exists():
        cost = run([str(peers / "torchfix"), "--select", "ALL", "."], part)
        yield f"torchfix (a part, × {factor:.1f})", cost.wall * factor, cost.cpu * factor, cost.peak_mib
    if (peers / "semgrep").exists():
        rules = scratch / "rules.yaml"
        rules.write_text(SEMGREP_RULES)
        command = [str(peers / "semgrep"), "scan", "--metrics", "off", "--disable-version-check", "-q"]
        yield row(
            "semgrep, five patterns", run([*command, "--no-git-ignore", "--config", str(rules), "."], tree)
        )


def every_tenth(tree: Path, target: Path) -> tuple[Path, float]:
    """Copies every tenth Python file, or ten; returns the folder and how many times larger the whole is in bytes."""
    files = python_files(tree)
    chosen = files[:: min(10, max(1, len(files) // 10))]
    for path in chosen:
        copy = target / path.relative_to(tree)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return target, sum(p.stat().st_size for p in files) / sum(p.stat().st_size for p in chosen)


def row(name: str, cost: Cost) -> Row:
    """One line of the table; says so where the command failed."""
    failed = "" if cost.code == 0 else f" (exit code {cost.code})"
    return name + failed, cost.wall, cost.cpu, cost.peak_mib


def small_file(scratch: Path) -> Iterator[Row]:
    """One file of seven lines: cold, and from the cache."""
    folder = scratch / "small"
    folder.mkdir()
    (folder / "nll.py").write_text(SMALL)
    cached = [*LINT, "--cache-dir", str(scratch / "small-cache"), "nll.py"]
    yield row("one small file, cold", best_of(5, [*LINT, "--no-cache", "nll.py"], folder))
    run(cached, folder)
    yield row("one small file, cached", best_of(5, cached, folder))


EDITS: tuple[tuple[str, Callable[[str], str]], ...] = (  # of a file that many others import
    ("a comment at its end", lambda text: f"{text}# edited\n"),
    ("a line at its top", lambda text: f"# edited\n{text}"),
    ("a name at its end", lambda text: f"{text}EDITED = 1\n"),
)


def changed_file(tree: Path, scratch: Path) -> Iterator[Row]:
    """The package from the cache, and after an edit of the file of it that is named most."""
    copy, cache = scratch / "edited", str(scratch / "edited-cache")
    shutil.copytree(tree, copy)
    command = [*LINT, "--cache-dir", cache, "."]
    files = python_files(copy)
    names = Counter(name for path in files for name in set(IMPORTED.findall(path.read_text("utf-8"))))
    known = Counter(path.stem for path in files) + Counter({path.parent.name for path in files})
    path = max((path for path in files if known[path.stem] == 1), key=lambda path: (names[path.stem], path))
    run(command, copy)
    yield row("no file changed", best_of(3, command, copy))
    for what, edit in EDITS:
        path.write_text(edit(path.read_text("utf-8")), encoding="utf-8")
        yield row(f"{path.name}: {what}", run(command, copy, timeout=300))


def growth(scratch: Path) -> Iterator[Row]:
    """Generated files of 2,500 to 20,000 lines: the time should double with them."""
    folder = scratch / "growth"
    folder.mkdir()
    block_lines = BLOCK.count("\n")
    for lines in (2_500, 5_000, 10_000, 20_000):
        path = folder / f"generated_{lines}.py"
        blocks = "".join(BLOCK.format(n=n) for n in range(lines // block_lines))
        path.write_text("import torch\nfrom torch import nn\n" + blocks)
        yield row(f"one file of {lines:,} lines", run([*LINT, "--no-cache", path.name], folder, timeout=300))


def rules(tree: Path) -> Iterator[Row]:
    """A tenth of the files in one process, with a part of the rules and with all."""
    for step in (8, 4, 2, 1):
        command = [PYTHON, "-c", SOME_RULES, str(tree), str(step)]
        number = subprocess.run(
            [*command, "count"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
        yield row(f"a tenth of the files, {number} rules", best_of(2, command, ROOT))


def render(rows: list[Row], unit: str) -> str:
    """A Markdown table with the ratio of each wall time to that of the row whose name starts with `unit`."""
    base = next(wall for name, wall, _, _ in rows if name.startswith(unit))
    lines = [f"| | wall s | CPU s | peak MiB | × {unit} |", "| --- | ---: | ---: | ---: | ---: |"]
    lines += [
        f"| {name} | {wall:.2f} | {cpu:.2f} | {peak:.0f} | {wall / base:.2f} |"
        for name, wall, cpu, peak in rows
    ]
    return "\n".join(lines) + "\n"


def report(package: str, peers: Path | None) -> str:
    """Runs everything and returns the page."""
    version = releases([package])[package]
    tree = fetch(package, version)
    files = python_files(tree)
    size = f"{len(files):,} files, {count_lines(files):,} lines"
    load = f"{os.getloadavg()[0]:.1f}"  # what else ran: above 0 it slows every wall time
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"
    compileall.compile_dir(ROOT / "stablelint", quiet=1)  # as installing does: nobody runs it without
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        return "\n".join(
            [
                "# Speed",
                "",
                "Written by `python benchmarks/speed.py`, all in one run; the least of a few repeats.",
                "",
                f"{package} {version}: {size}. {machine}, load {load} at the start.",
                "",
                render(list(whole_package(tree, peers, scratch)), "ast.parse"),
                render(list(small_file(scratch)), "one small file, cold"),
                render(list(changed_file(tree, scratch)), "no file changed"),
                render(list(growth(scratch)), "one file of 2,500"),
                render(list(rules(tree)), "a tenth of the files"),
            ]
        )


def main() -> int:
    """Prints the page, and writes it where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--package", default=PACKAGE, help="another release of ecosystem.toml")
    parser.add_argument("--peers", type=Path, help="folder with torchfix and semgrep")
    parser.add_argument("--output", type=Path, help="write the page there too")
    options = parser.parse_args()
    text = report(options.package, options.peers)
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
