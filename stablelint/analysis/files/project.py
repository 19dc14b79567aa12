"""How imports lead from one file to another. A file is read and parsed, never imported.

`Library` holds parsed files for the life of the process; `Project` is what the analysis of one file sees of it,
and notes which files the outcome depends on. Names are looked up by the thousand: paths are texts here.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from stablelint.analysis.files.modules import ClassInfo, FunctionInfo, ModuleInfo, abridge, module_of, release
from stablelint.syntax.content import digest
from stablelint.syntax.relevance import handles_tensors
from stablelint.syntax.source import SourceError, parse

Found = FunctionInfo | ClassInfo | tuple[ModuleInfo, str]

_FILES = 32  # other files that the analysis of one file may read
_LARGEST = 400_000  # bytes; what is larger is generated
_LARGEST_PLAIN = 30_000  # bytes, without a word of torch: only its constants could matter
_LARGEST_FUNCTION = 60  # statements; what a longer one yields is not followed
_CAPACITY = 3_000_000  # bytes of source of which the parsed definitions are held
_RE_EXPORTS = 6  # how often a name may lead on to another module


@dataclass(frozen=True, slots=True)
class _Volume:
    """A file as it was when it was read."""

    stamp: tuple[int, int] | None  # modification time and size; None where there is no file
    digest: str
    size: int
    module: ModuleInfo | None


_ABSENT = _Volume(None, "", 0, None)


class Library:
    """Parsed files, the ones used last, bounded by the size of their source."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._volumes: OrderedDict[str, _Volume] = OrderedDict()
        self._leaving: list[ModuleInfo] = []
        self._capacity = capacity
        self._held = 0

    def get(self, path: str, package: str) -> _Volume:
        """The file as it is now; parsed again only if it has changed."""
        stamp = _stamp(path)
        known = self._volumes.get(path)
        if known is not None and known.stamp == stamp:
            self._volumes.move_to_end(path)
            return known
        if known is not None:
            self._forget(self._volumes.pop(path))
        if stamp is None:
            return _ABSENT
        volume = _read(path, package, stamp)
        self._volumes[path] = volume
        self._held += volume.size
        while self._held > self._capacity and len(self._volumes) > 1:
            self._forget(self._volumes.popitem(last=False)[1])
        return volume

    def close(self) -> None:
        """Frees what it has forgotten: no analysis holds it any more."""
        for module in self._leaving:
            release(module)
        self._leaving.clear()

    def _forget(self, volume: _Volume) -> None:
        self._held -= volume.size
        if volume.module is not None:
            self._leaving.append(volume.module)


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


def _read(path: str, package: str, stamp: tuple[int, int]) -> _Volume:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return _Volume(stamp, "", 0, None)
    relevant = handles_tensors(data)
    module = None
    if len(data) <= (_LARGEST if relevant else _LARGEST_PLAIN):
        try:
            module = module_of(parse(data, path), Path(path), package)
            module.mentions_torch = relevant
            abridge(module, _LARGEST_FUNCTION)
        except SourceError:
            module = None
    return _Volume(stamp, digest(data), len(data) if module is not None else 0, module)


_LIBRARY = Library()


class Project:
    """The files around the one under analysis, read when an import leads to them."""

    def __init__(self, library: Library = _LIBRARY) -> None:
        self._library = library
        self._modules: dict[str, ModuleInfo | None] = {}
        self._packages: dict[str, tuple[str, str]] = {}  # by folder
        self._tops: dict[tuple[str, str], bool] = {}
        self._located: dict[tuple[str, str], ModuleInfo | None] = {}  # by root and dotted module
        self._found: dict[tuple[str, str], Found | None] = {}
        self._read = 0
        self.consulted: dict[str, str] = {}

    def close(self) -> None:
        """Lets go of the files read."""
        self._modules.clear()
        self._located.clear()
        self._found.clear()
        self._library.close()

    def adopt(self, module: ModuleInfo) -> None:
        """Makes `module` the one that imports of its own path lead to."""
        if module.path is not None:
            self._modules[str(module.path)] = module

    def package_of(self, path: str | Path) -> tuple[str, str]:
        """The folder above the outermost package that holds `path`, and the dotted package of the file."""
        inner = os.path.dirname(path)
        known = self._packages.get(inner)
        if known is None:
            folder = inner
            names: list[str] = []
            while os.path.isfile(os.path.join(folder, "__init__.py")):
                above, name = os.path.split(folder)
                if above == folder:
                    break
                names.append(name)
                folder = above
            known = self._packages[inner] = (folder, ".".join(reversed(names)))
        return known

    def find(self, qualified_name: str, origin: ModuleInfo) -> Found | None:
        """What a qualified name means in this project: a function, a class, or (module, global name)."""
        if origin.path is None:
            return None
        root = self.package_of(origin.path)[0]
        key = (root, qualified_name)
        if key not in self._found:
            self._found[key] = self._search(qualified_name, root)
        return self._found[key]

    def _search(self, qualified_name: str, root: str) -> Found | None:
        for _ in range(_RE_EXPORTS):
            located = self._locate(qualified_name, root)
            if located is None:
                return None
            module, rest = located
            name, _, member = rest.partition(".")
            if name in module.functions and not member:
                return module.functions[name]
            if name in module.classes:
                info = module.classes[name]
                return info.methods.get(member) if member else info
            if name in module.assignments and name not in module.imports:
                return None if member else (module, name)
            following = self._re_exported(name, module, root)
            if following is None or following == qualified_name:
                return None
            qualified_name = ".".join(filter(None, (following, member)))
        return None

    def _re_exported(self, name: str, module: ModuleInfo, root: str) -> str | None:
        """The qualified name that a module imports under `name`, by itself or with a star."""
        if name in module.imports:
            return module.imports[name]
        for star in module.stars:
            source = self._file_of(star, root)
            if source is not None and source is not module and source.defines(name):
                return f"{star}.{name}"
        return None

    def _locate(self, qualified_name: str, root: str) -> tuple[ModuleInfo, str] | None:
        """The longest prefix of the name that is a file, and what follows it."""
        if not self._is_here(qualified_name.partition(".")[0], root):
            return None
        prefix, _, rest = qualified_name.rpartition(".")
        while prefix:
            module = self._file_of(prefix, root)
            if module is not None:
                return module, rest
            prefix, _, last = prefix.rpartition(".")
            rest = f"{last}.{rest}"
        return None

    def _is_here(self, top: str, root: str) -> bool:
        """Whether a top-level name is a module or package of this project; most imports lead elsewhere."""
        known = self._tops.get((root, top))
        if known is None:
            base = os.path.join(root, top)
            known = self._tops[root, top] = os.path.isdir(base) or os.path.isfile(f"{base}.py")
        return known

    def _file_of(self, dotted: str, root: str) -> ModuleInfo | None:
        key = (root, dotted)
        if key not in self._located:
            base = os.path.join(root, *filter(None, dotted.split(".")))
            self._located[key] = self.load(f"{base}.py") or self.load(os.path.join(base, "__init__.py"))
        return self._located[key]

    def load(self, path: str) -> ModuleInfo | None:
        """The parsed file, or None where there is none, it does not parse, or enough files have been read."""
        if path in self._modules:
            return self._modules[path]
        if self._read >= _FILES:
            return None
        volume = self._library.get(path, self.package_of(path)[1])
        self.consulted[path] = volume.digest
        self._read += volume.module is not None
        self._modules[path] = volume.module
        return volume.module
