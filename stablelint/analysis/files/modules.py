"""Files as the analysis sees them: their functions, classes, imports and constants.

What stands here depends on a file's text alone, so that one parse serves the analysis of many files.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from stablelint.analysis.files.decorators import recorded_under, wrapper_among
from stablelint.analysis.files.handing import (
    Handed,
    Writer,
    attributes_handed_on,
    callees_of,
    given_away,
    handed_on,
    settle,
)
from stablelint.analysis.files.options import options_by_decorator, yields_options
from stablelint.analysis.files.reading import (
    Binding,
    FunctionNode,
    Outline,
    attributes_behind,
    bindings_among,
    critical_names,
    declared_names,
    handed_of_self,
    outline_of,
    sources_of,
)
from stablelint.analysis.files.sights import Sights
from stablelint.records import dataclass, field
from stablelint.syntax.names import called_name, dotted, last_name, spelled
from stablelint.syntax.sieve import FOREIGN, Glance
from stablelint.syntax.signatures import defaults_of, parameters
from stablelint.syntax.source import Source
from stablelint.syntax.walk import BLOCKS, SCOPES, children, descendants, statements_below
from stablelint.syntax.writes import Touched, is_of_self, names_written, sets_any, touched, written_attribute

_NESTING = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda})
_HOLDING = (ast.Tuple, ast.List, ast.withitem)  # targets, perhaps


@dataclass(frozen=True, slots=True)
class Effects:
    """What running a method may do to its object, itself or through what it runs on it."""

    alters: frozenset[str]  # the attributes that it may change
    called: frozenset[str]  # and those that it calls, its own name among them
    hands_out: bool  # others may get the object, and change all of it


@dataclass(eq=False)
class FunctionInfo:
    """A function and where it stands."""

    node: FunctionNode
    module: ModuleInfo
    owner: ClassInfo | None = None
    closure: object | None = None  # the frame in which a nested function was defined
    given: Mapping[str, Any] = field(default_factory=dict)  # what its defaults stood for there
    # Of a private function: those in the file that call it by its name.
    callers: tuple[FunctionInfo, ...] = ()
    around: FunctionInfo | None = None  # in which a nested function stands
    nests: bool = True  # its text may hold other functions

    @cached_property
    def name(self) -> str:
        """Its name; "<lambda>" where it has none."""
        return getattr(self.node, "name", "<lambda>")

    @property
    def is_private(self) -> bool:
        """Whether its name says that other files are not meant to call it."""
        return self.name.startswith("_")

    @cached_property
    def outline(self) -> Outline:
        """Its size and what it can return."""
        return outline_of(self.node, self.module.may_yield)

    @cached_property
    def defaults(self) -> list[tuple[ast.arg, ast.expr]]:
        """The parameters that need not be given, with what they are then."""
        by_decorator = [] if isinstance(self.node, ast.Lambda) else options_by_decorator(self.node)
        return [*by_decorator, *defaults_of(self.node)]

    @cached_property
    def yields_options(self) -> bool:
        """Whether it returns the options of its file's command line."""
        node = self.node
        return self.module.options is not None and not isinstance(node, ast.Lambda) and yields_options(node)

    @cached_property
    def changed(self) -> frozenset[str]:
        """The names of what its text may change in place."""
        return self._look().changed

    @cached_property
    def critical(self) -> frozenset[str]:
        """The parameters that its text divides by, or takes the logarithm or root of, as they are."""
        return self._look().critical

    @cached_property
    def touches(self) -> Touched:
        """What it does to `self`."""
        return self._look().touches

    @cached_property
    def writes(self) -> frozenset[str]:
        """The names of what it may change in place, by that name or by another, itself or through what it calls."""
        settle(self)
        return frozenset(self.__dict__["writes"])

    def settle(self, writes: frozenset[str]) -> None:
        """Keeps what it writes, which is found together with what the functions write that it calls."""
        self.__dict__["writes"] = writes

    @property
    def is_settled(self) -> bool:
        """Whether `writes` has been asked for."""
        return "writes" in self.__dict__

    @cached_property
    def calls(self) -> Sequence[ast.Call]:
        """The calls in its text."""
        return self._look().calls

    @cached_property
    def bindings(self) -> list[Binding]:
        """What its text binds to what."""
        return self._look().bindings

    @cached_property
    def handed(self) -> list[Handed]:
        """The calls of functions of the file, or with them, see `handed_on`."""
        calls = self.calls  # first: to look for them tells whether anything is nested
        unnamed: dict[int, Writer] = {id(one.node): one for _, one in self.nested}
        return list(handed_on(calls, self.named, unnamed))

    @property
    def named(self) -> Mapping[str, Sequence[Writer]]:
        """The functions that it can call by a name: those of the file, around it and within it."""
        named = self.around.named if self.around is not None else self.module.named
        if not self.nested:
            return named
        own: dict[str, list[Writer]] = {}
        for name, one in self.nested:
            own.setdefault(name, []).append(one)
        return {**named, **own}

    @cached_property
    def normalizers(self) -> frozenset[str]:
        """What it reads a running mean and a running variance of, as `ast.dump` writes it."""
        read = [one for one in descendants(self.node) if isinstance(one, ast.Attribute)]
        means, variances = (
            {ast.dump(one.value) for one in read if one.attr == name}
            for name in ("running_mean", "running_var")
        )
        return frozenset(means & variances)

    @cached_property
    def hands_on(self) -> bool:
        """Whether an accessor of attributes keeps or yields just what it is asked to, by the one that it overrides.

        Under another name, perhaps: `super().__setattr__(aliases.get(name, name), value)`.
        """
        if self.name not in ACCESSORS:
            return False
        nodes = descendants(self.node)
        overridden = [n for n in nodes if isinstance(n, ast.Call) and last_name(n.func) == self.name]
        if self.name == "__getattribute__":
            returned = [one.value for one in nodes if isinstance(one, ast.Return)]
            return bool(returned) and all(one in overridden for one in returned)
        value = [one.arg for one in parameters(self.node.args)][-1:]
        stores = [n for n in nodes if isinstance(getattr(n, "ctx", None), ast.Store)]
        is_kept = all(isinstance(one, ast.Name) and one.id not in value for one in stores)
        given = [one.args[-1] if one.args else None for one in overridden]
        return is_kept and bool(given) and all(isinstance(one, ast.Name) and one.id in value for one in given)

    @cached_property
    def lent(self) -> frozenset[str]:
        """The names of what it hands to functions of other files, and to objects."""
        away = given_away(self.calls, self.module.imports, self.module.classes)
        return frozenset(name for argument in away for name in sources_of(argument))

    @cached_property
    def lends(self) -> frozenset[str]:
        """The attributes of `self` that it hands to others, and "" where it hands them `self`."""
        return self._look().lends

    @property
    def alters(self) -> frozenset[str]:
        """The attributes of `self`, or of what it is handed, that it may change."""
        return self.touches.assigned | self.touches.others | self.passes_on | self.lent_to_names

    @cached_property
    def lent_to_names(self) -> frozenset[str]:
        """The attributes of `self` that it writes into by other names."""
        return attributes_behind(self.writes, self.bindings) if "self" in self.writes else frozenset()

    @property
    def is_altering(self) -> bool:
        """Whether it is a method that may change its object."""
        return self.owner is not None and bool(self.touches.assigned or self.touches.called)

    @cached_property
    def receivers(self) -> list[FunctionInfo] | None:
        """The functions of the file to which it hands `self`; None where it may be another that gets it."""
        if "" not in self.lends:
            return []
        bare = [n for n in handed_of_self(descendants(self.node)) if isinstance(n, ast.Name)]
        taken = [one for n in bare for one in callees_of(n, self)]
        known = all(any(True for _ in callees_of(n, self)) for n in bare)
        further = any(not one.writes <= one.changed for one in taken)  # it is handed on from there
        return [one for one in taken if isinstance(one, FunctionInfo)] if known and not further else None

    @cached_property
    def passes_on(self) -> frozenset[str]:
        """The attributes of `self` that it hands to functions that may write into them."""
        away = given_away(self.calls, self.module.imports, self.module.classes)
        return attributes_handed_on(self) | frozenset(filter(None, map(written_attribute, away)))

    @cached_property
    def nested(self) -> list[tuple[str, FunctionInfo]]:
        """The functions and lambdas in its text, with the names that they have there."""
        if not self.nests:
            return []
        nodes = descendants(self.node)[1:]
        functions: list[Any] = [n for n in nodes if type(n) in _NESTING]
        if not functions:
            return []
        named = {id(n.value): last_name(n.targets[0]) for n in nodes if isinstance(n, ast.Assign)}
        return [
            (getattr(n, "name", named.get(id(n), "")), FunctionInfo(n, self.module, around=self))
            for n in functions
        ]

    @cached_property
    def declared(self) -> frozenset[str]:
        """The names that it, or a function within it, declares as global or nonlocal."""
        return declared_names(self.node)

    def records(self, around: bool) -> bool:
        """Whether its body records gradients, where it is called with that `around` it: its decorators may decide.

        The `forward` of a function whose gradient is written by hand records none.
        """
        recorded = around and not (self.name == "forward" and self._is_of_autograd)
        module = self.module
        return recorded_under(self.decorators, recorded, module.imports, module.functions)

    @property
    def _is_of_autograd(self) -> bool:
        """Whether it is a static method of a subclass of `torch.autograd.Function`."""
        bases = [] if self.owner is None else [dotted(base) for base in self.owner.node.bases]
        spelled = (name.partition(".") for name in bases)
        names = (f"{self.module.imports.get(first, first)}.{rest}".rstrip(".") for first, _, rest in spelled)
        return self.has_decorator("staticmethod") and any(
            name.startswith("torch.") and name.endswith("autograd.Function") for name in names
        )

    @property
    def remembers(self) -> bool:
        """Whether a decorator has it yield the same object at every call."""
        return self.has_decorator("lru_cache", "cache", "cached_property")

    @cached_property
    def wrapper(self) -> str:
        """The decorator that may have it yield something else than its body does, or ""."""
        return wrapper_among(self.decorators, self.module.imports)

    @property
    def decorators(self) -> Sequence[ast.expr]:
        """Its decorators; a lambda has none."""
        return getattr(self.node, "decorator_list", ())

    def note(self, seen: Glance) -> None:
        """Takes over what a look at its text has shown."""
        calls = (call for name in ("setattr", "vars") for call in seen.calls.get(name, ()))
        anything = "__dict__" in seen.loads or any(map(sets_any, calls))
        assigned, called = frozenset(seen.assigned), frozenset(seen.called)
        self.touches = Touched(assigned, called, frozenset(seen.written), anything)
        self.changed = frozenset(seen.changed - {""})
        self.calls = [call for calls in seen.calls.values() for call in calls]
        self.bindings = bindings_among(seen.nodes)
        self.nests = bool(seen.nested)

    def outlive(self) -> None:
        """Keeps what its body writes into, and what must be above 0, for when that is dropped."""
        _ = self.critical, self.changed, self.touches, self.lends, self.hands_on
        _ = self.writes, self.passes_on, self.receivers, self.yields_options, self.lent_to_names
        self.part("calls", "bindings", "handed", "nested")

    def part(self, *attributes: str) -> None:
        """Lets go of what was found of its body, which holds that, or of others, which may hold it; so do those within."""
        for _, one in self.__dict__.get("nested", ()):
            one.part(*attributes)
        for attribute in attributes:
            self.__dict__.pop(attribute, None)

    def _look(self) -> FunctionInfo:
        """Walks over its text once, for all that is not known yet of what it tells by itself."""
        nodes = descendants(self.node)
        told = {
            "critical": critical_names(nodes) & {a.arg for a in parameters(self.node.args)},
            "changed": names_written(nodes),
            "touches": touched(nodes),
            "calls": [node for node in nodes if type(node) is ast.Call],
            "bindings": bindings_among(nodes),
            "lends": frozenset(getattr(n, "attr", "") for n in handed_of_self(nodes)),
        }
        vars(self).update(told | vars(self))
        self.nests = self.nests and not _NESTING.isdisjoint(map(type, nodes[1:]))
        return self

    def has_decorator(self, *names: str) -> bool:
        """Whether one of `names` (last component) decorates it."""
        return not self._decorators.isdisjoint(names)

    @cached_property
    def _decorators(self) -> frozenset[str]:
        return frozenset(map(called_name, self.decorators))


