"""Changes of what stands further out or before: arguments in wrong places, a part for a whole, upsampling, lists."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.deduced import deduced
from stablelint.runtime.crash.expression import UNKNOWN, given_by_name, node_at, value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.pure import is_known
from stablelint.runtime.crash.repairs.constructors import line_of
from stablelint.runtime.crash.repairs.edits import Edit, Setting
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import function_at
from stablelint.runtime.program.frames import resolve

_MOST_ARGUMENTS = 6


def rearranged(scene: Scene) -> Iterator[Repair]:
    """Calls of the program's modules and functions, and of losses, around what failed, with other arguments."""
    for frame in reversed(scene.frames):
        node = node_at(frame.site) if frame.mine else None
        if not isinstance(node, ast.Call) or node.keywords or not 1 < len(node.args) <= _MOST_ARGUMENTS:
            continue
        called, where = value_of(node.func, frame.names), f" in line {resolve(frame.site).row}"
        of_torch = is_known(called) or type(called).__module__.startswith("torch.")
        if callable(called) and (not of_torch or hasattr(called, "reduction")):
            for text in (*_exchanged(node, frame), *_whole(node, frame)):
                edit = Edit.of(node, frame.site.code.co_filename, text)
                yield Repair(text, None, revisions=(edit,), where=where)


def _exchanged(node: ast.Call, frame: Frame) -> Iterator[str]:
    """The call with two tensors of different kinds in each other's place, unless one is called as it is taken."""
    taken = given_by_name(node, frame.names)
    free = [
        place
        for place, one in enumerate(node.args)
        if not any(given is one and name == ast.unparse(one) for name, given in taken.items())
    ]
    kinds = {place: _kind(node.args[place], frame) for place in free}
    for one, other in combinations(free, 2):
        if kinds[one] != kinds[other] and None not in (kinds[one], kinds[other]):
            arguments = list(node.args)
            arguments[one], arguments[other] = arguments[other], arguments[one]
            yield ast.unparse(ast.Call(node.func, arguments, []))


def value_in(node: ast.expr, frame: Frame) -> Any:
    """The value of an expression of a frame, or a tensor like it."""
    value = value_of(node, frame.names)
    return deduced(node, frame.names) if value is UNKNOWN else value


def _kind(node: ast.expr, frame: Frame) -> Any:
    value = value_in(node, frame)
    return (value.shape, value.dtype) if isinstance(value, torch.Tensor) else None


def _whole(node: ast.Call, frame: Frame) -> Iterator[str]:
    """The call with the whole of a tensor of which an index took a part; the index comes behind the call."""
    for place, one in enumerate(node.args):
        match one:
            case ast.Subscript(value, index) if isinstance(value_of(value, frame.names), torch.Tensor):
                arguments = [*node.args[:place], value, *node.args[place + 1 :]]
                yield ast.unparse(ast.Subscript(ast.Call(node.func, arguments, []), index))


def padded(scene: Scene) -> Iterator[Repair]:
    """Transposed convolutions that give one element more, all that are alike or one of them."""
    alike: dict[Any, list[tuple[str, nn.Module]]] = defaultdict(list)
    models = [one for frame in scene.frames if frame.mine for one in frame.names.values()]
    held = {id(one): one for one in models if isinstance(one, nn.Module)}
    for path, layer in (pair for one in held.values() for pair in one.named_modules()):
        if isinstance(layer, nn.modules.conv._ConvTransposeNd):
            alike[(type(layer), layer.kernel_size, layer.stride)].append((path, layer))
    for layers in (*alike.values(), *([one] for several in alike.values() for one in several)):
        changed = tuple(Setting(id(layer), (("output_padding", 1),)) for _, layer in layers)
        names = ", ".join(path for path, _ in layers)
        yield Repair(
            f"nn.{type(layers[0][1]).__name__}(…, output_padding=1) of {names}", None, revisions=changed
        )


def emptied(scene: Scene) -> Iterator[Repair]:
    """Lists of an object as long as an operand, emptied where the function that failed empties another of its lists."""
    sizes = {size for one in scene.operands() for size in one.shape[:1]}
    for frame in (one for one in reversed(scene.frames) if one.mine):
        at = resolve(frame.site)
        for statement in ast.walk(function_at(at) or ast.Pass()):
            match statement:
                case ast.Assign([ast.Attribute(owner)], ast.List([])):
                    pass
                case ast.Expr(ast.Call(ast.Attribute(ast.Attribute(owner), "clear"))):
                    pass
                case _:
                    continue
            for name, value in getattr(value_of(owner, frame.names), "__dict__", {}).items():
                if isinstance(value, list) and len(value) in sizes:
                    text = f"{ast.unparse(owner)}.{name}.clear()"
                    edit = Edit.behind(statement, at.filename, text)
                    yield Repair(text, None, revisions=(edit,), where=line_of(scene, edit))
