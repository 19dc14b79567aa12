"""Objects of the program's classes: arguments with which their constructors can be called."""

from __future__ import annotations

import ast
import builtins
import enum
import inspect
import math
import re
import sys
import textwrap
import types
import unittest.mock
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass, replace
from functools import lru_cache
from itertools import chain, islice

import torch

from stablelint.runtime.process.confined import limited
from stablelint.runtime.verify.witness.arguments import (
    Arguments,
    Known,
    candidates,
    of_example,
    options,
    with_argument,
    written,
)
from stablelint.runtime.verify.witness.part import names_read
from stablelint.runtime.verify.witness.project import Example, Project
from stablelint.runtime.verify.witness.search import Failure, accepted, failure_of
from stablelint.runtime.verify.witness.stand_in import supplied
from stablelint.runtime.verify.witness.uses import Uses, uses_of

_MADE = 80  # ways in which an object is tried to be made
_SECONDS = 2.0  # for one of them
_SUBCLASSES = 4  # of an abstract class, that are tried
_DEPTH = 3  # objects that are made of objects
_BUILT_IN = frozenset(sys.stdlib_module_names)
# Objects that are asked for by a class that nobody makes any of.
_INSTANCES = {
    "torch.optim.Optimizer": "torch.optim.SGD([torch.nn.Parameter(torch.ones(2, 3))], lr=0.5)",
    "torch.distributions.Distribution": "torch.distributions.Normal(torch.zeros(2, 4), torch.ones(2, 4))",
    "torch.Generator": "torch.Generator()",
    "numpy.ndarray": "torch.rand(2, 4).numpy()",
    "collections.abc.Mapping": "{}",
}


def namespace(scope: Mapping[str, object]) -> dict[str, object]:
    """The names in which the text of arguments is evaluated."""
    return {"types": types, "math": math, "unittest": unittest, **scope, "torch": torch}


def constructor(kind: type, text: str, scope: Mapping[str, object], state: str = "") -> Callable[[], object]:
    """Makes an object of `kind` with the arguments of the text; `state` is what is called on it."""
    code = compile(f"_stablelint_class({text}){state}", "<constructor>", "eval")

    def make() -> object:
        torch.default_generator.manual_seed(0)
        return eval(code, {**scope, "_stablelint_class": kind})

    return make


class Maker:
    """Makes objects of classes that are seen from one module, and remembers how."""

    def __init__(self, scope: Mapping[str, object], project: Project) -> None:
        self.scope, self.project = namespace(scope), project
        self.known = Known(project.settings, self.objects)
        self._made: dict[type, list[str]] = {}
        self._depth = 0
        self.error = ""  # that making an object raised first

    def objects(self, name: str, uses: Uses) -> Iterator[str]:
        """Texts of objects that a parameter may be: of its annotation, its name, or with the attributes it has."""
        for text, kind in self._classes(name, uses):
            if issubclass(kind, enum.Enum):
                yield from (f"{text}.{member}" for member in kind.__members__)
            elif (name := f"{kind.__module__.partition('._')[0]}.{kind.__name__}") in _INSTANCES:
                yield _INSTANCES[name]
            elif _is_of_program(kind):
                for concrete in self.concrete(kind):
                    own = text if concrete is kind else self.spelled(concrete)
                    yield from (f"{own}({made})" for made in self.first(concrete))

    def guesses(self, name: str, uses: Mapping[str, Uses]) -> Iterator[Arguments]:
        """Arguments to try for what has this name: those of the project's calls, then made ones."""
        shown = (of_example(each, uses) for each in self.examples(name))
        yield from (each for each in shown if each is not None)
        yield from candidates(uses, self.known)

    def examples(self, name: str) -> list[Example]:
        """How the project calls what has this name, where the names in these calls are known here."""
        found = self.project.examples(name) if name else []
        there = {*self.scope, *dir(builtins), "f"}
        return [each for each in found if names_read(ast.parse(f"f({each.text})")) <= there]

    def _classes(self, name: str, uses: Uses) -> Iterator[tuple[str, type]]:
        for text in re.findall(r"[A-Za-z_][\w.]*", uses.annotation):
            kind = _resolved(text, self.scope)
            if isinstance(kind, type):
                yield text, kind
        if uses.annotation or uses.kinds & {"tensor", "mask", "labels", "int"}:
            return
        plain = re.sub(r"[\d_]", "", name).lower()
        special = uses.attributes - set(dir(torch.nn.Module))
        for text, kind in list(self.scope.items()):
            if isinstance(kind, type) and _is_of_program(kind):
                if text.lower() == plain or (special and special <= _attributes(kind)):
                    yield text, kind

    def concrete(self, kind: type) -> list[type]:
        """The class, unless it is abstract, and its subclasses: those first that the module knows by their names."""
        below = [each for each in _below(kind) if not inspect.isabstract(each) and _is_of_program(each)]
        known = [each for each in below if self.scope.get(each.__name__) is each]
        if not inspect.isabstract(kind):
            return [kind, *known]
        return (known + [each for each in below if each not in known])[:_SUBCLASSES]

    def spelled(self, kind: type) -> str:
        """The text of a class: its name where the module knows it, or else with what imports it."""
        if self.scope.get(kind.__name__) is kind:
            return kind.__name__
        return f"__import__({kind.__module__!r}, fromlist=['']).{kind.__qualname__}"

    def first(self, kind: type) -> list[str]:
        """Arguments for an object of the class, those found first; none where there are none, or while it is made."""
        if kind not in self._made:
            self._made[kind] = []
            if self._depth < _DEPTH:
                self._depth += 1
                self._made[kind] = list(islice(self.constructions(kind), 1))
                self._depth -= 1
        return self._made[kind]

    def constructions(self, kind: type) -> Iterator[str]:
        """Arguments with which an object can be made: those of the project, made ones, and other values for its options."""
        self.error = ""
        uses = parameters_of(kind)
        guesses = self.guesses(kind.__name__, uses)
        made = accepted(uses, guesses, lambda guess: self._failure(kind, written(guess)), _MADE, self.known)
        first: Arguments | None = None
        for each in islice(made, 2 + len(self.examples(kind.__name__))):
            first = each if first is None else first
            yield written(each)
        for option in options(uses, self.known) if first is not None else ():
            text = written(with_argument(first or (), option))
            if self._failure(kind, text) is None:
                yield text

    def _failure(self, kind: type, text: str) -> Failure | None:
        try:
            with limited(_SECONDS):
                constructor(kind, text, self.scope)()
        except Exception as error:  # a constructor may raise anything
            failure = failure_of(error, self.project.lines)
            if supplied(failure.message):
                return self._failure(kind, text)
            self.error = self.error or failure.message.partition("\n")[0]
            return failure
        return None


