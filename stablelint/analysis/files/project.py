"""How imports lead from one file to another. A file is read and parsed, never imported.

`Library` holds parsed files for the life of the process; `Project` is what the analysis of one file sees of it,
and notes which files the outcome depends on. Names are looked up by the thousand: paths are texts here.
"""

from __future__ import annotations

import ast
import os
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path

from stablelint.analysis.files.abridging import release
from stablelint.analysis.files.indexing import module_of
from stablelint.analysis.files.interface import Interface, abridged, words_of
from stablelint.analysis.files.modules import ClassInfo, FunctionInfo, ModuleInfo
from stablelint.diagnostic import NOTHING, UNEDITED, WHOLE, Passed, Passes, Place, Texts
from stablelint.records import dataclass
from stablelint.syntax.content import digest
from stablelint.syntax.precision import SCOPED, program_of
from stablelint.syntax.relevance import handles_tensors
from stablelint.syntax.source import SourceError, parse

Found = FunctionInfo | ClassInfo | tuple[ModuleInfo, str]

_FILES = 32  # other files that the analysis of one file may read
_LARGEST = 400_000  # bytes; what is larger is generated
_LARGEST_PLAIN = 30_000  # bytes, without a word of torch: only its constants could matter
_LARGEST_FUNCTION = 60  # statements; what a longer one yields is not followed
_CAPACITY = 3_000_000  # bytes of source of which the parsed definitions are held
_RE_EXPORTS = 6  # how often a name may lead on to another module
_INHERITED = 8  # classes between one and the method that it inherits


@dataclass(frozen=True, slots=True)
class _Volume:
    """A file as it was when it was read."""

    stamp: tuple[int, int] | None  # modification time and size; None where there is no file
    digest: str
    size: int
    module: ModuleInfo | None
    interface: Interface | None = None


_ABSENT = _Volume(None, "", 0, None)


