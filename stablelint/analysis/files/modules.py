"""Files as the analysis sees them: their functions, classes, imports and constants.

What stands here depends on a file's text alone, so that one parse serves the analysis of many files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from stablelint.syntax.names import called_name, imported_module, imported_names
from stablelint.syntax.sieve import HOOKS, WRITING, Glance, is_of_self, written_attribute, written_name
from stablelint.syntax.source import Source
from stablelint.syntax.walk import BLOCKS, SCOPES, descendants, statements_below

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_RAISING = frozenset({ast.Raise, ast.Assert})
# Whose decorators leave what a function yields.
_FAITHFUL = frozenset(
    "torch functools abc typing typing_extensions property staticmethod classmethod".split()
)
_CHECK = 12  # statements of a function that does nothing but check


@dataclass(frozen=True, slots=True)
class Outline:
    """What a glance at a function's body tells."""

    statements: int
    generator: bool = False
    returns: bool = True  # some path returns something other than None
    textual: bool = False  # what it returns is annotated as text, a truth value or nothing
    dropped: bool = False  # the body was not kept
    checks: bool = False  # it raises where something does not hold, and returns nothing


@dataclass(eq=False)
class FunctionInfo:
    """A function and where it stands."""

    node: FunctionNode
    module: ModuleInfo
    owner: ClassInfo | None = None
    closure: object | None = None  # the frame in which a nested function was defined
    # Of a private function: those in the file that call it by its name.
    callers: tuple[FunctionInfo, ...] = ()

    @property
    def name(self) -> str:
        """Its name; "<lambda>" where it has none."""
        return getattr(self.node, "name", "<lambda>")

    @cached_property
    def outline(self) -> Outline:
        """Its size and what it can return."""
        return _outline_of(self.node, self.module.may_yield)

    @cached_property
    def reads(self) -> frozenset[str]:
        """The attributes that it reads or calls, of whatever object."""
        attributes = (n for n in descendants(self.node) if type(n) is ast.Attribute)
        return frozenset(n.attr for n in attributes if type(n.ctx) is ast.Load)

    @cached_property
    def changed(self) -> frozenset[str]:
        """The names of what its text may change in place."""
        return _written(self.node)

    @cached_property
    def touches(self) -> Touched:
        """What it does to `self`."""
        owner = self.owner
        if owner is not None and owner.methods.get(self.name) is self:
            return owner.touches(self.name)
        return _touched(self.node)

    @cached_property
    def writes(self) -> frozenset[str]:
        """The names of what its text may change in place, by that name or by another."""
        return _with_sources(self.changed, self.node)

    @cached_property
    def declared(self) -> frozenset[str]:
        """The names that it, or a function within it, declares as global or nonlocal."""
        return _declared(self.node)

    @property
    def without_gradient(self) -> bool:
        """Whether a decorator switches gradients off."""
        return self.has_decorator("no_grad", "inference_mode")

    @property
    def wrapper(self) -> str:
        """The decorator that may have it yield something else than its body does, or ""."""
        for decorator in getattr(self.node, "decorator_list", ()):
            spelled = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
            first, _, rest = spelled.partition(".")
            root = self.module.imports.get(first, first).partition(".")[0]
            if root not in _FAITHFUL and rest not in ("setter", "getter"):
                return spelled
        return ""

    def note(self, seen: Glance) -> None:
        """Takes over what a look at its text has shown."""
        self.changed = frozenset(seen.changed - {""})
        self.touches = Touched(frozenset(seen.assigned), frozenset(seen.called), frozenset(seen.written))
        if self.owner is not None and self.owner.methods.get(self.name) is self:
            self.owner.touched.setdefault(self.name, self.touches)

    def outlive(self) -> None:
        """Keeps what its body writes into, for when that is dropped."""
        _ = self.writes, self.touches

    def has_decorator(self, *names: str) -> bool:
        """Whether one of `names` (last component) decorates it."""
        decorators = getattr(self.node, "decorator_list", ())
        return bool(decorators) and any(called_name(d) in names for d in decorators)


@dataclass(frozen=True, slots=True)
class Touched:
    """Attributes of `self` that a method assigns or changes in place, and those that it calls."""

    assigned: frozenset[str]
    called: frozenset[str]
    others: frozenset[str] = frozenset()  # attributes of other objects, or of the class, that it assigns


CONSTRUCTORS = ("__init__", "__post_init__")
"""The methods that run where an object is made."""


