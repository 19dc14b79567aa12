"""Files as the analysis sees them: functions, classes, and how imports lead from one file to another.

A file is read and parsed, never imported.
"""

from __future__ import annotations

import ast
from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from stablelint.analysis.value import Value
from stablelint.syntax.names import imported_names
from stablelint.syntax.source import Source, SourceError, parse

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(slots=True, eq=False)
class FunctionInfo:
    """A function and where it stands."""

    node: FunctionNode
    module: ModuleInfo
    owner: ClassInfo | None = None
    closure: object | None = None  # the frame in which a nested function was defined

    @property
    def name(self) -> str:
        """Its name; "<lambda>" where it has none."""
        return getattr(self.node, "name", "<lambda>")

    def has_decorator(self, *names: str) -> bool:
        """Whether one of `names` (last component) decorates it."""
        return any(_last_name(d) in names for d in getattr(self.node, "decorator_list", ()))


@dataclass(slots=True, eq=False)
class ClassInfo:
    """A class, its methods and the assignments in its body."""

    node: ast.ClassDef
    module: ModuleInfo
    methods: dict[str, FunctionInfo] = field(default_factory=dict)
    fields: dict[str, ast.expr | None] = field(default_factory=dict)
    assigned_later: frozenset[str] | None = None  # see `reassigned`
    instance: Value | None = None  # `self` as seen from its methods, once needed

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name

    @property
    def reassigned(self) -> frozenset[str]:
        """Attributes that methods other than `__init__` assign."""
        if self.assigned_later is None:
            found = [_assigned_attributes(m.node) for n, m in self.methods.items() if n != "__init__"]
            self.assigned_later = frozenset().union(*found)
        return self.assigned_later


@dataclass(slots=True, eq=False)
class ModuleInfo:
    """One parsed file."""

    path: Path | None
    source: Source
    package: str
    functions: dict[str, FunctionInfo] = field(default_factory=dict)
    classes: dict[str, ClassInfo] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    assignments: dict[str, list[ast.expr]] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)  # module-level names, evaluated on demand

    @property
    def is_script(self) -> bool:
        """Whether no package holds the file, so that nobody else imports its functions."""
        return not self.package


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def module_of(source: Source, path: Path | None, package: str) -> ModuleInfo:
    """Indexes the definitions of a parsed file."""
    module = ModuleInfo(path, source, package)
    _index(source.tree.body, module)
    return module


def _index(body: list[ast.stmt], module: ModuleInfo) -> None:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            module.functions[statement.name] = FunctionInfo(statement, module)
        elif isinstance(statement, ast.ClassDef):
            module.classes[statement.name] = class_of(statement, module)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            module.imports.update(imported_names(statement, module.package))
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    module.assignments.setdefault(target.id, []).append(statement.value)
        elif (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and statement.value
        ):
            module.assignments.setdefault(statement.target.id, []).append(statement.value)
        elif isinstance(statement, ast.If):
            _index(statement.body, module)
            _index(statement.orelse, module)
        elif isinstance(statement, ast.Try):
            _index(statement.body, module)
            for handler in statement.handlers:
                _index(handler.body, module)


def class_of(node: ast.ClassDef, module: ModuleInfo) -> ClassInfo:
    """Indexes a class body."""
    info = ClassInfo(node, module)
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            info.methods.setdefault(statement.name, FunctionInfo(statement, module, info))
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            info.fields[statement.target.id] = statement.value
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    info.fields[target.id] = statement.value
    return info


def _assigned_attributes(function: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                found.add(node.attr)
    return found


Found = FunctionInfo | ClassInfo | tuple[ModuleInfo, str]


class Project:
    """The files around the one under analysis, read when an import leads to them."""

    def __init__(self, capacity: int = 64) -> None:
        self._modules: OrderedDict[Path, ModuleInfo] = OrderedDict()
        self._capacity = capacity
        self._missing: set[Path] = set()
        self._packages: dict[Path, tuple[Path, str]] = {}
        self._found: dict[tuple[Path, str], Found | None] = {}
        self.consulted: dict[str, str] = {}

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
        for _ in range(6):
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
            if name not in module.imports:
                return (module, name) if name in module.assignments and not member else None
            qualified_name = ".".join(filter(None, (module.imports[name], member)))
        return None

    def _locate(self, qualified_name: str, root: Path) -> tuple[ModuleInfo, str] | None:
        """The longest prefix of the name that is a file, and what follows it."""
        parts = qualified_name.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            base = root.joinpath(*parts[:cut])
            for candidate in (base.with_suffix(".py"), base / "__init__.py"):
                module = self.load(candidate)
                if module is not None:
                    return module, ".".join(parts[cut:])
        return None

    def load(self, path: Path) -> ModuleInfo | None:
        """The parsed file, or None where there is none or it does not parse."""
        if path in self._missing:
            return None
        module = self._modules.get(path)
        if module is not None:
            self._modules.move_to_end(path)
            return module
        module = self._read(path)
        if module is None:
            self._missing.add(path)
            self.consulted.setdefault(str(path), "")
            return None
        self._modules[path] = module
        if len(self._modules) > self._capacity:
            self._modules.popitem(last=False)
        return module

    def _read(self, path: Path) -> ModuleInfo | None:
        try:
            data = path.read_bytes()
        except OSError:
            return None
        self.consulted[str(path)] = blake2b(data, digest_size=16).hexdigest()
        try:
            source = parse(data, str(path))
        except SourceError:
            return None
        return module_of(source, path, self.package_of(path)[1])
