"""What the kind of an error tells beyond the values: where an attribute is, how a name is spelled, what a call takes."""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.batches import joined_otherwise
from stablelint.runtime.crash.expression import UNKNOWN, given_by_name, value_of
from stablelint.runtime.crash.failed import Failed
from stablelint.runtime.crash.provenance.nothing import gave_none
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.onward import by_edit, passed
from stablelint.runtime.crash.source import returned

_SHOWN = 6
_IN_PLACES = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Hints(Failed):
    """What to do about an expression that failed."""

    def advice(self) -> Iterator[str]:
        """What the kind of error tells beyond the values."""
        operands = self.scene.operands()
        if {one.device for one in operands} == {"meta"}:
            yield f"{operands[0].name} has a shape and no numbers: computed on a real device (cpu, cuda) it has"
            yield f"if not {operands[0].owner}.is_meta: around what asks for them, if its shape is all that is wanted"
        for one in self.parts(self.node):
            value = value_of(one, self.names)
            if value is None and not isinstance(one, ast.Attribute) and (silent := gave_none(self.scene)):
                yield f"return … on every way through {silent}, which gave None"
            elif value is None and not isinstance(one, ast.Constant):
                yield f"if {ast.unparse(one)} is not None: around it, or give it a value where it is made"
            if inspect.isroutine(self.value(one)) and re.search("not (subscr|itera)", self.scene.message):
                yield f"{ast.unparse(one)}() calls it"
            if isinstance(self.node, ast.Subscript) and "tuple indices must be" in self.scene.message:
                yield ast.unparse(ast.Subscript(ast.Subscript(one, ast.Constant(0)), self.node.slice))
            if isinstance(value, nn.Module) and "iterable" in self.scene.message:
                yield f"{ast.unparse(one)}.parameters()"
            if isinstance(value, float) and re.search(r"\bint(eger)?s?\b", self.scene.message):
                yield f"int({ast.unparse(one)}), or // where it is a quotient, if a whole number is wanted"
        match self.scene.error:
            case AttributeError(obj=owner, name=str(name)) if owner is not None:
                yield from self._attribute(owner, name)
            case FileNotFoundError(filename=str(path)):
                yield from _file(path)
            case KeyError(args=[key]):
                yield from self._key(key)
            case ZeroDivisionError():
                for one in self.parts(self.node):
                    if isinstance(one, ast.Call) and ast.unparse(one.func) == "len" and one.args:
                        yield f"{ast.unparse(one.args[0])} is empty"
            case ValueError() if isinstance(self.node, ast.Tuple):
                yield from self._items(len(self.node.elts))
        yield from self._signature()

    def _items(self, count: int) -> Iterator[str]:
        """How the values that were unpacked into names are to be unpacked."""
        whole = self.unpacked()
        if whole is None or self.node is None:
            return
        value, names = self.value(whole), ast.unparse(self.node).strip("()")
        if isinstance(value, dict):
            yield f"{ast.unparse(whole)}.items() gives keys and values"
        if isinstance(value, torch.Tensor):
            fits = (place for place, size in enumerate(value.shape) if size == count)
            yield from (f"{names} = {ast.unparse(whole)}.unbind({place})" for place in fits)
            return
        match whole:
            case ast.Call(ast.Attribute(_, "split")) if isinstance(value, tuple):
                dim = self.value(given_by_name(whole, self.names, torch.split).get("dim", ast.Constant(0)))
                total = sum(one.shape[dim] for one in value)
                if total % count == 0:
                    yield f"pieces of {total // count} are {count}; those of {value[0].shape[dim]} are {len(value)}"
                return
        for one in returned(getattr(type(getattr(value, "dataset", value)), "__getitem__", None)):
            yield f"an item is what __getitem__ returns: {ast.unparse(one)}"

    def _attribute(self, owner: Any, name: str) -> Iterator[str]:
        """Where an attribute is that is not where it was looked for."""
        node = self.node.func if isinstance(self.node, ast.Call) else self.node
        if not isinstance(node, ast.Attribute) or node.attr != name:
            return
        text = ast.unparse(node.value)
        held = list(
            owner.values() if isinstance(owner, dict) else owner if isinstance(owner, list | tuple) else ()
        )
        shapes = {one.shape for one in held if isinstance(one, torch.Tensor)}
        if isinstance(owner, dict) and name in owner:
            yield f"{text}[{name!r}]"
        if isinstance(owner, dict):
            yield from (
                f"{text}[{key!r}].{name}" for key, one in islice(owner.items(), _SHOWN) if hasattr(one, name)
            )
        elif shapes == {torch.Size()}:
            yield f"sum({text}).{name}"
        elif len(shapes) == 1 and hasattr(torch.Tensor, name):
            yield f"torch.stack({text}).{name}, here or where the list is made"
        elif held and all(isinstance(one, dict) for one in held):
            yield f"{{key: value.{name}(…) for key, value in one.items()}} for one in {text}"
        elif held and all(hasattr(one, name) for one in held):
            yield f"one.{name} for one in {text}"
        elif isinstance(owner, nn.Module):
            yield from (f"{text}.{key}.{name}" for key, one in owner._modules.items() if hasattr(one, name))
        elif hasattr(torch.Tensor, name) and _makes_tensor(owner):
            yield f"torch.as_tensor({text}).{name}"
        elif inspect.isroutine(owner):
            yield f"{text}() calls it"
        public = [one for one in dir(owner) if one[:1] != "_"]
        yield from (f"{text}.{one}" for one in difflib.get_close_matches(name, public, 2, 0.7))

    def _key(self, key: object) -> Iterator[str]:
        """The entries whose keys look much like one that is not there."""
        match self.node:
            case ast.Subscript(owner, asked):
                call = None
            case ast.Call(ast.Attribute(owner, _) as call, [asked, *_]):
                pass
            case _:
                return
        held, text, index = value_of(owner, self.names), ast.unparse(owner), ast.unparse(asked)
        if isinstance(held, dict):
            near = difflib.get_close_matches(str(key), list(map(str, held)), 2, 0.8)
            if isinstance(key, str) and key != key.lower() in held:
                yield f"{text}[{index}.lower()]: {key.lower()!r} is there"
            written = f"{text}[%r]" if call is None else f"{ast.unparse(call)}(%r)"
            yield from (written % one for one in held if str(one) in near)
            yield from joined_otherwise(self.scene, ())
            if not near:
                yield from (
                    f"{text}[{one!r}] holds tensors" for one, value in held.items() if _holds_tensors(value)
                )
            if not isinstance(asked, ast.Constant):
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
        spread = [value_of(one.value, self.names) for one in self.node.keywords if one.arg is None]
        if not all(isinstance(one, dict) for one in spread) or any(
            isinstance(one, ast.Starred) for one in self.node.args
        ):
            return  # what is given is not known
        given = dict.fromkeys(
            [*(one.arg for one in self.node.keywords if one.arg), *(k for d in spread for k in d)]
        )
        taken = signature.parameters
        try:
            signature.bind(*self.node.args, **given)
        except TypeError as error:
            anew = (by_edit(self.scene, one) for one in self._called_anew(signature, given))
            yield from passed(self.scene, anew)[:1]
            yield f"{name} takes ({_written(taken)}): {error}"
            for one in given.keys() - taken.keys():
                short = "".join(word[0] for word in one.split("_") if word)
                near = [short] if short in taken else difflib.get_close_matches(one, list(taken), 1)
                yield f"{near[0]}= in place of {one}=" if near else f"leave {one}= out"
            return
        made = isinstance(
            value_of(self.node.func, self.names), type
        )  # what a module is called with has a purpose
        for one in given.keys() & set(re.findall(r"\w+", self.scene.message)) & taken.keys() if made else ():
            if taken[one].default is not inspect.Parameter.empty:
                yield f"leave {one}= out: {name} takes {one}={taken[one].default} then"

    def _called_anew(self, signature: inspect.Signature, given: dict[str, Any]) -> Iterator[Edit]:
        """The call with what it lacks, where that has its name here, or without what is too much."""
        assert isinstance(self.node, ast.Call)
        args, kept, filename = self.node.args, self.node.keywords, self.scene.location.filename
        places = {name: one.default for name, one in signature.parameters.items() if one.kind in _IN_PLACES}
        more = {
            name: next(self._under(name), None)
            for name, default in [*places.items()][len(args) :]
            if name not in given and default is inspect.Parameter.empty
        }
        there = {name: one for name, one in more.items() if one is not None}
        if more and len(there) == len(more):
            named = [ast.keyword(*one) for one in there.items()] if kept else []
            anew = ast.Call(self.node.func, [*args, *(() if kept else there.values())], [*kept, *named])
            yield Edit.of(self.node, filename, ast.unparse(anew))
        for place in reversed(range(len(args))) if len(args) > len(places) else ():
            fewer = ast.Call(self.node.func, [*args[:place], *args[place + 1 :]], kept)
            yield Edit.of(self.node, filename, ast.unparse(fewer))

    def _under(self, name: str) -> Iterator[ast.expr]:
        """What has a name here, or is an attribute or an entry of that name."""
        if name in self.names:
            yield ast.Name(name)
        for text, held in self.scene.user.frame.f_locals.items():
            if isinstance(held, dict) and name in held:
                yield ast.Subscript(ast.Name(text), ast.Constant(name))
            if name in getattr(held, "__dict__", ()):
                yield ast.Attribute(ast.Name(text), name)

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


def _holds_tensors(value: Any) -> bool:
    return isinstance(value, dict) and any(map(torch.is_tensor, value.values()))


def _makes_tensor(value: Any) -> bool:
    """Whether an array or a list of numbers becomes a tensor."""
    numbers = isinstance(value, list) and bool(value) and all(type(one) in (int, float) for one in value)
    return numbers or (type(value).__name__ == "ndarray" and value.dtype.kind in "biuf")


def _file(path: str) -> Iterator[str]:
    """Which part of a path is not there."""
    whole = Path(path).absolute()
    there = next((one for one in whole.parents if one.is_dir()), None)
    if there is None:
        return
    missing = whole.relative_to(there).parts[0]
    yield f"{there} has no {missing!r}"