@dataclass(eq=False)
class ClassInfo:
    """A class, its methods and the assignments in its body."""

    node: ast.ClassDef
    module: ModuleInfo
    methods: dict[str, FunctionInfo] = field(default_factory=dict)
    setters: dict[str, FunctionInfo] = field(default_factory=dict)  # of properties
    fields: dict[str, ast.expr | None] = field(default_factory=dict)
    touched: dict[str, Touched] = field(default_factory=dict)  # by method, see `touches`

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name

    @cached_property
    def reassigned(self) -> frozenset[str]:
        """Attributes that are assigned after construction."""
        later = self.methods.keys() - self.builders
        return frozenset().union(*(self.touches(name).assigned for name in later))

    @cached_property
    def subclasses(self) -> list[ClassInfo]:
        """The classes of the same file that inherit from it, by its name or another that it was given."""
        given = self.module.assignments.items()
        links = [(one, v.id) for one, values in given for v in values if isinstance(v, ast.Name)]
        found, names = [self], {self.name}
        for known in found:  # grows while it is walked
            names |= {known.name}
            while further := {one for one, other in links if other in names} - names:
                names |= further
            for other in self.module.classes.values():
                if other not in found and any(called_name(base) in names for base in other.node.bases):
                    found.append(other)
        return found[1:]

    @cached_property
    def assigned_below(self) -> frozenset[str]:
        """Attributes that the methods of those classes assign."""
        return frozenset().union(
            *(one.touches(name).assigned for one in self.subclasses for name in one.methods)
        )

    @property
    def builders(self) -> set[str]:
        """`__init__` and the methods that only construction calls."""
        found = [name for name in CONSTRUCTORS if name in self.methods]
        for name in found:  # grows while it is walked
            called = self.touches(name).called & self.methods.keys()
            found.extend(sorted(called.difference(found)))
        kept = set(found)
        while not kept.issubset(CONSTRUCTORS):
            shared = {n for m in self.methods if m not in kept for n in self.touches(m).called & kept}
            shared.difference_update(CONSTRUCTORS)
            if not shared:
                break
            kept -= shared
        return kept

    @property
    def own_code(self) -> Iterator[FunctionInfo]:
        """The methods that run without being called by their name: where an object is indexed, entered, compared."""
        special = (n for n in self.methods if n.startswith("__") and n not in CONSTRUCTORS)
        return (self.methods[name] for name in special)

    def touches(self, method: str) -> Touched:
        """What a method does to `self`."""
        known = self.touched.get(method)
        if known is None:
            known = self.touched[method] = _touched(self.methods[method].node)
        return known


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call, and the function and class around it."""

    call: ast.Call
    function: FunctionNode | None
    owner: ast.ClassDef | None


@dataclass(frozen=True)
class Sights:
    """What a file shows: its functions and the code around them, each with what a glance has told of it."""

    parts: Sequence[tuple[Glance, FunctionNode | None, ast.ClassDef | None]] = ()

    def calls_of(self, name: str) -> Iterator[CallSite]:
        """The calls of what has that name, and those that prepare one: `partial(name, …)`."""
        for seen, function, owner in self.parts:
            for call in seen.calls.get(name, ()):
                yield CallSite(call, function, owner)
            for call in seen.calls.get("partial", ()):
                if call.args and called_name(call.args[0]) == name:
                    yield CallSite(call, function, owner)

    def passing(self) -> Iterator[CallSite]:
        """The calls that may pass something to another file."""
        for seen, function, owner in self.parts:
            yield from (CallSite(call, function, owner) for call in seen.passing)

    @cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """The functions at every level, those within others behind them."""
        return [node for _, nodes in self._definitions for node in nodes]

    def functions_naming(self, *names: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Those in which, or around which, one of the names is read or written."""
        return [
            node
            for seen, nodes in self._definitions
            if any(name in seen.loads or name in seen.written for name in names)
            for node in nodes
        ]

    @cached_property
    def _definitions(self) -> list[tuple[Glance, list[ast.FunctionDef | ast.AsyncFunctionDef]]]:
        """The functions that each glance has told of, each once."""
        outer = {function for _, function, _ in self.parts}
        kinds = ast.FunctionDef | ast.AsyncFunctionDef
        found = []
        for seen, function, _ in self.parts:
            nodes = (function, *(n for n in seen.nested if n not in outer))
            found.append((seen, [node for node in nodes if isinstance(node, kinds)]))
        return found

    def calls(self, *names: str) -> list[ast.Call]:
        """The calls of what has one of the names; all for no name."""
        wanted = names or dict.fromkeys(name for seen, _, _ in self.parts for name in seen.calls)
        return [call for name in wanted for seen, _, _ in self.parts for call in seen.calls.get(name, ())]

    @cached_property
    def classes(self) -> list[ast.ClassDef]:
        """The classes at every level."""
        return [node for seen, _, _ in self.parts for node in seen.classes]

    def writes(self, attr: str) -> bool:
        """Whether the attribute is written on another object than `self`."""
        return attr in self._written

    def mentions(self, name: str) -> bool:
        """Whether a name stands anywhere in the file, as one that is read or as an attribute."""
        return name in self.names

    @cached_property
    def names(self) -> frozenset[str]:
        """The names and attributes that are read, and the attributes of other objects than `self` that are written."""
        return self._written.union(*(seen.loads for seen, _, _ in self.parts))

    @cached_property
    def _written(self) -> frozenset[str]:
        return frozenset(name for seen, _, _ in self.parts for name in seen.written)


