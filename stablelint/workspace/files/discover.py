"""Which files are checked: walks the given paths, honouring excludes and `.gitignore` files at every level, as git does.

The semantics of those (anchoring, negation, nesting) are pathspec's; it is imported only where such a file exists.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from pathlib import Path
from typing import TYPE_CHECKING

from stablelint.config import Settings
from stablelint.diagnostic import Problem
from stablelint.records import dataclass
from stablelint.syntax.content import NOTEBOOK

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_GITIGNORE = ".gitignore"

DEFAULT_EXCLUDE = tuple(
    """
    .bzr .direnv .eggs .git .git-rewrite .hg .ipynb_checkpoints .mypy_cache .nox .pants.d .pyenv .pytest_cache
    .pytype .ruff_cache .stablelint_cache .svn .tox .venv .vscode __pypackages__ _build buck-out build dist
    node_modules site-packages venv
    """.split()
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to check: its absolute path and what the file system said of it."""

    path: str
    mtime_ns: int
    size: int


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files found, ordered by path, and the paths that could not be used."""

    files: tuple[Candidate, ...]
    problems: tuple[Problem, ...]


def discover(paths: Sequence[str], settings: Settings) -> Discovery:
    """Python files and notebooks under `paths`. A file that is named itself is taken whatever its suffix and the excludes
    (unless `force-exclude` is set)."""
    walker = _Walker(settings)
    found: dict[str, Candidate] = {}
    problems: list[Problem] = []
    for given in dict.fromkeys(paths):
        path = os.path.abspath(given) if given else ""  # which is no folder, least of all this one
        if os.path.isdir(path):
            before = len(found), len(walker.unreadable)
            found.update((item.path, item) for item in walker.walk(path))
            inside = os.path.join(path, "")
            if (len(found), len(walker.unreadable)) == before and not any(
                item.startswith(inside) for item in found
            ):
                problems.append(Problem("no Python files in this folder", given))
        elif os.path.exists(path):
            if not (settings.force_exclude and walker.excluded(path)):
                problems.extend(_take(path, found))
        else:
            problems.append(Problem("no such file or folder", given))
    problems.extend(Problem(f"cannot read this folder: {text}", path) for path, text in walker.unreadable)
    for path in _met_already(walker.links, found):
        del found[path]
    return Discovery(tuple(found[path] for path in sorted(found)), tuple(problems))


def _met_already(links: Sequence[str], found: Iterable[str]) -> Iterator[str]:
    """Links to files that are among the found ones by another name: no file is to be checked, or fixed, twice."""
    if not links:
        return
    real = {os.path.realpath(path) for path in set(found).difference(links)}
    for path in sorted(set(links)):
        target = os.path.realpath(path)
        if target in real:
            yield path
        real.add(target)


def _take(path: str, found: dict[str, Candidate]) -> Iterable[Problem]:
    try:
        status = os.stat(path)
    except OSError as error:
        return [Problem(f"cannot read this file: {error.strerror}", path)]
    if not stat.S_ISREG(status.st_mode):
        return [Problem("not a file; code from a pipe is read where the path is `-`", path)]
    found[path] = Candidate(path, status.st_mtime_ns, status.st_size)
    return []


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The ignore files that hold in one folder, the deepest first."""

    levels: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def entering(self, folder: str, file: str = _GITIGNORE) -> IgnoreRules:
        """The rules that hold inside `folder`, which has an ignore file."""
        spec = _read(os.path.join(folder, file))
        return self if spec is None else IgnoreRules(((folder, spec), *self.levels))

    def ignores(self, path: str, folder: bool) -> bool:
        """Whether the absolute `path` is ignored; the deepest file that speaks of it decides."""
        for base, spec in self.levels:
            relative = path[len(base) :].lstrip(os.sep).replace(os.sep, "/")
            verdict = spec.check_file(relative + "/" if folder else relative).include
            if verdict is not None:
                return verdict
        return False


def _above(folder: str) -> IgnoreRules:
    """The rules that reach `folder` from the folders above it, up to the root of its repository."""
    folders = [folder, *map(str, Path(folder).parents)]
    top = next((at for at, one in enumerate(folders) if os.path.exists(os.path.join(one, ".git"))), None)
    if top is None:
        return IgnoreRules()  # not in a repository: files above are nobody's business
    rules = IgnoreRules().entering(folders[top], os.path.join(".git", "info", "exclude"))
    for parent in reversed(folders[1 : top + 1]):
        rules = rules.entering(parent)
    return rules


