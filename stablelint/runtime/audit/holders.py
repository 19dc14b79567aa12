"""Which names of the program hold tensors from step to step, and where they are filled."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import FrameType, ModuleType
from typing import Any

import torch

from stablelint.runtime.program.frames import is_library, parse_file
from stablelint.runtime.program.location import Location

_CONTAINERS = (list, deque, dict)
_MOST_ITEMS = 4096
_DEPTH = 2  # of attributes of attributes
_MOST_OBJECTS = 64  # of a container that are looked into
_RUNNING = 8  # additions in a row


@dataclass(frozen=True, slots=True)
class Holding:
    """What one name holds: tensors, how many of them carry a graph, and bytes."""

    tensors: int
    graphs: int
    bytes: int
    filename: str


def holdings(frames: list[FrameType], roots: list[torch.nn.Module]) -> dict[str, Holding]:
    """The tensors held by names of `frames`, by their objects' attributes and by the modules that train."""
    found: dict[str, Holding] = {}
    known: set[int] = set()
    for name, value, filename in _names(frames, roots):
        holding = _holding(value, filename) if id(value) not in known else None
        if holding is not None:
            found.setdefault(name, holding)
            known.add(id(value))
    return found


def _names(frames: list[FrameType], roots: list[torch.nn.Module]) -> Iterator[tuple[str, object, str]]:
    seen: set[int] = set()
    for frame in frames:
        filename = frame.f_code.co_filename
        scopes = [frame.f_locals] if frame.f_code.co_name == "<module>" else [frame.f_locals, frame.f_globals]
        for scope in scopes:
            for name, value in list(scope.items()):
                if id(value) in seen or name.startswith("__") or isinstance(value, (type, ModuleType)):
                    continue
                seen.add(id(value))
                yield from _within(name, value, filename, _DEPTH)
    for root in roots:
        if id(root) not in seen:
            yield from _within(type(root).__name__, root, "", _DEPTH)


def _within(name: str, value: object, filename: str, depth: int) -> Iterator[tuple[str, object, str]]:
    """A name, and what the attributes of its object hold, or those of the objects in its container."""
    yield name, value, filename
    held: dict[str, object] = {}
    if depth and _is_plain_object(value) and (depth == _DEPTH or not is_library(filename)):
        code = getattr(type(value).__init__, "__code__", None)
        filename = code.co_filename if code is not None else ""
        of_class = {} if is_library(filename) else vars(type(value))
        held = {f"{name}.{key}": one for key, one in {**of_class, **vars(value)}.items()}
    elif depth and isinstance(value, (dict, list)) and type(value) in _CONTAINERS:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        held = {f"{name}[{key!r}]": one for key, one in islice(items, _MOST_OBJECTS) if _is_plain_object(one)}
    for inner, one in held.items():
        yield from _within(inner, one, filename, depth - 1)


def _is_plain_object(value: object) -> bool:
    return (hasattr(value, "__dict__") and not callable(value)) or isinstance(value, torch.nn.Module)


def _holding(value: Any, filename: str) -> Holding | None:
    if isinstance(value, torch.Tensor):
        items: list[object] = [value]
        if not value.requires_grad or value.is_leaf:
            return None
    elif isinstance(value, deque) and value.maxlen is not None:
        return None  # it has a bound
    elif type(value) in _CONTAINERS and len(value) <= _MOST_ITEMS:  # another's own may compute what it holds
        items = list(value.values()) if isinstance(value, dict) else list(value)
        items = [inner for one in items for inner in (one if isinstance(one, (list, tuple)) else (one,))]
    else:
        return None
    tensors = [
        one for one in items if isinstance(one, torch.Tensor) and not isinstance(one, torch.nn.Parameter)
    ]
    if not tensors:
        return None
    graphs = sum(one.grad_fn is not None for one in tensors) if value is not tensors[0] else _added_up(value)
    return Holding(len(tensors), graphs, sum(one.numel() * one.element_size() for one in tensors), filename)


def _added_up(total: torch.Tensor) -> int:
    """How many results a running sum keeps the graphs of; 1 for what adds up a few terms, as a loss does."""
    count, node = 0, total.grad_fn
    while node is not None and node.name().startswith("AddBackward") and count < _MOST_ITEMS:
        count, node = count + 1, node.next_functions[0][0]
    return count if count >= _RUNNING else 1


def growing(before: Mapping[str, Holding], after: Mapping[str, Holding], steps: int) -> dict[str, Holding]:
    """The names that took at least a tensor a step between two looks."""
    return {
        name: held
        for name, held in after.items()
        if held.tensors - (before[name].tensors if name in before else 0) >= max(steps, 2)
    }


def filled_at(name: str, files: set[str]) -> Location | None:
    """The statement that puts something into `name`: `name.append(…)`, `name += …`, `name = name + …`."""
    for filename in sorted(one for one in files if one and not is_library(one)):
        tree = parse_file(filename)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.stmt) and _fills(node, name.rpartition(".")[2]):
                return Location.of(node, filename)
    return None


def _fills(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.Expr(ast.Call(ast.Attribute(target, "append" | "extend" | "appendleft" | "insert"))):
            return _called(target) == name
        case ast.AugAssign(target, ast.Add()):
            return _called(target) == name
        case ast.Assign([target], ast.BinOp(left, ast.Add(), right)):
            return _called(target) == name and name in (_called(left), _called(right))
        case ast.Assign([ast.Subscript(target)], _):
            return _called(target) == name
    return False


def _called(node: ast.expr) -> str | None:
    """`total` and `self.total` are both called total."""
    match node:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
        case ast.Subscript(value) | ast.Call(ast.Attribute(value, "setdefault")):
            return _called(value)
    return None
