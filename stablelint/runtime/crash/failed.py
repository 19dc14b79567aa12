"""The expression that failed, and what its parts were that are no tensors, in few words."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.deduced import deduced
from stablelint.runtime.crash.expression import UNKNOWN, given_by_name, value_of
from stablelint.runtime.crash.scene import Scene, kind_of
from stablelint.runtime.program.frames import parse_file
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import operands_of
from stablelint.runtime.tensors.measure import dtype_name

_LONGEST = 70
_SHOWN = 6


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


def ends_behind(node: ast.expr | None, scope: dict[str, Any]) -> tuple[ast.Slice, int, int, str] | None:
    """The part of an index that ends behind the tensor, where it ends, how many entries there are, and that told."""
    whole = value_of(node.value, scope) if isinstance(node, ast.Subscript) else None
    index = node.slice if isinstance(node, ast.Subscript) else None
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    for place, (one, size) in enumerate(zip(parts, getattr(whole, "shape", ()), strict=False)):
        end = deduced(one.upper, scope) if isinstance(one, ast.Slice) and one.upper is not None else None
        if isinstance(one, ast.Slice) and isinstance(node, ast.Subscript) and type(end) is int and end > size:
            return one, end, size, f"dimension {place} of {ast.unparse(node.value)} has {size} entries"
    return None


@dataclass(frozen=True)
class Failed:
    """The expression that failed, and what its parts were."""

    scene: Scene
    node: ast.AST | None

    @property
    def names(self) -> dict[str, Any]:
        """The values of all names there."""
        return self.scene.user.names

    def operation(self) -> str:
        """What is called, or the operator; nothing for other syntax."""
        match self.node:
            case ast.Call(ast.Attribute(_, name) as function) if value_of(function, self.names) is UNKNOWN:
                return name
            case ast.Call(function):
                return ast.unparse(function)
            case ast.BinOp(_, operator) | ast.AugAssign(_, operator):
                return f"`{ast.unparse(ast.BinOp(ast.Name('x'), operator, ast.Name('x'))).strip('x ')}`"
            case ast.Compare(_, [operator]):
                return f"`{ast.unparse(ast.Compare(ast.Name('x'), [operator], [ast.Name('x')])).strip('x ')}`"
            case ast.Subscript():
                return "indexing"
        return ""

    def facts(self) -> list[str]:
        """What the operands are that are no tensors, and what the message speaks of."""
        told: dict[str, str] = dict([*self.mentioned(), *self.values()])
        short = ((one, ends_behind(one, self.names)) for one in self.parts(self.node))
        cut = (f"{ast.unparse(one)} asks for {end[1]}, and {end[3]}" for one, end in short if end is not None)
        return [*cut, *(f"{text} is {what}" for text, what in told.items())]

    def value(self, node: ast.expr) -> Any:
        """The value of an operand; of a method that is not called, the method."""
        found = value_of(node, self.names)
        if found is UNKNOWN and isinstance(node, ast.List | ast.Tuple):
            parts = [self.value(one) for one in node.elts]
            return UNKNOWN if any(one is UNKNOWN for one in parts) else parts
        if found is UNKNOWN and isinstance(node, ast.Attribute):
            owner = value_of(node.value, self.names)
            method = inspect.getattr_static(type(owner), node.attr, UNKNOWN)
            return method if inspect.isroutine(method) else UNKNOWN
        if found is UNKNOWN and isinstance(self.node, ast.Tuple):  # what is unpacked
            made = deduced(node, self.names)
            return UNKNOWN if made is None else made
        return found

    def hides(self, known: int) -> bool:
        """Whether there are more operands than those whose values are known."""
        parts = [one for one in self.parts(self.node) if not isinstance(one, ast.Constant)]
        return known < len(parts) and any(self._is_gone(one) for one in parts)

    def _is_gone(self, node: ast.expr) -> bool:
        return self.value(node) is UNKNOWN and deduced(node, self.names) is None

    def values(self) -> Iterator[tuple[str, str]]:
        """What each operand is that is no tensor, by its text."""
        asked = self._condition() if isinstance(self.node, ast.Raise | ast.Assert) else None
        for one in self.parts(asked or self.node):
            value, text = self.value(one), ast.unparse(one)
            named = text != "self" and any(
                isinstance(part, ast.Name) and part.id in self.names for part in ast.walk(one)
            )
            known = named and value is not UNKNOWN
            shown = asked or isinstance(self.node, ast.Tuple) or not isinstance(value, torch.Tensor)
            several = isinstance(value, list | tuple) and all(map(torch.is_tensor, value))
            several = several and not isinstance(self.node, ast.Subscript)  # which asks it for a part
            listed = several and len({one.shape for one in value}) > 1  # each is an operand
            if known and shown and not inspect.ismodule(value) and not listed:
                yield text, described(value)

    def made(self) -> Iterator[tuple[str, Location]]:
        """Where the operands got their values that are no tensors."""
        asked = self._condition() if isinstance(self.node, ast.Raise | ast.Assert) else None
        plain = torch.Tensor if asked else torch.Tensor | int | float | str
        for one in self.parts(asked or self.node):
            value = value_of(one, self.names)
            if value is not UNKNOWN and not isinstance(value, plain | None):
                places = self.scene.origins.of(self.scene.user, one)
                for at in dict.fromkeys((*places[:1], *places[-1:])):
                    yield f"{ast.unparse(one)} gets its value here", at

    def mentioned(self) -> Iterator[tuple[str, str]]:
        """What the library's frame that raised the error calls by a word, or counts as a number, of its message."""
        frame, node = self.scene.frames[-1], self.node
        if frame.mine:
            return
        words, numbers = set(re.findall(r"[A-Za-z_]\w+", self.scene.message)), _numbers(self.scene.message)
        owner = frame.frame.f_locals.get("self")
        owner = None if owner is self.scene.module else owner  # which is told whole
        given = given_by_name(node, self.names) if isinstance(node, ast.Call) else {}
        names, fields = frame.frame.f_locals, getattr(owner, "__dict__", {})
        more = {name: value for name, value in fields.items() if names.get(name, UNKNOWN) is not value}
        whole = (names, ""), (more, f" of {type(owner).__name__}")
        for held, whose in whole:
            for name, value in held.items():
                if name[:1] == "_" or not isinstance(value, int | float | str | None | tuple | list):
                    continue
                counted = isinstance(value, int | float) and str(value) in numbers and value not in (0, 1)
                counted = counted and (held is more or name in inspect.getargs(frame.site.code).args)
                if words & {name, f"{name}s"} or counted:
                    at = given.get(name)
                    is_told = at is None or isinstance(at, ast.Constant | ast.UnaryOp)
                    yield (f"{name}{whose}" if is_told or at is None else ast.unparse(at)), described(value)

    def _condition(self) -> ast.AST | None:
        """What a `raise` stands under, or an `assert` asks."""
        if isinstance(self.node, ast.Assert):
            return self.node.test
        for one in ast.walk(parse_file(self.scene.user.site.code.co_filename) or ast.Pass()):
            if isinstance(one, ast.If) and self.node in (*one.body, *one.orelse):
                return one.test
        return None

    def parts(self, node: ast.AST | None) -> Iterator[ast.expr]:
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
            case ast.Tuple() if (whole := self.unpacked()) is not None:
                found = [whole]
            case _:
                found = list(operands_of(node))
        yield from {ast.unparse(one): one for one in found}.values()

    def unpacked(self) -> ast.expr | None:
        """The right side of an assignment whose left side is the failing tuple."""
        for one in ast.walk(parse_file(self.scene.user.site.code.co_filename) or ast.Pass()):
            if isinstance(one, ast.Assign) and self.node in one.targets:
                return one.value
            if isinstance(one, ast.For | ast.comprehension) and one.target is self.node:
                return one.iter
        return None


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?!\w)", text))
