"""What is called for a site: the outermost function around it, and for a method an object of its class."""

from __future__ import annotations

import ast
import contextlib
import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import FunctionType, ModuleType

import torch

from stablelint.runtime.verify.enclosing import Function
from stablelint.runtime.verify.witness.arguments import accepted, candidates, options, written
from stablelint.runtime.verify.witness.uses import uses_of

# Calls of a function that does more than compute: it is not called without need.
_EFFECTS = frozenset(
    "open save write remove unlink rmtree rmdir mkdir makedirs rename system Popen check_call check_output "
    "urlopen urlretrieve download send recv bind listen connect kill exit _exit input init_process_group".split()
)
_MADE = 24  # ways in which an object is tried to be made
_OBJECTS = 6  # ways in which it was made, at most


@dataclass(frozen=True, slots=True)
class Around:
    """The outermost function around a row: its node, the class that holds it, and how it is decorated."""

    function: Function
    owner: ast.ClassDef | None = None


def around(tree: ast.Module, row: int) -> Around | None:
    """The function that stands in the module itself, or in a class of the module, around a row."""
    for node, owner in _functions(tree.body, None):
        if node.lineno <= row <= (node.end_lineno or 0):
            return Around(node, owner)
    return None


def _functions(
    body: Sequence[ast.stmt], owner: ast.ClassDef | None
) -> Iterator[tuple[Function, ast.ClassDef | None]]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node, owner
            case ast.ClassDef() if owner is None:
                yield from _functions(node.body, node)
            case ast.If() | ast.Try() | ast.With():
                yield from _functions([*node.body, *getattr(node, "orelse", [])], owner)