def _read(path: str) -> GitIgnoreSpec | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line for line in file.read().splitlines() if line.strip() and not line.startswith("#")]
    except OSError:
        return None
    if not lines:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:  # a malformed pattern; git skips such a line, and so do we
        return GitIgnoreSpec.from_lines(line for line in lines if _valid(line))


def _valid(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


class _Walker:
    """One walk over folders; links to folders are not followed, so that it ends."""

    def __init__(self, settings: Settings) -> None:
        self._root = os.path.abspath(settings.root)
        exclude = DEFAULT_EXCLUDE if settings.exclude is None else settings.exclude
        wanted = (*exclude, *settings.extend_exclude)
        # Literal names are the common case, and a set is faster than any pattern.
        self._literal = frozenset(name for name in wanted if not set(name) & set("*?[/\\"))
        rest = [name for name in wanted if name not in self._literal]
        self._patterns = PathPatterns(rest) if rest else None
        self._gitignore = settings.respect_gitignore
        self.unreadable: list[tuple[str, str]] = []
        self.links: list[str] = []

    def walk(self, top: str) -> Iterator[Candidate]:
        rules = _above(top) if self._gitignore else IgnoreRules()
        if rules.ignores(top, folder=True):
            rules = IgnoreRules()  # whoever names an ignored folder wants what is in it
        pending = [(top, rules)]
        while pending:
            folder, rules = pending.pop()
            try:
                with os.scandir(folder) as listing:
                    entries = list(listing)
            except OSError as error:
                self.unreadable.append((folder, error.strerror or str(error)))
                continue
            if self._gitignore and any(entry.name == _GITIGNORE for entry in entries):
                rules = rules.entering(folder)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if not self._skips(entry.path, entry.name, rules, folder=True):
                        pending.append((entry.path, rules))
                elif entry.name.endswith((".py", NOTEBOOK)) and not self._skips(
                    entry.path, entry.name, rules, folder=False
                ):
                    yield from self._candidate(entry)

    def _candidate(self, entry: os.DirEntry[str]) -> Iterator[Candidate]:
        try:
            status = entry.stat()
        except OSError:
            return  # a dangling link, or a file deleted meanwhile: nothing to check
        if entry.is_file():
            if entry.is_symlink():
                self.links.append(entry.path)
            yield Candidate(entry.path, status.st_mtime_ns, status.st_size)

    def excluded(self, path: str) -> bool:
        """Whether `path` or a folder above it, up to the root, is excluded."""
        while len(path) > len(self._root):
            if self._matches(path, os.path.basename(path)):
                return True
            path = os.path.dirname(path)
        return False

    def _skips(self, path: str, name: str, rules: IgnoreRules, folder: bool) -> bool:
        if self._matches(path, name):
            return True
        return bool(rules.levels) and rules.ignores(path, folder)

    def _matches(self, path: str, name: str) -> bool:
        if name in self._literal:
            return True
        return self._patterns is not None and self._patterns.match(self._relative(path))

    def _relative(self, path: str) -> str:
        inside = path.startswith(self._root + os.sep)
        relative = path[len(self._root) + 1 :] if inside else path
        return relative.replace(os.sep, "/")


class PathPatterns:
    """Patterns over paths relative to a root, written with `/`.

    A pattern without a slash is matched against every single name, one with a slash against the path from the
    root. `*` also crosses slashes. A pattern that names a folder covers all that lies in it.
    """

    __slots__ = ("_names", "_paths")

    def __init__(self, patterns: Iterable[str]) -> None:
        names: list[str] = []
        paths: list[str] = []
        for pattern in patterns:
            text = pattern.replace("\\", "/").removeprefix("./").rstrip("/")
            if text:
                (paths if "/" in text else names).append(text)
        self._names = _any_of(names)
        self._paths = _any_of(
            [*paths, *(path.removeprefix("**/") for path in paths if path.startswith("**/"))]
        )

    def match(self, relative: str) -> bool:
        """Whether the last name of `relative`, or `relative` as a whole, is matched."""
        if self._names is not None and self._names.match(relative.rpartition("/")[2]):
            return True
        return self._paths is not None and self._paths.match(relative) is not None

    def match_within(self, relative: str) -> bool:
        """Whether `relative` or a folder above it is matched."""
        if self.match(relative):
            return True
        above = relative.rpartition("/")[0]
        return bool(above) and self.match_within(above)


def _any_of(patterns: list[str]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    return re.compile("|".join(translate(pattern) for pattern in patterns))
