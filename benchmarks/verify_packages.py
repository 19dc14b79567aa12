"""Run `stablelint verify` on real packages with their own test-suites as the command; write docs/verified.md.

python benchmarks/verify_packages.py [NAME ...] [--part I/N] [--suites] [--page FILE]

Each release of verified.toml is unpacked and installed, with its tests, into an environment of its own. What was
found is kept there, and the page says of packages that are not what it said before. With `--suites`
the confirmed fixes are written into a copy of each package, and its tests are run before and after. `--part 2/3` runs
every third of a package's test paths, from the second on: what each part has shown is put together on the page.
"""

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fix_suites import Outcomes, Suite, outcomes

from stablelint.report.cells import one_line

ROOT = Path(__file__).parent.parent
LIST = Path(__file__).with_name("verified.toml")
CACHE = Path(os.environ.get("STABLELINT_VERIFIED", "~/.cache/stablelint-verified")).expanduser()
TORCH = "2.13.0"
RUNS = 4  # of a suite, before and after, where a test fails after that passed before
PROVED = ("confirmed", "reachable")
REFUSED = ("ineffective", "diverges")
# Of several parts of the tests the one that says most speaks of a site; what speaks against a fix comes first.
TELLING = (*REFUSED, *PROVED, "handled", "latent", "not-reproduced", "not-reached")
Part = tuple[int, int]
Document = dict[str, Any]


def packages(only: list[str]) -> list[Document]:
    """The entries of the list; `only` may not name another."""
    listed: list[Document] = tomllib.loads(LIST.read_text(encoding="utf-8"))["package"]
    unknown = sorted(set(only) - {entry["name"] for entry in listed})
    if unknown:
        raise SystemExit(f"not in {LIST.name}: {', '.join(unknown)}")
    return [entry for entry in listed if not only or entry["name"] in only]


def _pip(*words: str) -> None:
    command = [
        str(CACHE / "venv" / "bin" / "python"),
        "-m",
        "pip",
        "-q",
        "--disable-pip-version-check",
        *words,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"pip {' '.join(words)}:\n{done.stderr[-800:]}")


def environment() -> Path:
    """The Python of the environment, made when it is not there yet."""
    python = CACHE / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(CACHE / "venv")], check=True)
        _pip("install", f"torch=={TORCH}", "-e", f"{ROOT}[verify]", "pytest", "setuptools", "wheel")
        _pip("install", "setuptools_scm", "hatchling", "hatch-vcs", "flit_core", "poetry-core")
    return python


def unpacked(entry: Document) -> Path:
    """The folder with the release's source and tests; it is downloaded and installed when it is not there yet."""
    name, version = entry["name"], entry["version"]
    tree = CACHE / f"{name}-{version}"
    if tree.is_dir():
        return tree
    archives = CACHE / "archives"
    source = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
    _pip("download", *source, "-d", str(archives), f"{name}=={version}")
    (archive,) = (
        path for path in archives.iterdir() if path.name.lower().startswith(f"{name}-{version}".lower())
    )
    _pip("install", f"{name}=={version}")
    if entry.get("requires"):
        _pip("install", *entry["requires"])
    with tarfile.open(archive) as opened:
        opened.extractall(CACHE, filter="data")
    if not (tree / "pyproject.toml").exists():  # what is found is stored in the package's own folder
        (tree / "pyproject.toml").write_text("[tool.stablelint]\n", encoding="utf-8")
    return tree


