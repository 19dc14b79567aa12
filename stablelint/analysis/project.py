"""How imports lead from one file to another. A file is read and parsed, never imported.

`Library` holds parsed files for the life of the process; `Project` is what the analysis of one file sees of it,
and notes which files the outcome depends on.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from stablelint.analysis.modules import ClassInfo, FunctionInfo, ModuleInfo, abridge, module_of, release
from stablelint.syntax.sieve import handles_tensors
from stablelint.syntax.source import SourceError, parse

Found = FunctionInfo | ClassInfo | tuple[ModuleInfo, str]

_FILES = 32  # other files that the analysis of one file may read
_LARGEST = 400_000  # bytes; what is larger is generated
_LARGEST_PLAIN = 30_000  # bytes, without a word of torch: only its constants could matter
_LARGEST_FUNCTION = 60  # statements; what a longer one yields is not followed
_CAPACITY = 3_000_000  # bytes of source of which the parsed definitions are held
_RE_EXPORTS = 6  # how often a name may lead on to another module


def digest(data: bytes) -> str:
    """The digest by which `FileReport.consulted` names a file's content."""
    return blake2b(data, digest_size=16).hexdigest()


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
        self._volumes: OrderedDict[Path, _Volume] = OrderedDict()
        self._leaving: list[ModuleInfo] = []
        self._capacity = capacity
        self._held = 0

    def get(self, path: Path, package: str) -> _Volume:
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


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


def _read(path: Path, package: str, stamp: tuple[int, int]) -> _Volume:
    try:
        data = path.read_bytes()
    except OSError:
        return _Volume(stamp, "", 0, None)
    relevant = handles_tensors(data)
    module = None
    if len(data) <= (_LARGEST if relevant else _LARGEST_PLAIN):
        try:
            module = module_of(parse(data, str(path)), path, package)
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
        self._modules: dict[Path, ModuleInfo | None] = {}
        self._packages: dict[Path, tuple[Path, str]] = {}
        self._tops: dict[tuple[Path, str], bool] = {}
        self._found: dict[tuple[Path, str], Found | None] = {}
        self._read = 0
        self.consulted: dict[str, str] = {}

    def close(self) -> None:
        """Lets go of the files read."""
        self._modules.clear()
        self._found.clear()
        self._library.close()

    def adopt(self, module: ModuleInfo) -> None:
        """Makes `module` the one that imports of its own path lead to."""
        if module.path is not None:
            self._modules[module.path] = module

    def package_of(self, path: Path) -> tuple[Path, str]:
        """The folder above the outermost package that holds `path`, and the dotted package of the file."""
        known = self._packages.get(path.parent)
        if known is None:
            folder = path.parent
            names: list[str] = []
            while (folder / "__init__.py").is_file() and folder.parent != folder:
                names.append(folder.name)
                folder = folder.parent
            known = self._packages[path.parent] = (folder, ".".join(reversed(names)))
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

    def _search(self, qualified_name: str, root: Path) -> Found | None:
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

    def _re_exported(self, name: str, module: ModuleInfo, root: Path) -> str | None:
        """The qualified name that a module imports under `name`, by itself or with a star."""
        if name in module.imports:
            return module.imports[name]
        for star in module.stars:
            source = self._file_of(star.split("."), root)
            if source is not None and source is not module and source.defines(name):
                return f"{star}.{name}"
        return None

    def _locate(self, qualified_name: str, root: Path) -> tuple[ModuleInfo, str] | None:
        """The longest prefix of the name that is a file, and what follows it."""
        parts = qualified_name.split(".")
        if not self._is_here(parts[0], root):
            return None
        for cut in range(len(parts) - 1, 0, -1):
            module = self._file_of(parts[:cut], root)
            if module is not None:
                return module, ".".join(parts[cut:])
        return None

    def _is_here(self, top: str, root: Path) -> bool:
        """Whether a top-level name is a module or package of this project; most imports lead elsewhere."""
        known = self._tops.get((root, top))
        if known is None:
            known = (root / top).is_dir() or (root / f"{top}.py").is_file()
            self._tops[root, top] = known
        return known

    def _file_of(self, parts: list[str], root: Path) -> ModuleInfo | None:
        base = root.joinpath(*parts)
        return self.load(base.with_suffix(".py")) or self.load(base / "__init__.py")

    def load(self, path: Path) -> ModuleInfo | None:
        """The parsed file, or None where there is none, it does not parse, or enough files have been read."""
        if path in self._modules:
            return self._modules[path]
        if self._read >= _FILES:
            return None
        volume = self._library.get(path, self.package_of(path)[1])
        self.consulted[str(path)] = volume.digest
        self._read += volume.module is not None
        self._modules[path] = volume.module
        return volume.module
