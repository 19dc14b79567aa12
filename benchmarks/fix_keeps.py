#!/usr/bin/env python3
"""Applies fixes to copies of real packages and says whether `fix` keeps what it does not mean to change.

    python benchmarks/fix_keeps.py                       ten packages, safe fixes and then all
    python benchmarks/fix_keeps.py --only kornia e3nn

Of each copy a third of the files is written with the line ends of Windows first, and another third with a byte order mark.
Asked of every file that `fix --apply --level possible` writes: it parses; its encoding, byte order mark, comments, line
ends and last line are as before, and no line has got white space at its end; a second run changes nothing. The exit code
is 1 where one of these fails.
"""

import argparse
import ast
import codecs
import io
import re
import shutil
import sys
import tempfile
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from measure import run
from releases import fetch, python_files, releases

PACKAGES = """
denoising-diffusion-pytorch e3nn geoopt gpytorch nflows normflows pytorch-metric-learning tianshou vector-quantize-pytorch
x-transformers
""".split()
_END = re.compile(rb"\r\n|\n|\r")


def disguised(tree: Path) -> dict[Path, bytes]:
    """The Python files of a copy, with line ends of Windows in one third and byte order marks in another."""
    found: dict[Path, bytes] = {}
    for number, path in enumerate(python_files(tree)):
        data = path.read_bytes()
        if number % 3 == 0:
            data = _END.sub(b"\r\n", data)
        elif number % 3 == 1 and data.isascii():
            data = codecs.BOM_UTF8 + data
        path.write_bytes(data)
        found[path] = data
    return found


def broken(old: bytes, new: bytes) -> Iterator[str]:
    """What of a file was not kept."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(new)
    except (SyntaxError, ValueError) as error:
        yield f"no longer parses: {error}"
        return
    for name, ask in _ASKED.items():
        if ask(old) != ask(new):
            yield f"another {name}"
    lost, gained = comments(old) - comments(new), comments(new) - comments(old)
    yield from (f"the comment {comment!r} is gone" for comment in lost)
    yield from (f"the comment {comment!r} is new" for comment in gained)
    if any(line.rstrip() != line for line in set(new.splitlines()) - set(old.splitlines())):
        yield "white space at the end of a line"


_ASKED = {
    "encoding": lambda data: tokenize.detect_encoding(io.BytesIO(data).readline)[0],
    "byte order mark": lambda data: data.startswith(codecs.BOM_UTF8),
    "set of line ends": lambda data: set(_END.findall(data)),
    "last line's end": lambda data: data[-2:] if data.endswith(b"\r\n") else data[-1:] == b"\n",
}


def comments(data: bytes) -> Counter[str]:
    """The comments of a file, but those for the linter, which go when nothing is left to silence."""
    tokens = tokenize.tokenize(io.BytesIO(data).readline)
    found = (token.string for token in tokens if token.type == tokenize.COMMENT)
    return Counter(text for text in found if "stablelint:" not in text)


def tried(name: str, version: str, unsafe: bool) -> tuple[int, int, list[str]]:
    """How many files of a release are written, how many there are, and a line for each promise that was broken."""
    options = ["--level", "possible", "--no-cache", *(["--unsafe-fixes"] if unsafe else [])]
    command = [sys.executable, "-m", "stablelint", "fix"]
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        shutil.copytree(fetch(name, version), copy)
        before = disguised(copy)
        done = run([*command, "--apply", *options, "."], copy)
        wrong = [done.stderr.splitlines()[-1]] if "Traceback" in done.stderr else []
        written = [path for path, data in before.items() if path.read_bytes() != data]
        for path in written:
            place = path.relative_to(copy)
            wrong += [f"{place}: {one}" for one in broken(before[path], path.read_bytes())]
        again = run([*command, "--diff", *options, "."], copy).stdout
        wrong += [
            f"a second run changes {file}" for file in re.findall(r"^\+\+\+ b/(.+)$", again, re.MULTILINE)
        ]
    return len(written), len(before), wrong


def main() -> int:
    """Fixes, compares, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="PACKAGE", default=PACKAGES)
    failed = False
    for name, version in releases(parser.parse_args().only).items():
        for unsafe in (False, True):
            written, files, wrong = tried(name, version, unsafe)
            kinds = "all" if unsafe else "safe"
            print(f"{name}, {kinds} fixes: {written} of {files} files written, {len(wrong)} broken promises")
            print("".join(f"    {one}\n" for one in wrong), end="", flush=True)
            failed = failed or bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