@dataclass(eq=False)
class ModuleInfo:
    """One parsed file."""

    path: Path | None
    source: Source
    package: str
    functions: dict[str, FunctionInfo] = field(default_factory=dict)
    classes: dict[str, ClassInfo] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)  # modules of which every name is imported
    search_path: tuple[str, ...] = ()  # what the file adds to `sys.path`, as far as that is written down
    assignments: dict[str, list[ast.expr]] = field(default_factory=dict)
    # Classes within functions and classes, by node id.
    inner: dict[int, ClassInfo] = field(default_factory=dict)
    mentions_torch: bool = True
    rebound: frozenset[str] = frozenset()  # names that a function declares as global or nonlocal
    may_yield: bool = True
    may_hold_lambdas: bool = True
    sights: Sights = field(default_factory=Sights)  # of the file under analysis: see `survey`
    folders: Sequence[str] = ()  # below the project's root, of the file under analysis

    @property
    def is_script(self) -> bool:
        """Whether no package holds the file, so that nobody else imports its functions."""
        return not self.package

    @cached_property
    def is_program(self) -> bool:
        """Whether a script does something when it is run, beyond defining what others may call."""
        doing = (ast.If, ast.For, ast.While, ast.With, ast.Try)
        return self.is_script and any(
            isinstance(one, doing) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Call))
            for one in self.source.tree.body
        )

    def is_written_into(self, name: str) -> bool:
        """Whether a statement of the file writes into the object of a name, assignments at the top level left out."""
        return self.source.text.count(name) != 1 and name in self._changed

    @cached_property
    def _changed(self) -> frozenset[str]:
        statements = (s for s in self.source.tree.body if type(s) is not ast.Assign)
        return frozenset().union(*map(_written, statements))

    def is_lent(self, name: str) -> bool:
        """Whether the object of a name gets another name, or is handed to a call, that may write into it."""
        return name in self._lent

    @cached_property
    def _lent(self) -> frozenset[str]:
        nodes = list(descendants(self.source.tree))
        asked = {id(n.value) for n in nodes if isinstance(n, ast.Subscript | ast.Attribute)}
        asked.update(id(part) for n in nodes if isinstance(n, ast.Compare) for part in n.comparators)
        calls = (n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name | ast.Attribute))
        asked.update(id(given) for n in calls if not self.defines(called_name(n)) for given in n.args)
        loads = (n for n in nodes if type(n) is ast.Name and type(n.ctx) is ast.Load)
        return frozenset(n.id for n in loads if id(n) not in asked)

    def mentions(self, *names: str) -> bool:
        """Whether one of the names stands anywhere in the file, as a name that is read or as an attribute."""
        return any(map(self.sights.mentions, names))

    def speaks_of(self, *words: str) -> bool:
        """Whether each word is part of a name that the file reads, writes or imports."""
        return all(word in self._vocabulary for word in words)

    @cached_property
    def _vocabulary(self) -> str:
        return "\n".join((*self.sights.names, *self.imports.values()))

    def is_constant(self, name: str) -> bool:
        """Whether the file binds a top-level name at most once."""
        once = len(self.assignments.get(name, ())) <= 1 and name not in self.rebound
        return once and not self.sights.writes(name)

    def defines(self, name: str) -> bool:
        """Whether the file binds a name at its top level, other than by a star import."""
        return any(name in table for table in (self.functions, self.classes, self.imports, self.assignments))


def _written(tree: ast.AST) -> frozenset[str]:
    """The names of tensors or collections that a piece of text may change in place."""
    return frozenset(filter(None, (written_name(n) for n in descendants(tree) if type(n) in WRITING)))


