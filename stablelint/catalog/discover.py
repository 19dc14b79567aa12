"""Finding rule pages: the built-in ones, a project's folders, and what installed packages offer.

A package offers pages by an entry point of the group ``stablelint.rules`` whose value names the package that
holds them, ``acme_rules`` or ``acme.rules``, perhaps with a folder, ``acme:rules``. Nothing of the package
is imported: its folder is found, and its pages are read as data.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

from stablelint.catalog.catalog import Catalog, Source
from stablelint.diagnostic import Problem

GROUP = "stablelint.rules"


def load_catalog(extra_folders: Iterable[str | Path] = (), entry_points: bool = True) -> Catalog:
    """Read the built-in rule pages, those of installed packages, and those of `extra_folders`.

    Never raises for a page: what is wrong with one is among the catalog's `problems`, and the others load.
    """
    problems: list[Problem] = []
    sources = list(_read_folder(builtin_folder(), problems, builtin=True))
    if entry_points:
        for name, folder in _offered(problems):
            sources += _read_folder(folder, problems, f"entry point `{name}`")
    for extra in extra_folders:
        sources += _read_folder(os.fspath(extra), problems, "`rules`")
    digest = blake2b(digest_size=16)
    for source in sources:
        digest.update(source.family.encode() + b"\0" + source.content + b"\0")
    return Catalog(tuple(sources), digest.hexdigest(), tuple(problems))


def builtin_folder() -> str:
    """The folder of the built-in pages: inside the installed package, or beside it in a source tree."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_rules"
    return str(installed if installed.is_dir() else package.parent / "rules")


def _read_folder(
    folder: str, problems: list[Problem], named_by: str = "", builtin: bool = False
) -> Iterator[Source]:
    if not os.path.isdir(folder):
        hint = f"named by {named_by}" if named_by else None
        problems.append(Problem("no such folder of rule pages", folder, hint=hint))
        return
    for path in _pages(folder):
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError as error:
            problems.append(Problem(f"cannot read the rule page: {error.strerror}", path))
            continue
        family = os.path.relpath(os.path.dirname(path), folder).replace(os.sep, "/")
        yield Source(path, os.path.basename(folder) if family == "." else family, content, builtin)


def _pages(folder: str) -> Iterator[str]:
    """The Markdown files below a folder, in a stable order; hidden ones and READMEs are left out."""
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_dir():
            yield from _pages(entry.path)
        elif entry.name.endswith(".md") and entry.name.lower() != "readme.md":
            yield entry.path


def _offered(problems: list[Problem]) -> Iterator[tuple[str, str]]:
    """The folders offered by installed packages: (entry point's name, folder).

    The entry points are read from the files that the packaging standard puts them in: importing
    `importlib.metadata` would cost more than the whole catalog.
    """
    seen: set[str] = set()
    for root in dict.fromkeys(sys.path):
        for name, value in _declared(root):
            if name in seen:
                continue
            seen.add(name)
            folder = _locate(value)
            if folder is None:
                problems.append(Problem(f"entry point `{name}` names `{value}`, which is not installed"))
            else:
                yield name, folder


def _declared(root: str) -> Iterator[tuple[str, str]]:
    try:
        entries = sorted(entry.path for entry in os.scandir(root or ".") if entry.name.endswith(".dist-info"))
    except OSError:
        return  # sys.path may name what is no folder
    for path in entries:
        try:
            with open(os.path.join(path, "entry_points.txt"), encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError):
            continue
        if GROUP in text:
            yield from _group(text)


def _group(text: str) -> Iterator[tuple[str, str]]:
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()


def _locate(value: str) -> str | None:
    from importlib.util import find_spec

    package, _, folder = value.partition(":")
    top, *rest = package.strip().split(".")
    try:
        spec = find_spec(top)  # of a top-level name: finds it and imports nothing
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    parts = [*rest, *filter(None, folder.strip().replace(".", "/").split("/"))]
    for location in spec.submodule_search_locations or ():
        candidate = os.path.join(location, *parts)
        if os.path.isdir(candidate):
            return candidate
    return None
