"""Changes further out or before: arguments in wrong places, samples and masks as they go on, lists."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from inspect import ismodule
from itertools import combinations, pairwise, permutations, product
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.deduced import deduced, is_known
from stablelint.runtime.crash.explanation import Operand
from stablelint.runtime.crash.expression import UNKNOWN, given_by_name, node_at, operands, value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.provenance.history import History, Past, history
from stablelint.runtime.crash.provenance.statements import inside, last_in, value_for
from stablelint.runtime.crash.repairs.constructors import line_of
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.failing import Call, called
from stablelint.runtime.crash.repairs.onward import as_of, as_written
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import expression_at, function_at
from stablelint.runtime.program.frames import parse_file, resolve
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import FUNCTIONS
from stablelint.syntax.names import base_name
from stablelint.syntax.operations import canonical, having

_INSTEAD = {"reverse": "{}[::-1]", "sort": "sorted({})"}  # a new list
_CHANGES = (*_INSTEAD, "insert", "append", "extend", "pop", "remove")


def changed_in_place(frames: list[Frame]) -> Iterator[tuple[Repair, Location]]:
    """A list of its own in place of one that a function was given and changes, and where it does."""
    for filename in dict.fromkeys(one.site.code.co_filename for one in frames if one.mine):
        tree = parse_file(filename) or ast.Module([], [])
        for function in (one for one in ast.walk(tree) if isinstance(one, FUNCTIONS)):
            taken = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
            for node in inside(function):
                match node:
                    case ast.Expr(ast.Call(ast.Attribute(owner, name))) if name in _CHANGES:
                        made = last_in(function, base_name(owner), node.lineno)
                        value = value_for(made, base_name(owner)) if made is not None else None
                        place = Location.of(node, filename)
                        if (
                            isinstance(value, ast.Name | ast.Attribute | ast.Subscript)
                            and base_name(value) in taken
                        ):
                            text, where = f"list({ast.unparse(value)})", f" in line {value.lineno}"
                            yield (
                                Repair(text, None, revisions=(Edit.of(value, filename, text),), where=where),
                                place,
                            )
                        elif made is None and base_name(owner) in taken and name in _INSTEAD:
                            text = ast.unparse(owner)
                            yield Repair(f"{text} = {_INSTEAD[name].format(text)} in its place", None), place


_MOST = 16  # operations before an operand
_IGNORED = -100  # the label of which losses of torch ask nothing
Reason = tuple[tuple[str, ...], tuple[tuple[str, Location], ...]]


def regrouped(scene: Scene) -> Iterator[tuple[Repair, Reason]]:
    """Calls that keep the samples, in place of those that do not, and what these do."""
    past = history(scene)
    for name in past.operands if past is not None else ():
        way = past.way(name, lambda _: True)[:_MOST] if past is not None else []
        for one, before in pairwise(way):
            node = expression_at(one.at) if one.at is not None and one.shape[:1] != before.shape[:1] else None
            if node is None or one.at is None:
                continue
            for anew in _keeping(one.operation, node, scene.globals_of(one.at.filename)):
                text, edit = ast.unparse(anew), Edit.of(node, one.at.filename, ast.unparse(anew))
                because = f"`{one.at.expression}` makes {one.shape} of {before.shape}"
                reason = (because,), (("the samples' dimension is lost here", one.at),)
                yield Repair(text, None, "view", revisions=(edit,), where=line_of(scene, edit)), reason


def _keeping(operation: str, node: ast.expr, names: dict[str, Any]) -> Iterator[ast.Call]:
    """Calls like one, which keep the first dimension."""
    match operation, node:
        case "squeeze", ast.Call(ast.Attribute(owner), []):
            yield ast.Call(ast.Attribute(owner, "squeeze"), [ast.Constant(-1)], [])
        case "view" | "reshape" | "flatten", ast.Call(ast.Attribute(owner)):
            yield ast.Call(ast.Attribute(owner, "flatten"), [ast.Constant(1)], [])
        case _, ast.Call(ast.Attribute(owner) as function, given, named):
            known = canonical(operation)
            taken = known.parameters if known is not None else ()
            place = taken.index("dim") - (not ismodule(value_of(owner, names))) if "dim" in taken else 0
            kept = [one for one in named if one.arg != "dim"]
            for dim in (1, -1) if "dim" in taken else ():
                yield ast.Call(function, given[:place], [*kept, ast.keyword("dim", ast.Constant(dim))])


def extended(scene: Scene) -> Iterator[tuple[Repair, Reason]]:
    """Operands padded where another one was joined, and that join."""
    past, call, user = history(scene), called(scene), scene.user
    if past is None or call is None:
        return
    written = operands(scene.node, user.names, deduced)
    shown = [scene.operand(tensor, name, user) for name, tensor in written]
    for long, short in ((one, other) for one in shown for other in shown if one is not other):
        value = _of_what_is_new(call, short)
        for join in past.way(long.name, lambda _: True)[:_MOST] if value is not None else ():
            for padding in _paddings(past, join, long, short):
                template = f"F.pad({{}}, {padding}{f', value={value}' if value else ''})"
                parts = " and ".join(str(past.pasts[one].shape) for one in join.given)
                told = f"{long.name}: {join.shape} of {parts}, and {short.name} stays as it was"
                reason = (), ((told, join.at),) if join.at is not None else ()
                yield from ((one, reason) for one in as_written(scene, short, template, "size"))


def cut_alike(scene: Scene) -> Iterator[tuple[Repair, Reason]]:
    """Operands cut where another one is of a part of what they are made of: to the other end, then to the same."""
    past, user = history(scene), scene.user
    if past is None:
        return
    parts = [one for one in ast.walk(scene.node or ast.Pass()) if isinstance(one, ast.expr)]
    for name, other in permutations(past.operands, 2):
        way = past.way(other, lambda _: True)[:_MOST]
        for cut in (one for one in past.behind(past.operands[name]) if one.operation == "__getitem__"):
            whole = past.pasts[cut.given[0]]
            node = expression_at(cut.at) if cut.at is not None and any(one is whole for one in way) else None
            if cut.at is None or not isinstance(node, ast.Subscript):
                continue
            told = f"{name} is made of a part of what {other} is made of", cut.at
            for index, one in product(_ends(node), parts):
                value = value_of(one, user.names)
                if isinstance(value, torch.Tensor) and tuple(value.shape) == whole.shape:
                    cutting = ast.unparse(ast.Subscript(ast.Name("{}"), index))
                    yield as_of(scene, cutting, one, user.site.code.co_filename), ((), (told,))


def _ends(node: ast.Subscript) -> Iterator[ast.expr]:
    """An index that leaves out some at an end, of which the other end is left out; and then the same."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for place, one in enumerate(parts):
        match one:
            case ast.Slice(None, ast.UnaryOp(ast.USub(), ast.Constant(int() as count)), None):
                turned = ast.Slice(ast.Constant(count))
            case ast.Slice(ast.Constant(int() as count), None, None) if count > 0:
                turned = ast.Slice(None, ast.UnaryOp(ast.USub(), ast.Constant(count)))
            case _:
                continue
        yield ast.Tuple([*parts[:place], turned, *parts[place + 1 :]]) if len(parts) > 1 else turned
    yield node.slice


def _paddings(past: History, join: Past, long: Operand, short: Operand) -> Iterator[tuple[int, ...]]:
    """How an operand is padded as another was joined."""
    parts = [past.pasts[one].shape for one in join.given] if join.operation in having("join") else []
    for axis, whole in enumerate(join.shape):
        sizes = [one[axis] for one in parts if len(one) == len(join.shape)]
        if sum(sizes) != whole or whole not in long.shape or whole in short.shape:
            continue
        for part, size in enumerate(sizes):
            for place in (place for place, one in enumerate(short.shape) if one == size):
                behind = (0, 0) * (len(short.shape) - 1 - place)
                yield *behind, sum(sizes[:part]), sum(sizes[part + 1 :])


def _of_what_is_new(call: Call, operand: Operand) -> int | None:
    """What an operand says of places that are not masked, or have no label; None where it says more of them."""
    name = getattr(call.function, "__name__", "")
    if call.is_loss:
        return _IGNORED if operand.dtype == "int64" else None
    hides = isinstance(call.function, nn.Module) or "fill" in name
    return (0 if hides else 1) if operand.dtype == "bool" else None


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
