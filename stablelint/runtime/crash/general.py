"""What can be said of any error: the expression, what each of its operands is, and what would make it pass.

Nothing here knows a message. The values are those that the frame holds, and what is advised was tried.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import functools
import inspect
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.expression import UNKNOWN, given_by_name, node_at, value_of
from stablelint.runtime.crash.failing import Call, failing
from stablelint.runtime.crash.layers import shapes_through_layers
from stablelint.runtime.crash.onward import goes_on
from stablelint.runtime.crash.repairs import Repair, repairs
from stablelint.runtime.crash.scene import Scene, assigned, kind_of
from stablelint.runtime.program.frames import is_library, parse_file
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import operands_of, owner_of
from stablelint.runtime.tensors.measure import dtype_name

_LONGEST = 70
_SHOWN = 6


def tried(scene: Scene) -> tuple[str, ...]:
    """The changes that make the failed call pass, as the program would write them."""
    try:
        call = failing(scene)
        found = _repairs_of(scene, call) if call is not None else []
    except Exception:  # a search that fails must not cost what is known
        return ()
    return tuple(f"{one.text} {_verbs(one)}" for one in found)


def _repairs_of(scene: Scene, call: Call) -> list[Repair]:
    def follows(changed: Call, result: Any) -> bool | None:
        pairs = zip(call.values, changed.values, strict=False)
        new = {call.texts.get(id(one), ""): other for one, other in pairs if one is not other}
        return goes_on(scene, result, {text: one for text, one in new.items() if text.isidentifier()})

    return repairs(call, lambda place: named(scene, call, place).owner, follows)


def _verbs(one: Repair) -> str:
    several = " and " in one.text
    gives = f", and {'give' if several else 'gives'} {one.shape}" if one.shape is not None else ""
    return ("pass" if several else "passes") + gives


def advised(scene: Scene) -> tuple[str, ...]:
    """What makes the call pass, or else what the kind of error tells."""
    user = scene.user
    return tried(scene) or (tuple(Failed(scene, node_at(user.site)).advice()) if user is not None else ())


def facts(scene: Scene) -> list[str]:
    """What the operands of the failing expression are that are no tensors."""
    return Failed(scene, node_at(scene.user.site)).facts() if scene.user is not None else []


def operands_of_call(scene: Scene) -> tuple[Operand, ...]:
    """The tensors that the failed call was given, where it fails again."""
    call = failing(scene)
    if call is None:
        return ()
    whole = isinstance(call.function, nn.Module)  # of others only what the program writes is shown
    known = [isinstance(one, torch.Tensor) and (whole or id(one) in call.texts) for one in call.values]
    places = [place for place, is_known in enumerate(known) if is_known]
    return tuple({id(call.values[one]): named(scene, call, one) for one in places}.values())


def named(scene: Scene, call: Call, place: int) -> Operand:
    """The operand at a place of a call."""
    several = "" if sum(isinstance(one, torch.Tensor) for one in call.values) < 2 else f"[{place}]"
    value, text = call.values[place], call.texts.get(id(call.values[place]), f"input{several}")
    if isinstance(value, torch.Tensor):
        return scene.operand(value, text)
    return Operand(text, (), type(value).__name__, "cpu")


def general(scene: Scene) -> Explanation | None:
    """The last word: for errors that nobody else explains."""
    user = scene.user
    if user is None:
        return None
    shown, failed = _shown(scene), Failed(scene, node_at(user.site))
    met = [_met(one) for one in shown if not (one.held and scene.module is not None)]
    layers = shapes_through_layers(scene) if scene.module is not None else ()
    advice = advised(scene)
    told = failed.facts()
    if scene.module is not None and met:
        summary = f"{scene.module_name()} does not take {' and '.join(met)}"
        return Explanation("call", summary, tuple(told), advice, shown, layers)
    summary = "; ".join([*told, *met] or advice)
    if not summary or (not told and not advice and failed.hides(len(met))):
        return None
    made, operation = tuple(failed.made()), failed.operation()
    if met and operation:
        summary = f"{operation} fails on {' and '.join(met)}"
        return Explanation("call", summary, tuple(told), advice, shown, layers, other=made)
    return Explanation("call", summary, (), advice if met or told else (), shown, layers, other=made)


def _shown(scene: Scene) -> tuple[Operand, ...]:
    """The operands of what failed, or of the call around it where the program has no names for those."""
    found, call = scene.operands(), failing(scene)
    inner = call is not None and isinstance(call.function, nn.Module) and call.function is not scene.module
    unknown = any(one.name[:1] == "`" for one in found)
    return (operands_of_call(scene) or found) if inner or unknown else found


def _met(one: Operand) -> str:
    device = "" if one.device == "cpu" else f" on {one.device}"
    return f"{one.name} {one.shape} {one.dtype}{device}"


@dataclass(frozen=True)
class Failed:
    """The expression that failed, and what its parts were."""

    scene: Scene
    node: ast.AST | None

    @property
    def names(self) -> dict[str, Any]:
        """The values of all names there."""
        return self.scene.user.names if self.scene.user is not None else {}

    def operation(self) -> str:
        """What is called, or the operator; nothing for other syntax."""
        match self.node:
            case ast.Call(ast.Attribute(_, name) as function) if value_of(function, self.names) is UNKNOWN:
                return name
            case ast.Call(function):
                return ast.unparse(function)
            case ast.BinOp(_, operator):
                return ast.unparse(ast.BinOp(ast.Name("x"), operator, ast.Name("x"))).strip("x ")
            case ast.Compare(_, [operator]):
                return ast.unparse(ast.Compare(ast.Name("x"), [operator], [ast.Name("x")])).strip("x ")
            case ast.Subscript():
                return "indexing"
        return ""

    def facts(self) -> list[str]:
        """What the operands are that are no tensors, and what the message speaks of."""
        told: dict[str, str] = dict([*self.mentioned(), *self.values()])
        return [f"{text} is {what}" for text, what in told.items()]

    def value(self, node: ast.expr) -> Any:
        """The value of an operand; of a method of a tensor that is not called, the method."""
        found = value_of(node, self.names)
        if found is UNKNOWN and isinstance(node, ast.List | ast.Tuple):
            parts = [self.value(one) for one in node.elts]
            return UNKNOWN if any(one is UNKNOWN for one in parts) else parts
        if found is UNKNOWN and isinstance(node, ast.Attribute):
            owner = value_of(node.value, self.names)
            return getattr(type(owner), node.attr, UNKNOWN) if isinstance(owner, torch.Tensor) else UNKNOWN
        return found

    def hides(self, known: int) -> bool:
        """Whether there are more operands than those whose values are known."""
        parts = list(self._parts(self.node))
        return known < len(parts) and any(self.value(one) is UNKNOWN for one in parts)

    def values(self) -> Iterator[tuple[str, str]]:
        """What each operand is that is no tensor, by its text."""
        asked = self._condition() if isinstance(self.node, ast.Raise | ast.Assert) else None
        for one in self._parts(asked or self.node):
            value, text = self.value(one), ast.unparse(one)
            named = text != "self" and any(isinstance(part, ast.Name) for part in ast.walk(one))
            known = named and value is not UNKNOWN
            if known and not inspect.ismodule(value) and (asked or not isinstance(value, torch.Tensor)):
                yield text, described(value)

    def made(self) -> Iterator[tuple[str, Location]]:
        """Where the operands got their values that are no tensors."""
        for one in self._parts(self.node):
            value = value_of(one, self.names)
            if value is not UNKNOWN and not isinstance(value, torch.Tensor | int | float | str):
                _, at = self.scene.made(one)
                if at is not None:
                    yield f"{ast.unparse(one)} gets its value here", at

    def mentioned(self) -> Iterator[tuple[str, str]]:
        """What the library's frame that raised the error calls by a word, or counts as a number, of its message."""
        frame, node = self.scene.frames[-1], self.node
        if frame.mine:
            return
        words, numbers = set(re.findall(r"[A-Za-z_]\w+", self.scene.message)), _numbers(self.scene.message)
        owner = frame.frame.f_locals.get("self")
        given = given_by_name(node, self.names) if isinstance(node, ast.Call) else {}
        names, fields = frame.frame.f_locals, getattr(owner, "__dict__", {})
        more = {name: value for name, value in fields.items() if names.get(name, UNKNOWN) is not value}
        whole = (names, ""), (more, f" of {type(owner).__name__}")
        for held, whose in whole:
            for name, value in held.items():
                if name[:1] == "_" or not isinstance(value, int | float | str | None | tuple | list):
                    continue
                counted = isinstance(value, int | float) and str(value) in numbers and value not in (0, 1)
                if words & {name, f"{name}s"} or counted:
                    at = given.get(name)
                    is_told = at is None or isinstance(at, ast.Constant | ast.UnaryOp)
                    yield (f"{name}{whose}" if is_told or at is None else ast.unparse(at)), described(value)

    def _condition(self) -> ast.AST | None:
        """What a `raise` stands under, or an `assert` asks."""
        if isinstance(self.node, ast.Assert):
            return self.node.test
        tree = parse_file(self.scene.user.site.code.co_filename) if self.scene.user is not None else None
        for one in ast.walk(tree) if tree is not None else ():
            if isinstance(one, ast.If) and self.node in (*one.body, *one.orelse):
                return one.test
        return None

    def _parts(self, node: ast.AST | None) -> Iterator[ast.expr]:
        """The operands of an expression, each once; of a call of what cannot be called that alone."""
        match node:
            case ast.Attribute(value):
                found = [value]
            case ast.Call(function) if not callable(value_of(function, self.names)) and not isinstance(
                function, ast.Call
            ):
                known = value_of(function, self.names) is not UNKNOWN
                found = [function] if known else list(operands_of(node))
            case ast.Compare() | ast.BoolOp():
                kinds = ast.Name | ast.Attribute | ast.Subscript
                found = [one for one in ast.walk(node) if isinstance(one, kinds)]
            case ast.For(iter=inner):
                found = [inner]
            case ast.Tuple() if (whole := self._unpacked()) is not None:
                found = [whole]
            case _:
                found = list(operands_of(node))
        yield from {ast.unparse(one): one for one in found}.values()

    def _unpacked(self) -> ast.expr | None:
        """The right side of an assignment whose left side is the failing tuple."""
        tree = parse_file(self.scene.user.site.code.co_filename) if self.scene.user is not None else None
        for one in ast.walk(tree) if tree is not None else ():
            if isinstance(one, ast.Assign) and self.node in one.targets:
                return one.value
            if isinstance(one, ast.For | ast.comprehension) and one.target is self.node:
                return one.iter
        return None

    def advice(self) -> Iterator[str]:
        """What the kind of error tells beyond the values."""
        for tensor in self.scene.operands():
            if tensor.device == "meta":
                yield f"{tensor.name} has a shape and no numbers: computed on a real device (cpu, cuda) it has"
        for one in self._parts(self.node):
            value = value_of(one, self.names)
            if value is None and not isinstance(one, ast.Constant):
                yield f"if {ast.unparse(one)} is not None: around it, or give it a value where it is made"
            if isinstance(value, float) and "integer" in self.scene.message:
                yield f"{_whole(one, self.scene)}, if a whole number is wanted"
        match self.scene.error:
            case AttributeError(obj=owner, name=str(name)) if owner is not None:
                yield from self._attribute(owner, name)
            case NameError():
                yield from self._name(self.scene.message)
            case FileNotFoundError(filename=str(path)):
                yield from _file(path)
            case KeyError(args=[key]):
                yield from self._key(key)
            case ZeroDivisionError():
                for one in self._parts(self.node):
                    if isinstance(one, ast.Call) and ast.unparse(one.func) == "len" and one.args:
                        yield f"{ast.unparse(one.args[0])} is empty"
            case ValueError() if isinstance(self.node, ast.Tuple):
                yield from self._items(len(self.node.elts))
            case TypeError():
                yield from self._called()
        yield from self._signature()

    def _items(self, count: int) -> Iterator[str]:
        """How the values that were unpacked into names are to be unpacked."""
        whole = self._unpacked()
        if whole is None or self.node is None:
            return
        value, names = value_of(whole, self.names), ast.unparse(self.node).strip("()")
        if isinstance(value, dict):
            yield f"{ast.unparse(whole)}.items() gives keys and values"
        results = returned(getattr(type(getattr(value, "dataset", value)), "__getitem__", None))
        given = [len(one.elts) for one in results if isinstance(one, ast.Tuple)] or [_fields(value)]
        for one in results:
            yield f"an item is what __getitem__ returns: {ast.unparse(one)}"
        if given[0] > count:
            yield f"{names}{', _' * (given[0] - count)} takes the {given[0]} of it"

    def _attribute(self, owner: Any, name: str) -> Iterator[str]:
        """Where an attribute is that is not where it was looked for."""
        node = self.node.func if isinstance(self.node, ast.Call) else self.node
        if not isinstance(node, ast.Attribute) or node.attr != name:
            return
        text = ast.unparse(node.value)
        if isinstance(owner, list | tuple) and owner and all(map(_is_number, owner)):
            yield f"sum({text}).{name}"
            return
        held: Iterable[tuple[Any, Any]] = owner.items() if isinstance(owner, dict) else ()
        if isinstance(owner, list | tuple):
            held = enumerate(owner)
        if isinstance(owner, dict) and name in owner:
            yield f"{text}[{name!r}]"
        yield from (f"{text}[{key!r}].{name}" for key, one in held if hasattr(one, name))
        if (each := _each(owner, text, name)) is not None and each != f"{text}.{name}":
            yield each
        if isinstance(owner, nn.Module):
            yield from (f"{text}.{key}.{name}" for key, one in owner._modules.items() if hasattr(one, name))
        elif hasattr(torch.Tensor, name) and _makes_tensor(owner):
            yield f"torch.as_tensor({text}).{name}"
        elif inspect.isroutine(owner):
            yield f"{text}() calls it"
        public = [one for one in dir(owner) if one[:1] != "_"]
        yield from (f"{text}.{one}" for one in difflib.get_close_matches(name, public, 2, 0.7))

    def _name(self, message: str) -> Iterator[str]:
        """Where a name gets its value, and names that are spelled much like it."""
        found, user = re.search(r"'(\w+)'", message), self.scene.user
        if found is None or user is None:
            return
        at = assigned(user.site.code, found[1], 1 << 30)
        if at is not None:
            yield f"{found[1]} gets a value in line {at.row}, `{at.expression}`, which was not reached"
        near = difflib.get_close_matches(found[1], [*self.names, *dir(builtins)], 2, 0.7)
        yield from (f"{one} is defined, and spelled much like {found[1]}" for one in near)

    def _called(self) -> Iterator[str]:
        """What to do with what cannot be called, indexed or iterated."""
        for one in self._parts(self.node):
            value, text = self.value(one), ast.unparse(one)
            if inspect.isroutine(value) and "not subscriptable" in self.scene.message:
                yield f"{text}() calls it"
            elif isinstance(value, type) and "argument: 'self'" in self.scene.message:
                yield f"{text}(…) makes one, of which to ask it"
            elif "not callable" in self.scene.message and hasattr(type(value), "__getitem__"):
                yield f"{text}[…], with brackets"
            elif "not iterable" in self.scene.message and isinstance(value, nn.Module):
                yield f"{text}.parameters(), or {text}.children()"

    def _key(self, key: object) -> Iterator[str]:
        """The entries whose keys look much like one that is not there."""
        if isinstance(self.node, ast.Subscript):
            held, text = value_of(self.node.value, self.names), ast.unparse(self.node.value)
            if isinstance(held, dict):
                near = difflib.get_close_matches(str(key), list(map(str, held)), 2, 0.8)
                yield from (f"{text}[{one!r}]" for one in held if str(one) in near)
                index = ast.unparse(self.node.slice)
                yield f"leave out what has no entry: if {index} in {text}"

    def _signature(self) -> Iterator[str]:
        """What the called function takes, where the call does not fit it, or the message names an argument."""
        if not isinstance(self.node, ast.Call):
            return
        called, name = self._taker(), ast.unparse(self.node.func)
        try:
            signature = inspect.signature(called)
        except (TypeError, ValueError):
            return
        given = {one.arg: one.value for one in self.node.keywords if one.arg}
        taken = signature.parameters
        try:
            signature.bind(*(None for _ in self.node.args), **given)
        except TypeError as error:
            yield f"{name} takes ({_written(taken)}): {error}"
            for one in given.keys() - taken.keys():
                short = "".join(word[0] for word in one.split("_") if word)
                near = [short] if short in taken else difflib.get_close_matches(one, list(taken), 1)
                yield f"{near[0]}= in place of {one}=" if near else f"leave {one}= out"
            return
        for one in given.keys() & set(re.findall(r"\w+", self.scene.message)) & taken.keys():
            if taken[one].default is not inspect.Parameter.empty:
                yield f"leave {one}= out: {name} takes {one}={taken[one].default} then"

    def _taker(self) -> Any:
        """What a call calls: of a class that hands its arguments on, the method that the message names."""
        called: Any = value_of(self.node.func, self.names) if isinstance(self.node, ast.Call) else UNKNOWN
        if (
            called is UNKNOWN
            and isinstance(self.node, ast.Call)
            and isinstance(self.node.func, ast.Attribute)
        ):
            owner = value_of(self.node.func.value, self.names)
            method = inspect.getattr_static(type(owner), self.node.func.attr, None)
            return functools.partial(method, None) if inspect.isfunction(method) else None
        found = re.match(r"(\w+)\.(\w+)\(\)", self.scene.message)
        owner = self.scene.frames[-1].frame.f_locals.get("self")
        kinds = called.__mro__ if isinstance(called, type) else type(owner).__mro__
        named = next((one for one in kinds if found is not None and one.__name__ == found[1]), None)
        is_called = named is not None and found is not None and found[2] != "__init__"
        if is_called or (isinstance(called, type) and named not in (None, called)):
            method = getattr(named, found[2]) if found is not None else None
            return functools.partial(method, None) if method is not None else None
        return called.forward if isinstance(called, nn.Module) else called