def effects(function: Function) -> str | None:
    """What a function does beyond computing, by the names of its calls."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            named = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if named in _EFFECTS:
                return named
    return None


@dataclass(frozen=True, slots=True)
class Subject:
    """A function that can be called: `head` is its text up to the arguments, `owner` makes the object it belongs to."""

    head: str
    function: FunctionType
    node: Function
    owner: Callable[[], object] | None = None

    @property
    def takes_self(self) -> bool:
        """Whether the first parameter is the object, or the class."""
        return self.owner is not None


class UnmadeError(Exception):
    """The function cannot be called; the message says why."""


def subjects(
    place: Around, module: ModuleType, texts: Sequence[str], known: Mapping[str, str]
) -> Iterator[Subject]:
    """The ways to call the function; `texts` are the arguments of constructor calls found in the project.

    `known` are the values of its settings. Raises UnmadeError.
    """
    if (named := effects(place.function)) is not None:
        raise UnmadeError(f"it calls `{named}`")
    if isinstance(place.function, ast.AsyncFunctionDef):
        raise UnmadeError("it is a coroutine")
    if place.owner is None:
        function = _unwrapped(vars(module).get(place.function.name))
        if function is None:
            raise UnmadeError("the module has no such function when it is loaded")
        yield Subject(place.function.name, function, place.function)
        return
    kind = vars(module).get(place.owner.name)
    held = vars(kind).get(place.function.name) if isinstance(kind, type) else None
    function = _unwrapped(held)
    if not isinstance(kind, type) or function is None:
        raise UnmadeError("its class has no such method when it is loaded")
    name = f"{place.owner.name}.{place.function.name}"
    if isinstance(held, staticmethod):
        yield Subject(name, function, place.function)
    elif place.function.name == "__init__":
        yield Subject(place.owner.name, function, place.function, lambda: object.__new__(kind))
    elif isinstance(held, classmethod):
        yield Subject(name, function, place.function, lambda: kind)
    else:
        yield from _methods(place, kind, function, texts, known)


def _methods(
    place: Around, kind: type, function: FunctionType, texts: Sequence[str], known: Mapping[str, str]
) -> Iterator[Subject]:
    assert place.owner is not None
    dotted = "" if place.function.name in ("forward", "__call__") else f".{place.function.name}"
    scope = namespace(function.__globals__)
    errors: list[str] = []
    number = -1
    made = _constructions(place.owner, kind, scope, texts, known, errors)
    for number, text in enumerate(islice(made, _OBJECTS)):
        for state in ("", ".eval()") if number == 0 and issubclass(kind, torch.nn.Module) else ("",):
            head = f"{place.owner.name}({text}){state}{dotted}"
            yield Subject(head, function, place.function, _constructor(kind, text, scope, state))
    if number < 0:
        why = errors[0] if errors else "nothing to make it of is known"
        raise UnmadeError(f"no object of {place.owner.name} could be made: {why}")


def _constructions(
    owner: ast.ClassDef,
    kind: type,
    scope: Mapping[str, object],
    texts: Sequence[str],
    known: Mapping[str, str],
    errors: list[str],
) -> Iterator[str]:
    """Arguments with which an object can be made: those of the project, made ones, and other values for its options."""

    def error_of(text: str) -> str | None:
        try:
            _constructor(kind, text, scope)()
        except Exception as error:  # a constructor may raise anything
            errors.append(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
            return errors[-1]
        return None

    start = next((n for n in owner.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if start is not None and (named := effects(start)) is not None:
        errors.append(f"its constructor calls `{named}`")
        return
    yield from (text for text in texts if error_of(text) is None)
    uses = uses_of(start, True, owner) if start is not None else {}
    made = accepted(candidates(uses, known), lambda guess: error_of(written(guess)), _MADE, known)
    first = None
    for first in islice(made, 2):
        yield written(first)
    for option in options(uses) if first is not None else ():
        text = written((*(each for each in first or () if each.name != option.name), option))
        if error_of(text) is None:
            yield text


def namespace(scope: Mapping[str, object]) -> dict[str, object]:
    """The names in which the text of arguments is evaluated."""
    return {"types": types, "math": math, **scope, "torch": torch}


def _constructor(kind: type, text: str, scope: Mapping[str, object], state: str = "") -> Callable[[], object]:
    code = compile(f"_stablelint_class({text}){state}", "<constructor>", "eval")

    def make() -> object:
        torch.default_generator.manual_seed(0)
        return eval(code, {**scope, "_stablelint_class": kind})

    return make


def _unwrapped(found: object) -> FunctionType | None:
    """The function itself, below decorators that name what they wrap."""
    if isinstance(found, staticmethod | classmethod):
        found = found.__func__
    for _ in range(8):
        inner = getattr(found, "__wrapped__", None)
        if inner is None:
            break
        found = inner
    return found if isinstance(found, FunctionType) else None


def call_texts(sources: Mapping[str, str], name: str, most: int = 4) -> list[str]:
    """The arguments of calls of `name` in texts of files, where all of them are literals; those of tests first."""
    found: dict[str, None] = {}
    for path in sorted(sources, key=lambda each: ("test" not in each, each)):
        if f"{name}(" not in sources[path]:
            continue
        try:
            tree = ast.parse(sources[path])
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name in (
                getattr(node.func, "id", ""),
                getattr(node.func, "attr", ""),
            ):
                parts = [*node.args, *(keyword.value for keyword in node.keywords)]
                if all(map(_is_literal, parts)) and all(keyword.arg for keyword in node.keywords):
                    found[ast.unparse(node).partition("(")[2][:-1]] = None
        if len(found) >= most:
            break
    return list(found)[:most]


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return True


def settings(sources: Mapping[str, str]) -> dict[str, str]:
    """The values, as text, that the options of the project's command lines have where nobody gives them."""
    found: dict[str, str] = {}
    for text in sources.values():
        if "add_argument(" not in text:
            continue
        with contextlib.suppress(SyntaxError, ValueError):
            for node in ast.walk(ast.parse(text)):
                match node:
                    case ast.Call(func=ast.Attribute(attr="add_argument"), args=[*names], keywords=words):
                        named = {word.arg: word.value for word in words}
                        for name in names:
                            if isinstance(name, ast.Constant) and str(name.value).startswith("--"):
                                found[str(name.value)[2:].replace("-", "_")] = _setting(named)
    return found


def _setting(words: Mapping[str | None, ast.expr]) -> str:
    match words.get("action"), words.get("default"), words.get("type"):
        case ast.Constant(value="store_true" | "store_false" as action), _, _:
            return str(action == "store_false")
        case _, ast.expr() as default, _ if _is_literal(default) and ast.unparse(default) != "None":
            return ast.unparse(default)
        case _, _, ast.Name(id="float"):
            return "0.5"
    return "4"
