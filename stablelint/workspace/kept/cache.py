"""What was found in a file, kept until the file, or anything that matters to the result, changes.

One folder per context (version, rules, level …) with a few files of many entries each, a line of JSON an entry: a run
over thousands of unchanged files costs one `stat` per file and eight reads. Nothing is ever unpickled; what cannot be
read counts as absent. Files are replaced as a whole, so that runs at the same time may share a cache.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from functools import cache
from itertools import starmap
from typing import TYPE_CHECKING
from zlib import crc32

import stablelint
from stablelint.records import dataclass, field
from stablelint.syntax.content import digest
from stablelint.workspace.files.discover import Candidate
from stablelint.workspace.kept.codec import Json

if TYPE_CHECKING:
    from stablelint.analysis.files.interface import Interface

SHARDS = 8
_CONTEXTS_KEPT = 6
# A file written this recently may be written again within the resolution of its time stamp.
_RACY_NS = 2_000_000_000
_SHOWN = "\0"  # behind a path, marks what is kept of what the file shows
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder holds a cache of stablelint.\n"


def context_digest(*parts: str) -> str:
    """The name of the context in which results hold: this program, this Python, and `parts`."""
    version = ".".join(map(str, sys.version_info[:3]))
    return digest(
        "\0".join((stablelint.__version__, version, _installation(), *parts)).encode(
            "utf-8", "surrogateescape"
        )
    )


def _installation() -> str:
    """Sizes and times of the program's own files: an editable install changes without a new version."""
    stamps: list[str] = []
    pending = [os.path.dirname(os.path.abspath(stablelint.__file__))]
    while pending:
        with os.scandir(pending.pop()) as listing:
            for entry in listing:
                if entry.is_dir():
                    if entry.name != "__pycache__":
                        pending.append(entry.path)
                else:  # weights and tables decide results as code does
                    status = entry.stat()
                    stamps.append(f"{entry.path}:{status.st_size}:{status.st_mtime_ns}")
    return "\n".join(sorted(stamps))


@dataclass(slots=True)
class _Shard:
    path: str
    stamp: int | None = None
    files: dict[str, Json] = field(default_factory=dict)  # modification time, size, digest, entry, key
    lines: dict[str, str] = field(default_factory=dict)  # as they were read
    changed: set[str] = field(default_factory=set)