def verify(entry: Document, part: Part) -> Document:
    """What a verification of the package by part of its tests said; the rerun with the fixes is part of it."""
    python, tree = environment(), unpacked(entry)
    options, tests = _split(entry["tests"])
    words = [str(python.with_name("stablelint")), "verify", *entry["paths"], "--level", "possible", "--again"]
    words += ["--no-cache", "-q", "--output-format", "json", "--search", "40", "--timeout", "900"]
    words += ["--", str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    words += tests[part[0] - 1 :: part[1]]
    started = time.perf_counter()
    done = subprocess.run(
        words, cwd=tree, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    try:
        document: Document = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"{entry['name']}: status {done.returncode}\n{done.stderr[-2000:]}") from None
    for site in document["sites"]:
        site["filename"] = str(Path(site["filename"]).relative_to(tree))
    document |= {"entry": entry, "seconds": round(time.perf_counter() - started), "status": done.returncode}
    return document


def joined(parts: list[Document]) -> Document:
    """What all parts of a package's tests have shown together."""
    sites: dict[str, Document] = {}
    for site in (site for part in parts for site in part["sites"]):
        known = sites.setdefault(
            f"{site['code']} {site['filename']} {site['location']} {site['end_location']}", site
        )
        if TELLING.index(site["verdict"]) < TELLING.index(known["verdict"]):
            known.update(site)
    reruns = [part["rerun"] for part in parts if part["rerun"] is not None]
    passed = {rerun["passed"] for rerun in reruns}
    claims = dict.fromkeys(rerun["claim"] for rerun in reruns)
    verdict = False if False in passed else None if None in passed else True
    rerun = {"passed": verdict, "claim": "; ".join(claims)} if reruns else None
    seconds = sum(part["seconds"] for part in parts)
    whole: Document = {key: value for part in parts for key, value in part.items()}
    return whole | {"sites": list(sites.values()), "rerun": rerun, "seconds": seconds}


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Options and paths."""
    options = [word for word in words if word.startswith("-")]
    return options, [word for word in words if word not in options]


def suite(entry: Document) -> Document | None:
    """What became of the package's tests with every confirmed fix written into a copy of it; None without a fix."""
    python, tree = environment(), unpacked(entry)
    options, tests = _split(entry["tests"])
    asked = Suite(True, entry["paths"][0], tuple(tests), tuple(options))
    with tempfile.TemporaryDirectory() as scratch:
        plain, fixed = Path(scratch) / "plain", Path(scratch) / "fixed"
        for copy in (plain, fixed):
            shutil.copytree(tree, copy)
        _keep_confirmed(fixed)
        words = [str(python.with_name("stablelint")), "fix", "--apply", "--verified", "--level", "possible"]
        done = subprocess.run(
            [*words, "--no-cache", *entry["paths"]], cwd=fixed, capture_output=True, text=True
        )
        said = next((line for line in done.stdout.splitlines() if line.startswith("Fixed")), None)
        if said is None:
            return None
        before, after = outcomes(plain, asked, str(python)), outcomes(fixed, asked, str(python))
        passed = _passing(before)
        broken = passed - _passing(after)
        for _ in range(RUNS - 1):
            if broken:  # some fail by chance, with and without a fix
                broken &= _passing(outcomes(plain, asked, str(python)))
                broken -= _passing(outcomes(fixed, asked, str(python)))
    return {"tests": len(before), "passed": len(passed), "broken": sorted(broken), "said": said}


def _passing(found: Outcomes) -> set[str]:
    return {test for test, (state, _) in found.items() if state == "passed"}


def _keep_confirmed(tree: Path) -> None:
    """Leave the confirmed verdicts alone in what a verification has stored."""
    stored = tree / ".stablelint" / "verdicts.json"
    document = json.loads(stored.read_text(encoding="utf-8"))
    kept = {key: site for key, site in document["sites"].items() if site["verdict"] == "confirmed"}
    stored.write_text(json.dumps(document | {"sites": kept}), encoding="utf-8")


def _kept(entry: Document) -> Iterator[Document]:
    """What is stored of a package: of the whole, or of all parts."""
    for path in sorted((CACHE / "results").glob(f"{entry['name']}*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))


def _keep(entry: Document, part: Part, document: Document) -> None:
    """Store what was found in place of what was known of the same part, or of the package cut otherwise."""
    folder, name = CACHE / "results", entry["name"]
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob(f"{name}*.json"):
        if path.stem.rpartition(" of ")[2] != str(part[1]):
            path.unlink()
    (folder / f"{name} {part[0]} of {part[1]}.json").write_text(
        json.dumps(document, indent=1), encoding="utf-8"
    )


def page(documents: list[Document], before: str) -> str:
    """The Markdown page on all packages; of those without a document it says what it said before."""
    named = {_release(item["entry"]): item for item in documents}
    releases = [_release(entry) for entry in packages([])]
    sections = _sections(before) | {name: "\n".join(_package(item)) for name, item in named.items()}
    shown = [sections[name] for name in releases if sections.get(name)]
    return "\n".join([*_head(documents, releases, before), *shown]) + "\n"


def _release(entry: Document) -> str:
    return f"{entry['name']} {entry['version']}"


def _sections(before: str) -> dict[str, str]:
    """What a page says of each release that has a section, by release."""
    parts = before.split("\n## ")[1:]
    return {part.partition("\n")[0]: f"## {part.rstrip()}\n" for part in parts}


def _table(head: str, kinds: str, rows: dict[str, str], releases: list[str], before: str) -> Iterator[str]:
    """A table with a row for each release; a row that is missing stands as it stood under the same head."""
    lines = before.partition(f"{head}\n")[2].splitlines()[1:]
    standing = itertools.takewhile(lambda line: line.startswith("|"), lines)
    known = {line[2:].partition(" | ")[0]: line for line in standing} | rows
    found = [known[name] for name in releases if name in known]
    yield from [head, kinds, *found] if found else []


def _head(documents: list[Document], releases: list[str], before: str) -> Iterator[str]:
    yield "# Verified in real software"
    yield ""
    yield "`stablelint verify` on released packages, with their own test-suites as the command and every finding of"
    yield "`--level possible` as a site. Written by `benchmarks/verify_packages.py`; releases and tests are named in"
    yield "`benchmarks/verified.toml`."
    yield ""
    yield "- **confirmed**: operands that the package's own tests feed to the expression make it, or its gradient,"
    yield "  non-finite (or cost most of its digits), and the fix, if there is one, cures it on the same operands;"
    yield "- **reachable**: the tests stay clear of it, and a search found inputs of the enclosing function that do not;"
    yield "- **handled**: the value goes wrong, and the function that it stands in gives a finite result all the same;"
    yield "- **latent**: only operands at the boundary of the operation's domain fail;"
    yield "- **ineffective**, **diverges**: the proposed fix was refused."
    yield ""
    yield "A confirmed site is a fact about an expression and its operands. Whether it is meant so, as when the"
    yield "log-probability of what is impossible is asked for, is another question: *Read by hand* answers it."
    yield ""
    columns = ("confirmed", "reachable", "handled", "latent", "ineffective", "diverges", "not-reproduced")
    columns = (*columns, "not-reached")
    rows = {}
    for item in documents:
        counts = Counter(site["verdict"] for site in item["sites"])
        shown = " | ".join(str(counts[column]) for column in columns)
        release = _release(item["entry"])
        rows[release] = f"| {release} | {len(item['sites'])} | {shown} | {item['seconds']} |"
    head, kinds = f"| release | sites | {' | '.join(columns)} | seconds |", "| --- " + "| ---: " * 10 + "|"
    yield from _table(head, kinds, rows, releases, before)
    yield ""
    yield "The same tests before and after, with every fix that is confirmed written into the package (`--suites`);"
    yield "the other packages have none."
    yield "Some tests fail by chance, whatever the text: one counts that passes in each run before and fails in each"
    yield f"run after, and where there is one, there are {RUNS} of each."
    yield ""
    rows = {}
    for item in documents:
        if "suite" in item:
            held, release = item["suite"], _release(item["entry"])
            broken = ", ".join((str(len(held["broken"])), *held["broken"]))
            rows[release] = f"| {release} | {held['tests']} | {held['passed']} | {broken} | {held['said']} |"
    head = "| release | tests | pass before | fail after | fixes |"
    yield from _table(head, "| --- | ---: | ---: | ---: | --- |", rows, releases, before)
    yield ""
    yield "The tests were run again with the fixes in memory, as `verify` does by default; a fix that a test speaks"
    yield "against is refused:"
    yield ""
    rows = {}
    for item in documents:
        if item["rerun"] is not None:
            said = {True: "passed", False: "failed", None: "undecided"}[item["rerun"]["passed"]]
            release = _release(item["entry"])
            rows[release] = f"| {release} | {said}: {one_line(item['rerun']['claim'])} |"
    yield from _table("| release | rerun |", "| --- | --- |", rows, releases, before)
    yield ""


def _package(item: Document) -> Iterator[str]:
    listed = next(entry for entry in packages([]) if entry["name"] == item["entry"]["name"])
    read = {entry["at"]: entry["says"] for entry in listed.get("read", [])}
    proved = [site for verdict in (*PROVED, *REFUSED) for site in item["sites"] if site["verdict"] == verdict]
    if not proved:
        return
    yield f"## {_release(item['entry'])}"
    yield ""
    yield f"`pytest {' '.join(item['entry']['tests'])}`"
    yield ""
    for site in proved:
        yield from _site(site, read)


def _site(site: Document, read: dict[str, str]) -> Iterator[str]:
    place = f"{site['filename']}:{site['location']['row']}"
    yield f"### {site['verdict']}: {site['code']} {site['name']}, {place}"
    yield ""
    yield "```diff"
    yield f"- {one_line(site['expression'])}"
    if site["fix"]:
        yield f"+ {one_line(site['fix'])}"
    yield "```"
    yield ""
    calls = site["captured"]["calls"]
    yield f"{calls:,} call{'' if calls == 1 else 's'}{_ranges(site['captured']['operands'])}."
    witness = site["witness"]
    if witness:
        yield f"Witness ({witness['label']}): {_operands(witness['operands'])}."
        yield f"Original: {witness['original']}." + (
            f" Fixed: {witness['fixed']}." if witness["fixed"] else ""
        )
    for note in site["notes"]:
        yield f"Note: {note}."
    if place in read:
        yield ""
        yield f"Read by hand: {read[place]}"
    yield ""


def _ranges(operands: Document) -> str:
    parts = [
        f"`{one_line(name)}` in [{extent['min']:.3g}, {extent['max']:.3g}]"
        for name, extent in operands.items()
        if extent["min"] is not None and extent["max"] is not None
    ]
    return f" with {', '.join(parts[:3])}" if parts else ""


def _operands(operands: list[Document]) -> str:
    shown = []
    for operand in operands[:3]:
        values = ", ".join(value if isinstance(value, str) else f"{value:.3g}" for value in operand["values"])
        text = f"`{one_line(operand['name'])}` = {operand['text']}"
        shown.append(f"{text} [{values}]" if operand["shape"] is not None else text)
    return "; ".join(shown)


def main() -> None:
    """Verify the named packages, or all, and write the page on all that have been verified."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument(
        "--suites", action="store_true", help="run the tests with the confirmed fixes as well"
    )
    parser.add_argument("--part", default="1/1", help="which of how many parts of the tests")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "verified.md")
    parser.add_argument("--page-only", action="store_true", help="write the page from what is known")
    options = parser.parse_args()
    first, _, count = options.part.partition("/")
    part = int(first), int(count)
    for entry in packages(options.names) if not options.page_only else []:
        document = verify(entry, part)
        if options.suites and (found := suite(entry)) is not None:
            document["suite"] = found
        _keep(entry, part, document)
        counts = Counter(site["verdict"] for site in document["sites"])
        print(f"{entry['name']:18} {document['seconds']:4} s  {dict(counts)}", flush=True)
    known = (list(_kept(entry)) for entry in packages([]))
    documents = [joined(parts) for parts in known if parts]
    before = options.page.read_text(encoding="utf-8") if options.page.exists() else ""
    options.page.write_text(page(documents, before), encoding="utf-8")


if __name__ == "__main__":
    main()