class Library:
    """Parsed files, the ones used last, bounded by the size of their source."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._volumes: OrderedDict[str, _Volume] = OrderedDict()
        self._leaving: list[ModuleInfo] = []
        self._capacity = capacity
        self._held = 0

    def get(self, path: str, package: str, data: bytes | None = None) -> _Volume:
        """The file as it is now, or as if it held `data`; parsed again only if it has changed."""
        stamp = _stamp(path) if data is None else (hash(data), -1)
        known = self._volumes.get(path)
        if known is not None and known.stamp == stamp:
            self._volumes.move_to_end(path)
            return known
        if known is not None:
            self._forget(self._volumes.pop(path))
        if stamp is None:
            return _ABSENT
        volume = _read(path, package, stamp, data)
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


def _read(path: str, package: str, stamp: tuple[int, int], data: bytes | None) -> _Volume:
    try:
        data = Path(path).read_bytes() if data is None else data
    except OSError:
        return _Volume(stamp, "", 0, None)
    relevant = handles_tensors(data)
    module = interface = None
    if len(data) <= (_LARGEST if relevant else _LARGEST_PLAIN):
        try:
            module = module_of(parse(data, path), Path(path), package)
            module.mentions_torch = relevant
            interface = abridged(module, _LARGEST_FUNCTION)
        except SourceError:
            module = None
    return _Volume(stamp, digest(data), len(data) if module is not None else 0, module, interface)


_LIBRARY = Library()


def interface_of(path: str) -> Interface | None:
    """What other files can see of a file as it is now; None where it cannot be read."""
    return _LIBRARY.get(path, Project().package_of(path)[1]).interface


class Project:
    """The files around the one under analysis, read when an import leads to them.

    `root` is the folder above which no import is looked for, save those of a package that stands higher. `edited` files
    are read as if they held what stands there.
    """

    def __init__(
        self,
        library: Library = _LIBRARY,
        root: str = "",
        received: Passes = NOTHING,
        edited: Texts = UNEDITED,
    ) -> None:
        self._library = library
        self.root = root
        self._edited = edited
        self._modules: dict[str, ModuleInfo | None] = {}
        self._packages: dict[str, tuple[str, str]] = {}  # by folder
        self._bases: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}  # by folder and search path
        self._tops: dict[tuple[str, str], bool] = {}
        self._located: dict[tuple[str, str], ModuleInfo | None] = {}  # by base and dotted module
        self._found: dict[tuple[tuple[str, ...], str], Found | None] = {}
        self._read = 0
        self._received = received
        # What the file under analysis shows of it: see `syntax.precision`.
        self.shown: frozenset[str] = frozenset()
        self.program = WHOLE
        self.asked: set[Place] = set()
        self._consulted: dict[str, _Volume] = {}
        self._sought: defaultdict[ModuleInfo, set[str]] = defaultdict(set)  # names looked up in a file

    def close(self) -> None:
        """Lets go of the files read."""
        self._modules.clear()
        self._consulted.clear()
        self._sought.clear()
        self._located.clear()
        self._found.clear()
        self._library.close()

    def consulted(self, named: Collection[str]) -> dict[str, str]:
        """The files read, and how each must look for the outcome to hold; the outcome names places in those `named`.

        That is the digest of its content and, where no place in it is named, behind spaces that of what it shows under
        the names looked up in it, and these. Of a folder, whose path ends in a separator, it is what must not be there to
        be imported: names with separators between them.
        """
        absent: defaultdict[str, list[str]] = defaultdict(list)
        for (base, top), here in sorted(self._tops.items()):
            if not here:
                absent[os.path.join(base, "")].append(top)
        found = {folder: os.sep.join(names) for folder, names in absent.items()}
        for path, volume in self._consulted.items():
            found[path] = volume.digest
            if volume.module is not None and volume.interface is not None and path not in named:
                names = sorted(self._sought[volume.module])
                found[path] = " ".join([volume.digest, volume.interface.digest_of(names), *names])
        return found

    def adopt(self, module: ModuleInfo) -> None:
        """Makes `module` the one that imports of its own path lead to."""
        if module.path is not None:
            self._modules[str(module.path)] = module
            self.program = program_of(str(module.path))

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

    def passed_to(self, target: str, name: str) -> Sequence[Passed]:
        """What other files pass to a place, as far as they are checked together with this one; notes that it was asked."""
        self.asked.add((target, name))
        return self._received.get((target, name), ())

    def shows(self, fact: str) -> str | None:
        """The file that shows a fact about the project, by its path below the root: "" for the one under analysis, None
        where none is known to."""
        if fact in self.shown:
            return ""
        passed = self.passed_to(self.program if fact in SCOPED else WHOLE, fact)
        return os.path.relpath(passed[0].path, self.root or None) if passed else None

    def find(self, qualified_name: str, origin: ModuleInfo) -> Found | None:
        """What a qualified name means in this project: a function, a class, or (module, global name)."""
        if origin.path is None:
            return None
        key = (self._bases_of(origin), qualified_name)
        if key not in self._found:
            self._found[key] = self._search(qualified_name, origin, _RE_EXPORTS)
        return self._found[key]

    def programs_in(self, script: ModuleInfo) -> set[str]:
        """What a script is a part of, and what it imports, directly or not: see `program_of`."""
        reached = {script.path: script}
        pending = [script]
        for module in pending:  # grows while it is walked
            for name in (*module.imports.values(), *module.stars):
                located = self.locate(f"{name}.", module)
                if located is not None and located[0].path not in reached:
                    reached[located[0].path] = located[0]
                    pending.append(located[0])
        return {program_of(str(path)) for path in reached}

    def names_in(self, qualified_name: str, named: Collection[str], origin: ModuleInfo) -> list[Found]:
        """What those of the names that are `named` stand for in the file that a qualified name leads to, if it does."""
        located = self.locate(f"{qualified_name}.", origin) if origin.path is not None else None
        if located is None or located[1]:
            return []
        known = sorted(filter(located[0].defines, {*named} - located[0].imports.keys()))
        self._sought[located[0]].update(known)
        return [(located[0], name) for name in known]

    def resolve(self, node: ast.expr, origin: ModuleInfo) -> Found | None:
        """What a dotted name at the top level of a file stands for, there or in the files that it imports."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        name, member = node.id, ".".join(names)
        if not origin.defines(name):
            return None
        found = _defined(name, member, origin)
        if found is None and name in origin.imports:
            found = self.find(".".join(filter(None, (origin.imports[name], member))), origin)
        return found

    def method(self, info: ClassInfo, name: str, depth: int = _INHERITED) -> FunctionInfo | None:
        """The method of a class, its own or inherited, whatever file its bases stand in."""
        if name in info.methods or not depth:
            return info.methods.get(name)
        for base in info.node.bases:
            above = self.resolve(base, info.module)
            found = self.method(above, name, depth - 1) if isinstance(above, ClassInfo) else None
            if found is not None:
                return found
        return None

    def _search(self, qualified_name: str, origin: ModuleInfo, hops: int) -> Found | None:
        located = self.locate(qualified_name, origin)
        if located is None or not hops:
            return None
        module, rest = located
        name, _, member = rest.partition(".")
        found = _defined(name, member, module)
        following = self._re_exported(name, module) if found is None else None
        if following is None:
            return found
        return self._search(".".join(filter(None, (following, member))), module, hops - 1)

    def _re_exported(self, name: str, module: ModuleInfo) -> str | None:
        """The qualified name that a module imports under `name`, by itself or with a star."""
        if name in module.imports:
            return module.imports[name]
        for star in module.stars if module.path is not None else ():
            located = self.locate(f"{star}.{name}", module)
            if located is not None and located[0] is not module and located[0].defines(located[1]):
                return f"{star}.{name}"
        return None

    def locate(self, qualified_name: str, origin: ModuleInfo) -> tuple[ModuleInfo, str] | None:
        """The longest prefix of the name that is a file, seen from the nearest folder, and what follows it."""
        top = qualified_name.partition(".")[0]
        for base in self._bases_of(origin):
            prefix, _, rest = qualified_name.rpartition(".") if self._is_here(top, base) else ("", "", "")
            while prefix:
                module = self._file_of(prefix, base)
                if module is not None:
                    self._sought[module].add(rest.partition(".")[0])
                    return module, rest
                prefix, _, last = prefix.rpartition(".")
                rest = f"{last}.{rest}"
        return None

    def _bases_of(self, origin: ModuleInfo) -> tuple[str, ...]:
        """The folders from which imports of a file may count, nearest first.

        That above its package, its own, and those above up to the root of the project, as it may be run from any; in
        each, `src` and what the file itself adds to the search path.
        """
        inner = os.path.dirname(origin.path or "")
        key = (inner, origin.search_path)
        known = self._bases.get(key)
        if known is None:
            above, _ = self.package_of(os.path.join(inner, "x.py"))
            self._is_here("__init__", above)  # where it comes, the package begins higher
            folders = [above, inner]
            inside = os.path.join(self.root, "")
            while self.root and above != self.root and above.startswith(inside):
                above = os.path.dirname(above)
                folders.append(above)
            for place in [os.path.join(f, p) for f in folders for p in ("src", *origin.search_path)]:
                base, top = os.path.split(os.path.normpath(place))
                if self._is_here(top, base) and os.path.isdir(place):
                    folders.append(os.path.join(base, top))
            known = self._bases[key] = (*dict.fromkeys(folders),)
        return known

    def _is_here(self, top: str, base: str) -> bool:
        """Whether a top-level name is a module or package in a folder; most imports lead elsewhere, which is noted."""
        known = self._tops.get((base, top))
        if known is None:
            place = os.path.join(base, top)
            known = self._tops[base, top] = os.path.isdir(place) or os.path.isfile(f"{place}.py")
        return known

    def _file_of(self, dotted: str, base: str) -> ModuleInfo | None:
        key = (base, dotted)
        if key not in self._located:
            place = os.path.join(base, *filter(None, dotted.split(".")))
            self._located[key] = self.load(f"{place}.py") or self.load(os.path.join(place, "__init__.py"))
        return self._located[key]

    def read_by(self, path: str, text: str) -> ModuleInfo | None:
        """The file at `path`, to evaluate there an expression of which `text` is the text."""
        module = self.load(path)
        if module is not None:
            self._sought[module].update(words_of(text))
        return module

    def load(self, path: str) -> ModuleInfo | None:
        """The parsed file, or None where there is none, it does not parse, or enough files have been read."""
        if path in self._modules:
            return self._modules[path]
        if self._read >= _FILES:
            return None
        volume = self._library.get(path, self.package_of(path)[1], self._edited.get(path))
        self._consulted[path] = volume
        self._read += volume.module is not None
        self._modules[path] = volume.module
        return volume.module


def _defined(name: str, member: str, module: ModuleInfo) -> Found | None:
    """What a file itself defines under a name, or under a member of it."""
    if name in module.functions and not member:
        return module.functions[name]
    if name in module.classes:
        info = module.classes[name]
        return info.methods.get(member) if member else info
    if name in module.assignments and name not in module.imports and not member:
        return module, name
    return None