class Cache:
    """Results by file. `folder` is the cache folder, `root` the folder that keys are relative to."""

    def __init__(self, folder: str, context: str, root: str) -> None:
        self._folder = folder
        self._context_folder = os.path.join(folder, context[:20])
        self._root = root.rstrip(os.sep) + os.sep
        self._shards: dict[int, _Shard] = {}
        self._digests: dict[str, str] = {}
        self._interfaces: dict[str, Interface | None] = {}
        self._importable: dict[str, frozenset[str]] = {}
        self._standing = cache(self._stands)  # many files consult the same

    def get(self, file: Candidate) -> Json | None:
        """The entry of a file that has not changed since, by its time stamp or else by its content."""
        known = self._known(file.path)
        if known is None:
            return None
        stored_digest, entry = known[2], known[3]
        if not self._same_stamp(known, file):
            current = self._digest_of(file.path)
            if current != stored_digest:
                return None
            self.put(file, current, entry)
        with suppress(AttributeError, TypeError):  # of a damaged entry
            return entry if all(starmap(self._standing, entry.get("consulted", {}).items())) else None
        return None

    def last(self, path: str) -> Json | None:
        """The entry of a file as it was when it was examined last, whatever has changed since."""
        known = self._known(path)
        return known[3] if known is not None else None

    def put(self, file: Candidate, content: str, entry: Json) -> None:
        """Keeps `entry` for the file whose content has the digest `content`."""
        racy = time.time_ns() - file.mtime_ns < _RACY_NS
        key, shard = self._place(file.path)
        shard.files[key] = [0 if racy else file.mtime_ns, file.size, content, entry, key]
        shard.changed.add(key)
        self._digests[file.path] = content

    def save(self) -> None:
        """Writes what changed. A cache that cannot be written is no error: the next run is slower."""
        changed = [shard for shard in self._shards.values() if shard.changed]
        if not changed:
            return
        try:
            fresh = not os.path.isdir(self._context_folder)
            os.makedirs(self._context_folder, exist_ok=True)
            _write_once(os.path.join(self._folder, ".gitignore"), "*\n")
            _write_once(os.path.join(self._folder, "CACHEDIR.TAG"), _TAG)
            for shard in changed:
                self._save_shard(shard)
            if fresh:
                self._prune()
        except OSError:
            return

    def _known(self, path: str) -> Json | None:
        key, shard = self._place(path)
        return shard.files.get(key)

    def _same_stamp(self, known: Json, file: Candidate) -> bool:
        return bool(known[0] == file.mtime_ns and known[1] == file.size)

    def _stands(self, path: str, before: str) -> bool:
        """Whether a file that was consulted is the same for those who use it, or nothing has come into a folder that
        matters."""
        if path.endswith(os.sep):
            return self._importable_in(path).isdisjoint(before.split(os.sep))
        content, _, shown = before.partition(" ")
        interface, _, names = shown.partition(" ")
        same = self._digest_of(path) == content
        return same or (interface != "" and interface == self._shown_by(path, names))

    def _importable_in(self, folder: str) -> frozenset[str]:
        """The names of the modules, packages and plain folders in a folder."""
        if folder not in self._importable:
            with suppress(OSError), os.scandir(folder) as listing:
                modules = (entry.name for entry in listing if entry.is_dir() or entry.name.endswith(".py"))
                self._importable[folder] = frozenset(name.removesuffix(".py") for name in modules)
        return self._importable.get(folder, frozenset())

    def _shown_by(self, path: str, names: str) -> str:
        """The digest of what a file shows of these names now; "" where it cannot be read.

        It is kept, too: until they are examined for another reason, all that use the file will ask for it.
        """
        key, shard = self._place(f"{path}{_SHOWN}")
        content = self._digest_of(path)
        known = shard.files.get(key)
        if known is None or known[2] != content:
            known = shard.files[key] = [0, 0, content, {}, key]
        if names not in known[3]:
            if path not in self._interfaces:
                from stablelint.analysis.files.project import interface_of

                self._interfaces[path] = interface_of(path)
            interface = self._interfaces[path]
            known[3][names] = interface.digest_of(names.split(" ")) if interface is not None else ""
            shard.changed.add(key)
        return str(known[3][names])

    def _digest_of(self, path: str) -> str:
        """The digest of a file's content now; "" where there is none."""
        found = self._digests.get(path)
        if found is None:
            found = self._digests[path] = self._compute_digest(path)
        return found

    def _compute_digest(self, path: str) -> str:
        try:
            status = os.stat(path)
            known = self._known(path)
            if known is not None and self._same_stamp(
                known, Candidate(path, status.st_mtime_ns, status.st_size)
            ):
                return str(known[2])
            with open(path, "rb") as file:
                return digest(file.read())
        except OSError:
            return ""

    def _place(self, path: str) -> tuple[str, _Shard]:
        key = path.removeprefix(self._root)
        number = crc32(key.encode("utf-8", "surrogateescape")) % SHARDS
        shard = self._shards.get(number)
        if shard is None:
            path = os.path.join(self._context_folder, f"{number}.jsonl")
            shard = self._shards[number] = self._load(path)
        return key, shard

    def _load(self, path: str) -> _Shard:
        shard = _Shard(path)
        try:
            with open(path, encoding="utf-8", errors="surrogatepass", newline="\n") as file:
                shard.stamp = os.fstat(file.fileno()).st_mtime_ns
                root, *lines = file.read().split("\n")
        except (OSError, UnicodeError):
            return shard
        for line in lines if root == _encoded(self._root) else ():
            with suppress(ValueError, RecursionError):
                known = json.loads(line)
                if isinstance(known, list) and len(known) == 5 and isinstance(known[3], dict):
                    shard.files[str(known[4])], shard.lines[str(known[4])] = known, line
        return shard

    def _save_shard(self, shard: _Shard) -> None:
        mine = {key: _encoded(shard.files[key]) for key in shard.changed}
        base = shard if _stamp(shard.path) == shard.stamp else self._load(shard.path)
        kept = (
            line
            for key, line in base.lines.items()
            if key not in mine and os.path.exists(os.path.join(self._root, key.removesuffix(_SHOWN)))
        )
        temporary = f"{shard.path}.{os.getpid()}"
        try:
            with open(temporary, "w", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
                file.write("\n".join([_encoded(self._root), *kept, *mine.values()]))
            os.replace(temporary, shard.path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        shard.changed.clear()

    def _prune(self) -> None:
        """Drops the contexts that were not written to for longest."""
        import shutil

        with os.scandir(self._folder) as listing:
            folders = [one for one in listing if one.is_dir(follow_symlinks=False) and len(one.name) == 20]
        for one in sorted(folders, key=os.path.getmtime, reverse=True)[_CONTEXTS_KEPT:]:
            shutil.rmtree(one, ignore_errors=True)


def _encoded(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _stamp(path: str) -> int | None:
    with suppress(OSError):
        return os.stat(path).st_mtime_ns
    return None


def _write_once(path: str, text: str) -> None:
    with suppress(FileExistsError), open(path, "x", encoding="utf-8") as file:
        file.write(text)