def _written(parameters: Mapping[str, inspect.Parameter]) -> str:
    """Parameters with their defaults, without what types they have."""
    empty = inspect.Parameter.empty
    shown = [name if one.default is empty else f"{name}={one.default!r}" for name, one in parameters.items()]
    return ", ".join(shown[:_SHOWN]) + (", …" if len(shown) > _SHOWN else "")


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?", text))


def _fields(value: Any) -> int:
    """How many values an item of a list, of a loader of tensors, or the value itself holds; 0 where that is not known."""
    tensors = getattr(getattr(value, "dataset", None), "tensors", None)
    if tensors is not None:
        return len(tensors)
    first = value[0] if isinstance(value, list | tuple) and value else None
    return (
        len(first)
        if isinstance(first, list | tuple)
        else len(value)
        if isinstance(value, list | tuple)
        else 0
    )


def returned(function: Any) -> list[ast.expr]:
    """The expressions that a function of the program returns."""
    code = getattr(function, "__code__", None)
    tree = parse_file(code.co_filename) if code is not None and not is_library(code.co_filename) else None
    owner = owner_of(tree, code) if tree is not None and code is not None else None
    inner = ast.walk(owner[0]) if owner is not None else ()
    return [one.value for one in inner if isinstance(one, ast.Return) and one.value is not None]