ACCESSORS = ("__setattr__", "__getattribute__")  # of any attribute, in the order in which they are told
_SET = re.compile(r"\.[\s\\]*\w+(?![\w.([`])")  # what follows the name where that is done
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

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name

    @property
    def patched(self) -> frozenset[str]:
        """The attributes that its file sets on it from outside; "" stands for any."""
        return self.module.patched.get(self.name, frozenset())

    @cached_property
    def reassigned(self) -> frozenset[str]:
        """Attributes that are assigned after construction."""
        later = self.methods.keys() - self.builders
        return frozenset().union(*(self.touches(name).assigned for name in later))

    @cached_property
    def sets_any(self) -> bool:
        """Whether a method sets attributes of `self` whose names do not stand in its text."""
        return any(method.touches.any for method in self.methods.values())

    @cached_property
    def assigned_unseen(self) -> frozenset[str]:
        """Attributes that methods assign whose bodies were not kept."""
        dropped = (method for method in self.methods.values() if method.outline.dropped)
        return frozenset().union(*(method.touches.assigned for method in dropped))

    @cached_property
    def lent(self) -> frozenset[str]:
        """The methods that its text hands to others, who may call them at any time; "" where it hands them an object."""
        out = frozenset().union(*(method.lends for method in self.methods.values()))
        computed = {n for n, m in self.methods.items() if m.has_decorator("property", "cached_property")}
        return out & ({"", *self.methods} - computed)

    @cached_property
    def subclasses(self) -> list[ClassInfo]:
        """The classes of the same file that inherit from it, by its name or another that it was given."""
        found, names = [self], {self.name}
        for known in found:  # grows while it is walked
            names |= {known.name}
            while further := {one for one, other in self.module.links if other in names} - names:
                names |= further
            heirs = {heir for name in names for heir in self.module.heirs.get(name, ())}
            classes = (self.module.classes[heir] for heir in heirs)
            new = [heir for heir in classes if not any(heir is one for one in found)]
            found += sorted(new, key=lambda heir: heir.node.lineno)
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

    def touches(self, method: str) -> Touched:
        """What a method does to `self`."""
        return self.methods[method].touches


