"""What is called for a site: the outermost function around it, and for a method an object of its class."""

from __future__ import annotations

import ast
import inspect
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from types import CellType, FunctionType, ModuleType

import torch

from stablelint.runtime.program.nodes import Function
from stablelint.runtime.verify.witness.objects import Maker, constructor
from stablelint.runtime.verify.witness.part import Part
from stablelint.syntax.names import called_name

# Effects that cannot be stopped once they are called.
_NATIVE = frozenset("imwrite save_file abort _exit".split())
_HOLDING = ("__func__", "__wrapped__", "fget", "func")  # what a decorator keeps the function as
_LAYERS = 64  # of decorators
_INPUTS = 16  # of an autograd function, at most
_OBJECTS = 10  # ways in which it was made, at most


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
    """What a function calls that writes, or ends the process, natively."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            named = called_name(node)
            if named in _NATIVE:
                return named
    return None


@dataclass(frozen=True, slots=True)
class Subject:
    """A function that can be called: `head` is its text up to the arguments, `owner` makes the object it belongs to.

    `name` is that under which the project's own calls know it; `part` tells of the statements that stand for a function.
    """

    head: str
    function: FunctionType
    node: Function
    owner: Callable[[], object] | None = None
    name: str = ""
    part: Part | None = None

    @property
    def takes_self(self) -> bool:
        """Whether the first parameter is the object, or the class."""
        return self.owner is not None


class UnmadeError(Exception):
    """The function cannot be called; the message says why."""


def subjects(place: Around, module: ModuleType, maker: Maker) -> Iterator[Subject]:
    """The ways to call the function. Raises UnmadeError."""
    if (named := effects(place.function)) is not None:
        raise UnmadeError(f"it calls `{named}`")
    if isinstance(place.function, ast.AsyncFunctionDef):
        raise UnmadeError("it is a coroutine")
    if place.owner is None:
        function = _own(vars(module).get(place.function.name), place.function)
        if function is None:
            raise UnmadeError("the module has no such function when it is loaded")
        yield Subject(place.function.name, function, place.function, name=place.function.name)
        return
    kind = vars(module).get(place.owner.name)
    # a decorator may have put a class of its own on top
    held = inspect.getattr_static(kind, place.function.name, None) if isinstance(kind, type) else None
    function = _own(held, place.function)
    if not isinstance(kind, type) or function is None:
        raise UnmadeError("its class has no such method when it is loaded")
    name = f"{place.owner.name}.{place.function.name}"
    if issubclass(kind, torch.autograd.Function) and place.function.name == "forward":
        yield Subject(f"{kind.__name__}.apply", function, place.function, _context)
    elif isinstance(held, staticmethod):
        yield Subject(name, function, place.function)
    elif place.function.name == "__init__":
        yield Subject(place.owner.name, function, place.function, lambda: object.__new__(kind))
    elif isinstance(held, classmethod):
        yield Subject(name, function, place.function, lambda: kind)
    else:
        yield from _methods(place, kind, function, maker)


def _methods(place: Around, kind: type, function: FunctionType, maker: Maker) -> Iterator[Subject]:
    assert place.owner is not None
    dotted = "" if place.function.name in ("forward", "__call__") else f".{place.function.name}"
    start = next(
        (n for n in place.owner.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None
    )
    if start is not None and (named := effects(start)) is not None:
        raise UnmadeError(f"its constructor calls `{named}`")
    none = True
    for each in maker.concrete(kind):
        for index, text in enumerate(islice(maker.constructions(each), _OBJECTS)):
            none = False
            for state in ("", ".eval()") if index == 0 and issubclass(each, torch.nn.Module) else ("",):
                head = f"{maker.spelled(each)}({text}){state}{dotted}"
                owner = constructor(each, text, maker.scope, state)
                name = f"{place.owner.name}.{place.function.name}"
                yield Subject(head, function, place.function, owner, name)
    if none:
        why = maker.error or "nothing to make it of is known"
        raise UnmadeError(f"no object of {place.owner.name} could be made: {why}")


def _context() -> object:
    """What the `forward` of an autograd function is handed first, all gradients being wanted."""
    made = torch.autograd.function.FunctionCtx()
    setattr(made, "needs_input_grad", (True,) * _INPUTS)  # noqa: B010
    return made


def _own(found: object, node: Function) -> FunctionType | None:
    """The function of a node, wherever what decorates it keeps it: wrapped, as a property, in a closure."""
    waiting, seen = deque([found]), set[int]()
    rows = range(min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.lineno + 1)
    while waiting and len(seen) < _LAYERS:
        each = waiting.popleft()
        seen.add(id(each))
        if isinstance(each, FunctionType) and each.__code__.co_name == node.name:
            if each.__code__.co_firstlineno in rows:
                return each
        cells = [cell.cell_contents for cell in getattr(each, "__closure__", None) or () if _is_full(cell)]
        held = [getattr(each, name, None) for name in _HOLDING]
        waiting += [one for one in (*held, *cells, *_fields(each)) if callable(one) and id(one) not in seen]
    return None


def _fields(value: object) -> list[object]:
    return [] if isinstance(value, type) else list(getattr(value, "__dict__", {}).values())


def _is_full(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # it is not bound yet
        return False
