"""Everyday errors that need no more than a sentence: those of the table `usual.toml`.

Fields of a sentence: `{m[1]}` a group of the message; `{layer}` the module called; `{a.name}`, `{a.shape}` … the first
operand, `{bool}` the bool one; `{truth}` what a truth value was asked of; `{on}` what a method or attribute was asked of;
`{call+name=value}` the call with an argument; `{reshaped}` the call of `view` as one of `reshape`;
`{given}` the call's first argument; `{inner}` the class of torch whose
method failed; `{repeated}` the tuple or list in a
product; any other the tensor given for the argument of that name, or
a number that torch took under it.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch

from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.expression import given_by_name, node_at, operands, value_of
from stablelint.runtime.crash.general import advised, facts, operands_of_call
from stablelint.runtime.crash.layers import shapes_through_layers
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.location import Location


@dataclass(frozen=True, slots=True)
class Row:
    """The first summary whose fields are all known is said, and all advice of that sort."""

    pattern: str
    kind: str
    summary: list[str]
    advice: list[str] = field(default_factory=list)
    otherwise: list[str] = field(default_factory=list)  # advice where no change of the call passes


ROWS = tuple(
    Row(**row) for row in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["row"]
)


@explains(r"")
def usual(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """What the first row that knows the message says, unless the program raised it in its own words."""
    if isinstance(scene.node, ast.Raise):
        return None
    for row in ROWS:
        match = re.search(row.pattern, scene.message)
        if match is None:
            continue
        known = _Known(scene, match)
        summary = next(_filled(row.summary, known), None)
        if summary is not None:
            sought = advised(scene).texts if row.otherwise else ()
            advice = sought or tuple(dict.fromkeys(_filled([*row.advice, *row.otherwise], known)))
            layers = shapes_through_layers(scene)
            named = tuple(one for one in known.values() if isinstance(one, Operand))
            whole = operands_of_call(scene) if "layer" in known else ()
            shown = named or whole or (scene.operands() if "layer" in known or known.is_direct() else ())
            told = () if shown or " is " in summary else tuple(facts(scene))
            made = known.made() if "on" in known else ()
            return Explanation(row.kind, summary, told, advice, shown, layers, other=made)
    return None


def _filled(sentences: list[str], known: dict[str, object]) -> Iterator[str]:
    """The sentences whose fields are all known."""
    for one in sentences:
        with suppress(LookupError):
            yield one.format_map(known)


class _Known(dict[str, object]):
    """The fields of a row's sentences, each found where it is asked for; KeyError for what is not known."""

    def __init__(self, scene: Scene, match: re.Match[str]) -> None:
        super().__init__(m=match)
        self._scene = scene
        self._names, self._code = scene.user.names, scene.user.site.code
        self._node = scene.node
        self._call = self._node if isinstance(self._node, ast.Call) else None

    def __missing__(self, field: str) -> object:
        match field:
            case "a" | "bool":
                found: object = self._operand(field)
            case "layer":
                found = self._scene.module_name() if self._scene.module is not None else None
            case "on":
                found = self._owner()
            case "given":
                known = self._call is not None and self._call.args and self.is_direct()
                found = ast.unparse(self._call.args[0]) if self._call is not None and known else None
            case "inner":
                last = self._scene.frames[-1]
                owner = None if last.mine else last.frame.f_locals.get("self")
                found = type(owner).__name__ if owner is not None else None
            case "near":
                held = dir(type(self._scene.frames[-1].frame.f_locals.get("self")))
                found = next(iter(difflib.get_close_matches("forward", {*held} - {"forward"}, 1, 0.8)), None)
            case "truth":
                found = self._truth()
            case "reshaped":
                text = ast.unparse(self._call) if self._call is not None else ""
                found = text.replace(".view(", ".reshape(") if ".view(" in text else None
            case "repeated":
                found = self._repeated()
            case _ if field.startswith("call+") and self._call is not None:
                more: Any = ast.parse(f"_({field[5:]})", mode="eval").body
                kept = [one for one in self._call.keywords if one.arg != more.keywords[0].arg]
                found = ast.unparse(ast.Call(self._call.func, self._call.args, [*kept, *more.keywords]))
            case _:
                found = self._argument(field)
        if found is None:
            raise KeyError(field)
        self[field] = found
        return found

    def is_direct(self) -> bool:
        """Whether what failed is the program's own call, and not one further below with other operands."""
        below = list(takewhile(lambda one: not one.mine, reversed(self._scene.frames)))
        owners = [one.frame.f_locals.get("self") for one in (*below[:1], *below[-1:])]
        return all(one.of_numpy for one in below) or (owners[0] is not None and owners[0] is owners[-1])

    def _operand(self, field: str) -> Operand | None:
        """The first operand, or the one that is a bool tensor."""
        inner = self._scene.frames[-1]
        if not self.is_direct() and not any(operands(node_at(inner.site), inner.names)):
            return None
        found = self._scene.operands()
        if not all(map(self._is_as_named, found)):
            return None
        return next((one for one in found if field == "a" or one.dtype == "bool"), None)

    def _is_as_named(self, one: Operand) -> bool:
        """Whether the program's name is that of the tensor itself, and not of what a view further below was made of."""
        if one.written is None:  # `weight of layer`
            return True
        value = value_of(one.written, self._names)
        return tuple(value.shape) == one.shape if isinstance(value, torch.Tensor) else self.is_direct()

    def _truth(self) -> str | None:
        """The expression of tensors whose truth value was asked for."""
        match self._node:
            case ast.Compare(_, [ast.In() | ast.NotIn()]):
                return None
            case ast.Compare() | ast.Name() | ast.Call() if self.is_direct() and self._scene.operands():
                return ast.unparse(self._node)
        return None

    def _repeated(self) -> str | None:
        """The name of a tuple or a list that stands in a product."""
        parts = ast.walk(self._node) if isinstance(self._node, ast.BinOp) else ()
        names = (one.id for one in parts if isinstance(one, ast.Name))
        return next((name for name in names if isinstance(self._names.get(name), tuple | list)), None)

    def made(self) -> tuple[tuple[str, Location], ...]:
        """Where that is from of which a method or an attribute was asked."""
        node = self._call.func if self._call is not None else self._node
        if not isinstance(node, ast.Attribute):
            return ()
        subject, places = self._scene.origins.told(self._scene.user, node.value)
        return tuple((f"{subject} is made here", at) for at in places[-1:])

    def _owner(self) -> str | None:
        """What a method or an attribute is asked of, and no module of Python."""
        node = self._call.func if self._call is not None else self._node
        if not isinstance(node, ast.Attribute) or inspect.ismodule(value_of(node.value, self._names)):
            return None
        text = ast.unparse(node.value)
        return f"({text})" if isinstance(node.value, ast.BinOp | ast.UnaryOp) else text

    def _held(self) -> Iterator[object]:
        """The values of the program's names, and of the operands of what failed."""
        yield from self._names.values()
        yield from (tensor for _, tensor in operands(self._node, self._names))

    def _argument(self, name: str) -> Operand | int | None:
        """The tensor of the program that was given for an argument of torch, or a number there."""
        for one in self._call.keywords if self._call is not None else ():
            value = value_of(one.value, self._names)
            if one.arg == name and isinstance(value, torch.Tensor):
                return self._scene.operand(value, ast.unparse(one.value))
        written = given_by_name(self._call, self._names) if self._call is not None else {}
        below = reversed(self._scene.frames)
        for frame in takewhile(lambda one: not one.mine, below):
            value = frame.frame.f_locals.get(name)
            if isinstance(value, int):
                return value
            if isinstance(value, torch.Tensor) and any(value is one for one in self._held()):
                return self._scene.operand(value, name)
            if isinstance(value, torch.Tensor) and name in written:
                return self._scene.operand(value, ast.unparse(written[name]), self._scene.user)
        return None