def _is_set_on(name: str, text: str) -> bool:
    """Whether a text may set an attribute of a class by its name; to call or read one is what most do."""
    at = text.find(f"{name}.")
    while at >= 0 and not _SET.match(text, at + len(name)):
        at = text.find(f"{name}.", at + 1)
    return at >= 0


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
    # It is under analysis and no torch comes into it: what is computed of unknown things is an array.
    is_of_arrays: bool = False
    rebound: frozenset[str] = frozenset()  # names that a function declares as global or nonlocal
    several: frozenset[str] = frozenset()  # those that statements at the top level bind more than once
    may_yield: bool = True
    may_hold_lambdas: bool = True
    sights: Sights = field(default_factory=Sights)  # of the file under analysis: see `survey`
    by_custom: frozenset[str] = frozenset()  # imported names of which custom alone tells what they are
    options: ast.ClassDef | None = None  # of a command line, see `options_in`
    folders: Sequence[str] = ()  # below the project's root, of the file under analysis

    @property
    def is_script(self) -> bool:
        """Whether no package holds the file, so that nobody else imports its functions."""
        return not self.package

    @cached_property
    def borrowed(self) -> list[str]:
        """The names of what it imports that another file of the project may hold."""
        return [name for name, of in self.imports.items() if of.partition(".")[0] not in FOREIGN]

    @cached_property
    def links(self) -> list[tuple[str, str]]:
        """The top-level names that are assigned another name, with that."""
        given = self.assignments.items()
        return [(name, v.id) for name, values in given for v in values if isinstance(v, ast.Name)]

    @cached_property
    def patched(self) -> Mapping[str, frozenset[str]]:
        """The attributes that are set on each of its classes by name: `Net.forward = f`, `setattr(Net, name, f)`."""
        text, tree, found = self.source.text, self.source.tree, dict[str, set[str]]()
        given = {name.rpartition(".")[2] for name in re.findall(r"setattr\(\s*([\w.]+)", text)}
        nodes = statements_below(tree) if any(_is_set_on(name, text) for name in self.classes) else []
        for thing, attr, _ in _attributes_set_by(
            nodes if given.isdisjoint(self.classes) else descendants(tree)
        ):
            if last_name(thing) in self.classes:
                found.setdefault(last_name(thing), set()).add(attr)
        return {name: frozenset(attrs) for name, attrs in found.items()}

    @cached_property
    def attributes_set(self) -> Mapping[str, Mapping[str, ast.expr | None]]:
        """What statements outside of functions set on what top-level names stand for: `settings.eps = 0`.

        None where it is set more than once, or perhaps not.
        """
        tree, found = self.source.tree, dict[str, dict[str, ast.expr | None]]()
        pending: list[ast.AST] = list(tree.body)
        for statement in pending:  # grows while it is walked
            for thing, attr, value in _attributes_set_by([statement]):
                known = found.setdefault(spelled(thing), {})
                known[attr] = None if attr in known or statement not in tree.body else value
            pending += [] if isinstance(statement, SCOPES) else children(statement, BLOCKS)
        return found

    def is_zeroed(self, attr: str) -> bool:
        """Whether a statement sets an attribute of another object than `self` to 0."""
        perhaps = self.sights.writes(attr) or "setattr(" in self.source.text
        return perhaps and attr in self._zeroed

    @cached_property
    def _zeroed(self) -> frozenset[str]:
        sets = _attributes_set_by(statements_below(self.source.tree))
        return frozenset(
            attr for _, attr, value in sets if isinstance(value, ast.Constant) and value.value == 0
        )

    @cached_property
    def heirs(self) -> dict[str, list[str]]:
        """The names of the classes that name each base."""
        found: dict[str, list[str]] = {}
        for name, info in self.classes.items():
            for base in info.node.bases:
                found.setdefault(called_name(base), []).append(name)
        return found

    @cached_property
    def is_program(self) -> bool:
        """Whether a script does something when it is run, beyond defining what others may call."""
        doing = (ast.If, ast.For, ast.While, ast.With, ast.Try)
        return self.is_script and any(
            isinstance(one, doing) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Call))
            for one in self.source.tree.body
        )

    @cached_property
    def named(self) -> Mapping[str, Sequence[Writer]]:
        """The functions and methods of the file, by name."""
        found: dict[str, list[Writer]] = {}
        for function in self.all_functions:
            found.setdefault(function.name, []).append(function)
        return found

    @cached_property
    def methods(self) -> frozenset[str]:
        """The names of the methods of its classes."""
        return frozenset().union(*(info.methods for info in (*self.classes.values(), *self.inner.values())))

    @property
    def all_functions(self) -> Iterator[FunctionInfo]:
        """The functions and methods of the file; not those within others."""
        yield from self.functions.values()
        for info in (*self.classes.values(), *self.inner.values()):
            yield from info.methods.values()

    @cached_property
    def written_into(self) -> frozenset[str]:
        """The names into whose objects, or a holder of them, a statement writes, top-level assignments left out."""
        held = (part for to in self.changed for v in self.assignments.get(to, ()) for part in descendants(v))
        return self.changed.union([part.id for part in held if type(part) is ast.Name])

    @cached_property
    def changed(self) -> frozenset[str]:
        """The names of what its statements may change in place, assignments at the top level left out."""
        loose = (s for s in self.source.tree.body if not isinstance(s, (ast.Assign, *SCOPES)))
        inner = (function.changed for function in self.all_functions)
        return frozenset().union(*(names_written(descendants(s)) for s in loose), *inner)

    @cached_property
    def lent(self) -> frozenset[str]:
        """The names whose objects get another name, or are handed to a call, that may write into them."""
        nodes = list(descendants(self.source.tree))
        asked = {id(n.value) for n in nodes if isinstance(n, ast.Subscript | ast.Attribute)}
        asked.update(id(part) for n in nodes if isinstance(n, ast.Compare) for part in n.comparators)
        calls = (n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name | ast.Attribute))
        asked.update(id(given) for n in calls if not self.defines(called_name(n)) for given in n.args)
        loads = (n for n in nodes if type(n) is ast.Name and type(n.ctx) is ast.Load)
        return frozenset(n.id for n in loads if id(n) not in asked)

    def mentions(self, *names: str) -> bool:
        """Whether one of the names stands anywhere in the file, as a name that is read or as an attribute."""
        return not self.sights.names.isdisjoint(names)

    def speaks_of(self, *words: str) -> bool:
        """Whether each word is part of a name that the file reads, writes or imports."""
        return all(word in self._vocabulary for word in words)

    @cached_property
    def _vocabulary(self) -> str:
        return "\n".join((*self.sights.names, *self.imports.values()))

    def is_constant(self, name: str) -> bool:
        """Whether nothing in the file binds a top-level name a second time."""
        return not (name in self.several or name in self.rebound or self.sights.writes(name))

    def defines(self, name: str) -> bool:
        """Whether the file binds a name at its top level, other than by a star import."""
        return any(name in table for table in (self.functions, self.classes, self.imports, self.assignments))


def _attributes_set_by(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, str, ast.expr | None]]:
    """The objects other than `self` on which nodes set attributes, which, and to what; "" stands for any attribute."""
    for node in nodes:
        call = node.value if type(node) is ast.Expr else node
        if type(call) is ast.Call and last_name(call.func) == "setattr" and len(call.args) > 1:
            name = call.args[1]
            yield call.args[0], str(name.value) if isinstance(name, ast.Constant) else "", call.args[-1]
        given = node.value if type(node) is ast.Assign else None
        targets = node.items if isinstance(node, ast.With) else getattr(node, "targets", ())
        for target in targets or (getattr(node, "target", None),):
            for part in descendants(target) if isinstance(target, _HOLDING) else (target,):
                if type(part) is ast.Attribute and type(part.ctx) is ast.Store and not is_of_self(part):
                    yield part.value, part.attr, given if part is target else None