def _with_sources(names: frozenset[str], node: FunctionNode) -> frozenset[str]:
    """`names`, and the names of what they may stand for, or be views of: `w = z.view(-1)`, `for row in z`."""
    if not names or isinstance(node, ast.Lambda):
        return names
    sources: dict[str, set[str]] = {}
    for statement in statements_of(node.body):
        if isinstance(statement, ast.Assign):
            bound, given = statement.targets, statement.value
        elif isinstance(statement, ast.For):
            bound, given = [statement.target], statement.iter
        else:
            continue
        for name in (name for target in bound for name in _sources(target)):
            sources.setdefault(name, set()).update(_sources(given))
    found, new = set(names), set(names)
    while new:
        new = set().union(*(sources.get(name, ()) for name in new)) - found
        found |= new
    return frozenset(found)


def _sources(node: ast.expr) -> Iterator[str]:
    """The names of what an expression may be, or be a view of: of arithmetic none."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute | ast.Subscript | ast.Starred | ast.NamedExpr):
        yield from _sources(node.value)
    elif isinstance(node, ast.Call):
        for part in (node.func, *node.args):
            yield from _sources(part)
    elif isinstance(node, ast.Tuple | ast.List):
        for part in node.elts:
            yield from _sources(part)
    elif isinstance(node, ast.IfExp):
        yield from _sources(node.body)
        yield from _sources(node.orelse)


def _outline_of(node: FunctionNode, may_yield: bool = True) -> Outline:
    """Counts the statements of a body and looks at its ways out; nested definitions are left out."""
    if isinstance(node, ast.Lambda):
        return Outline(1)
    statements = statements_of(node.body)
    returns = any(type(s) is ast.Return and not _is_none(s.value) for s in statements)
    generator = may_yield and any(_yields(s) for s in statements)
    annotation = node.returns
    name = annotation.id if isinstance(annotation, ast.Name) else getattr(annotation, "value", annotation)
    textual = annotation is not None and (name is None or name in ("str", "bool", "None"))
    kinds = {type(s) for s in statements}
    checks = len(statements) <= _CHECK and ast.Return not in kinds and not kinds.isdisjoint(_RAISING)
    return Outline(len(statements), generator, returns, textual, checks=checks and not generator)


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def statements_of(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a body at every level, without those of nested definitions."""
    found: list[Any] = list(body)
    for part in found:  # grows while it is walked
        if type(part) not in SCOPES:
            for name in BLOCKS[type(part)]:
                found.extend(getattr(part, name))
    return [part for part in found if isinstance(part, ast.stmt)]


def _yields(statement: ast.stmt) -> bool:
    """Whether a statement is a `yield`, or keeps what one gives; it hardly ever stands deeper."""
    value = getattr(statement, "value", None)
    return isinstance(value.value if isinstance(value, ast.Await) else value, ast.Yield | ast.YieldFrom)


def module_of(source: Source, path: Path | None, package: str) -> ModuleInfo:
    """Indexes the definitions of a parsed file."""
    text = source.text
    module = ModuleInfo(path, source, package, may_yield="yield" in text, may_hold_lambdas="lambda" in text)
    _index(source.tree.body, module)
    if "global " in text or "nonlocal " in text:
        module.rebound = _declared(source.tree)
    if "globals()" in text:
        module.rebound |= frozenset(_entered(source.tree))
    if "exec(" in text and any(getattr(n, "id", "") == "exec" for n in descendants(source.tree)):
        module.rebound |= module.assignments.keys()
    if "sys.path." in text:
        module.search_path = tuple(_added_to_search_path(source.tree))
    return module


def _declared(tree: ast.AST) -> frozenset[str]:
    declarations = (n for n in statements_below(tree) if isinstance(n, ast.Global | ast.Nonlocal))
    return frozenset(name for node in declarations for name in node.names)