def _resolved(text: str, scope: Mapping[str, object]) -> object:
    first, *rest = text.split(".")
    found = scope.get(first)
    for name in rest:
        found = getattr(found, name, None)
    return found


def _below(kind: type) -> list[type]:
    """The subclasses that are loaded, the nearest first."""
    found: list[type] = []
    level = [kind]
    while level:
        nested: list[list[type]] = [each.__subclasses__() for each in level]
        level = list(dict.fromkeys(chain.from_iterable(nested)))
        found += level
    return found


def _is_of_program(kind: type) -> bool:
    """Whether the class is neither of Python nor of a library that is installed."""
    return _tree(kind) is not None


@lru_cache(maxsize=256)
def _tree(kind: type) -> ast.ClassDef | None:
    """The text of a class of the program."""
    try:
        installed = "site-packages" in (inspect.getsourcefile(kind) or "site-packages")
        if installed or kind.__module__.partition(".")[0] in _BUILT_IN:
            return None
        (found,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    return found if isinstance(found, ast.ClassDef) else None


@lru_cache(maxsize=1024)
def _attributes(kind: type) -> frozenset[str]:
    """What objects of the class have: of its classes, and of what they write to `self`."""
    trees = [tree for each in kind.__mro__ if (tree := _tree(each)) is not None]
    named = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return frozenset(node.attr for node in named if isinstance(node.ctx, ast.Store)) | set(dir(kind))


def parameters_of(kind: type) -> dict[str, Uses]:
    """The parameters of a class's constructor; those of a data class are its fields.

    What a constructor hands on by `**` to that of the class it is derived from is asked for by name.
    """
    found: dict[str, Uses] = {}
    positional, named = 0, frozenset[str]()
    for each in kind.__mro__:
        tree = _tree(each)
        if tree is None:
            continue
        if is_dataclass(each) and "__init__" in vars(each):
            lines = [own for base in reversed(each.__mro__) if is_dataclass(base) and (own := _tree(base))]
            return found | {name: uses for own in lines for name, uses in _fields(own).items()}
        start = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
        if start is None:
            continue
        asked = list(uses_of(start, True, tree).items())[positional:]
        if found:
            asked = [(n, replace(u, keyword=True)) for n, u in asked if n not in named and u.default is None]
        found |= {name: uses for name, uses in asked if name not in found}
        call = _handing_on(start)
        if call is None:
            break
        positional, named = len(call.args), frozenset(word.arg for word in call.keywords if word.arg)
    return found


def _handing_on(start: ast.FunctionDef) -> ast.Call | None:
    """The call of another constructor with the `**` of this one."""
    own = start.args.kwarg.arg if start.args.kwarg is not None else None
    for node in ast.walk(start):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__":
            if any(word.arg is None and ast.unparse(word.value) == own for word in node.keywords):
                return node if not any(isinstance(one, ast.Starred) for one in node.args) else None
    return None


def _fields(tree: ast.ClassDef) -> dict[str, Uses]:
    return {
        node.target.id: Uses(ast.unparse(node.annotation).strip("'\""), node.value, keyword=True)
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