def _whole(node: ast.expr, scene: Scene) -> str:
    """How a float becomes a whole number: by `//` where a quotient made it."""
    _, at = scene.made(node)
    made = at.parsed() if at is not None else node
    divided = any(isinstance(one, ast.Div) for one in ast.walk(made))
    return (
        "// in place of /" + (f" in `{at.expression}`" if at else "")
        if divided
        else f"int({ast.unparse(node)})"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() == 0


def _makes_tensor(value: Any) -> bool:
    """Whether an array or a list of numbers becomes a tensor."""
    numbers = isinstance(value, list) and bool(value) and all(type(one) in (int, float) for one in value)
    return numbers or (type(value).__name__ == "ndarray" and value.dtype.kind in "biuf")


def _each(value: Any, text: str, name: str) -> str | None:
    """How an attribute is asked of everything in lists and dicts; None where not all of it has the attribute."""
    if isinstance(value, dict) and value:
        inner = _each(next(iter(value.values())), "value", name)
        return (
            f"{{key: {inner}(…) for key, value in {text}.items()}}".replace("(…)(…)", "(…)")
            if inner
            else None
        )
    if isinstance(value, list | tuple) and value:
        inner = _each(value[0], "one", name)
        return f"[{inner}(…) for one in {text}]".replace("}(…)", "}").replace("](…)", "]") if inner else None
    return f"{text}.{name}" if callable(getattr(type(value), name, None)) else None


def _file(path: str) -> Iterator[str]:
    """Which part of a path is not there."""
    whole = Path(path).absolute()
    there = next((one for one in whole.parents if one.is_dir()), None)
    if there is None:
        return
    missing = whole.relative_to(there).parts[0]
    near = difflib.get_close_matches(missing, os.listdir(there), 2)
    yield f"{there} has no {missing!r}" + (f"; it has {', '.join(near)}" if near else "")


def described(value: Any) -> str:
    """What a value is, in few words."""
    kind = type(value).__name__
    match value:
        case None | bool() | int() | float() | complex() | torch.device() | torch.dtype():
            return repr(value)
        case torch.Size():
            return str(tuple(value))
        case torch.Tensor():
            return f"a tensor {tuple(value.shape)} of {dtype_name(value.dtype)}"
        case str() | bytes():
            return (
                f"the {kind} {value!r}" if len(value) < _LONGEST else f"a {kind} of {len(value)} characters"
            )
        case nn.Module():
            return f"a {kind_of(value, _LONGEST)}"
        case type():
            return f"the class {value.__name__}"
        case dict():
            keys = ", ".join(map(repr, list(value)[:_SHOWN])) + (", …" if len(value) > _SHOWN else "")
            return f"a {kind} with the keys {keys}" if value else f"an empty {kind}"
        case list() | tuple():
            parts = ", ".join(map(described, value[:3])) + (", …" if len(value) > 3 else "")
            return f"a {kind} of {len(value)}: {parts}"[:200] if value else f"an empty {kind}"
    if inspect.isroutine(value):
        return f"the function {getattr(value, '__name__', kind)}"
    if kind == "ndarray":
        return f"an array {value.shape} of {value.dtype}"
    if hasattr(type(value), "__len__"):
        try:
            return f"a {kind} of length {len(value)}"
        except Exception:  # whatever a class of the program raises
            return f"a {kind}"
    return f"a {kind}"