def _entered(tree: ast.AST) -> Iterator[str]:
    """The names of `globals()["EPS"] = 0` and `globals().update(EPS=0)`."""
    for node in descendants(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            if type(node.ctx) is ast.Store and called_name(node.value) == "globals":
                yield str(node.slice.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "update" and called_name(node.func.value) == "globals":
                yield from (k.arg for k in node.keywords if k.arg)


def _added_to_search_path(tree: ast.Module) -> Iterator[str]:
    """The paths of `sys.path.append(os.path.join(here, "..", "lib"))` and its like, without their beginning."""
    for node in descendants(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("sys.path.append", "sys.path.insert"):
            texts = (n for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str))
            parts = [str(n.value) for n in sorted(texts, key=lambda n: (n.lineno, n.col_offset))]
            if parts:
                yield "/".join(parts).lstrip("/")


def _index(body: list[ast.stmt], module: ModuleInfo) -> None:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            module.functions[statement.name] = FunctionInfo(statement, module)
        elif isinstance(statement, ast.ClassDef):
            module.classes[statement.name] = _class(statement, module)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            module.imports.update(imported_names(statement, module.package))
            if isinstance(statement, ast.ImportFrom) and any(a.name == "*" for a in statement.names):
                module.stars.append(imported_module(statement, module.package))
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                _index_assignment(target, statement.value, module)
        elif isinstance(statement, ast.AnnAssign | ast.AugAssign) and isinstance(statement.target, ast.Name):
            if statement.value is not None:
                module.assignments.setdefault(statement.target.id, []).append(statement.value)
        elif isinstance(statement, ast.If):
            _index(statement.body, module)
            _index(statement.orelse, module)
        elif isinstance(statement, ast.Try):
            _index(statement.body, module)
            for handler in statement.handlers:
                _index(handler.body, module)


def _index_assignment(target: ast.expr, value: ast.expr, module: ModuleInfo) -> None:
    """Notes what a name is assigned; a part of a tuple that a call yields is the call's element."""
    if isinstance(target, ast.Name):
        module.assignments.setdefault(target.id, []).append(value)
    elif isinstance(target, ast.Tuple) and not any(isinstance(t, ast.Starred) for t in target.elts):
        parts = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else None
        for position, name in enumerate(target.elts):
            element = ast.Subscript(value, ast.Constant(position), ast.Load())
            part = parts[position] if parts is not None else ast.copy_location(element, value)
            _index_assignment(name, part, module)


def class_of(node: ast.ClassDef, module: ModuleInfo) -> ClassInfo:
    """Indexes the body of a class within a function or class, once."""
    info = module.inner.get(id(node))
    if info is None:
        info = module.inner[id(node)] = _class(node, module)
    return info


def _class(node: ast.ClassDef, module: ModuleInfo) -> ClassInfo:
    info = ClassInfo(node, module)
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            function = FunctionInfo(statement, module, info)
            kept = info.setters if function.has_decorator("setter") else info.methods
            kept.setdefault(statement.name, function)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            info.fields[statement.target.id] = statement.value
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    info.fields[target.id] = statement.value
    return info


def _touched(function: ast.AST) -> Touched:
    found: set[str] = set()
    called: set[str] = set()
    others: set[str] = set()
    for node in descendants(function):
        if type(node) is ast.Attribute or type(node) is ast.Subscript:
            if type(node.ctx) is ast.Store:
                found.add(written_attribute(node))
                if type(node) is ast.Attribute and not is_of_self(node):
                    others.add(node.attr)
        elif type(node) is ast.Call and type(node.func) is ast.Attribute:
            receiver = node.func.value
            if type(receiver) is ast.Name and receiver.id == "self":
                called.add(node.func.attr)
            if node.func.attr.endswith("_") or node.func.attr in HOOKS:
                found.add(written_attribute(receiver))
    return Touched(frozenset(found - {""}), frozenset(called), frozenset(others))


def abridge(module: ModuleInfo, largest: int) -> None:
    """Drops what nobody asks of an imported file: its text, and the bodies of functions that tell a caller nothing.

    A body is kept if it returns something or takes part in construction, and has at most `largest` statements.
    """
    for info in module.classes.values():
        builders = info.builders
        for name, function in info.methods.items():
            if not _is_kept(function, largest, name in builders):
                _drop_body(function)
    for function in module.functions.values():
        if not _is_kept(function, largest, False):
            _drop_body(function)
    module.source = replace(module.source, text="", tree=ast.Module([], []), lines=[])


def release(module: ModuleInfo) -> None:
    """Parts a module from its definitions: they refer to each other, and would wait for the cyclic collector."""
    for info in (*module.classes.values(), *module.inner.values()):
        info.methods.clear()
        info.setters.clear()
    module.sights = Sights()
    for table in (module.functions, module.classes, module.inner, module.assignments):
        table.clear()
    module.source = replace(module.source, text="", tree=ast.Module([], []), lines=[])


def _is_kept(function: FunctionInfo, largest: int, builds: bool) -> bool:
    outline = function.outline
    telling = (outline.returns and not outline.textual and not outline.generator) or builds
    kept = outline.checks or (telling and outline.statements <= largest)
    return kept or isinstance(function.node, ast.Lambda)


def _drop_body(function: FunctionInfo) -> None:
    function.outlive()
    function.outline = replace(function.outline, dropped=True)
    function.node.body = []
