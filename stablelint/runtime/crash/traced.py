"""Where the operands of what failed got what does not fit: told of a record of the script."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import zip_longest

import torch

from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.general import tried
from stablelint.runtime.crash.provenance.history import History, Past, history, makers
from stablelint.runtime.crash.provenance.statements import END, last_in, located
from stablelint.runtime.crash.repairs.constructors import handed
from stablelint.runtime.crash.repairs.onward import cast_of
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import class_at, expression_at, function_at
from stablelint.runtime.program.frames import parse_file
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import FUNCTIONS
from stablelint.syntax.operations import having

_MOST_STEPS = 3  # that changed a size
_Told = tuple[str, Location]

_CONVERTS = ("from_numpy", "as_tensor")  # operations on numbers that were there before


def with_history(scene: Scene, found: Explanation) -> Explanation:
    """The explanation, and the lines where what does not fit came into its operands."""
    asked = _asked(scene, found)
    past = history(scene) if asked is not None else None
    if asked is None or past is None:
        return found
    known = {found.location or scene.location, *(at for _, at in found.other)}
    told = [one for one in asked(scene, found, past) if one[1] not in known]
    return replace(found, other=(*found.other, *told), operands=tuple(_as_made(scene, found.operands)))


def _as_made(scene: Scene, operands: tuple[Operand, ...]) -> Iterator[Operand]:
    """The operands; those that a layer holds with the call that made it, where another statement is known."""
    calls = makers(scene).get(id(scene.module), ())
    for one in operands:
        known = one.made_at.expression if one.made_at is not None else ""
        is_told = not calls or any(each.expression in known for each in calls)
        yield one if is_told or not one.held else replace(one, made_at=calls[0])


def _asked(
    scene: Scene, found: Explanation
) -> Callable[[Scene, Explanation, History], Iterator[_Told]] | None:
    """What of the operands does not fit."""
    if found.kind == "no-array":
        return _graphs
    if found.kind == "index" or "out of bounds" in scene.message:
        return _numbers
    if found.kind == "dtype" or any(one.kind == "cast" for one in tried(scene)[:1]):
        return _dtypes
    is_meant = any(
        one.kind in ("wider", "subscript", "view") for one in tried(scene)[:1]
    )  # then no size is wrong
    return _sizes if len(found.operands) > 1 and not is_meant else None


def _begun(way: list[Past], what: str) -> Iterator[_Told]:
    """The last of a way that has a place, and where the array is from of which it is made, or the call that led there."""
    last = next((one for one in reversed(way) if one.at is not None), None)
    if last is not None and last.at is not None:
        yield what, last.at
        outer = [at for at in last.callers if last.at.expression not in at.expression][:1]
        calls = [("it is called here", at) for at in outer if not at.expression.startswith("for ")]
        yield from ([*_array((last.at, *last.callers))] if last.operation in _CONVERTS else []) or calls


def _array(places: tuple[Location, ...]) -> Iterator[_Told]:
    """Where the array is from that is made a tensor at the first place: a name, or an attribute of the same class."""
    call = expression_at(places[0])
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    for at, outer in zip_longest(places, places[1:]):
        while isinstance(given, ast.Subscript | ast.Call):
            given = given.value if isinstance(given, ast.Subscript) else given.func
        tree, function = parse_file(at.filename) or ast.Module([], []), function_at(at)
        name = given.attr if isinstance(given, ast.Attribute) else getattr(given, "id", "")
        whole = class_at(at) if isinstance(given, ast.Attribute) else None
        scopes = (
            [function or tree]
            if whole is None
            else [one for one in ast.walk(whole) if isinstance(one, FUNCTIONS)]
        )
        before = at.row if whole is None else END
        if made := next(filter(None, (last_in(one, name, before) for one in scopes)), None):
            yield f"the array {name} comes from here", located(made, at.filename)
            return
        if not isinstance(function, ast.FunctionDef) or outer is None:
            return
        given = handed(function, expression_at(outer)).get(name)


def _graphs(scene: Scene, found: Explanation, past: History) -> Iterator[_Told]:
    for one in found.operands:
        yield from _begun(
            past.way(one.name, lambda each: each.has_graph), f"the graph of {one.name} begins here"
        )


def _dtypes(scene: Scene, found: Explanation, past: History) -> Iterator[_Told]:
    casts = [cast for one in tried(scene)[:1] if (cast := cast_of(one)) is not None]
    guilty = {cast[0] for cast in casts if cast[1] == torch.int64}  # an index, which others need not fit
    usual = {"float32"} & {one.dtype for one in found.operands} or {
        one.dtype for one in found.operands if one.held
    }
    odd = (one for one in found.operands if one.dtype not in usual and not one.held)
    for one in [one for one in found.operands if one.name in guilty] or odd:
        way = past.way(one.name, partial(_is_of, one.dtype))
        made = bool(way) and way[-1].operation in _CONVERTS
        yield from _begun(
            way, f"{one.name} is {one.dtype} {'where it is made a tensor' if made else 'from here on'}"
        )


def _is_of(dtype: str, past: Past) -> bool:
    return past.dtype == dtype


def _numbers(scene: Scene, found: Explanation, past: History) -> Iterator[_Told]:
    """Where whole numbers beyond the entries of another operand were first."""
    for one in found.operands:
        counts = {size for other in found.operands if other is not one for size in other.shape}
        ways = (past.way(one.name, partial(_reaches, count)) for count in sorted(counts, reverse=True))
        way = next((way for way in ways if way), [])
        shown = one.made_at if one.source is not None else None  # with what stands behind it
        blank = having("blank")  # what has its numbers from a later place
        for last in (each for each in way[-1:] if each.at != shown and each.operation not in blank):
            before = [
                each.range for each in map(past.pasts.__getitem__, last.given) if each.range is not None
            ]
            of = f", of {before[0][0]} … {before[0][1]}" if before and last.operation != "__setitem__" else ""
            high, all_high = last.range[1] if last.range else None, last.largest
            more = f", another {all_high}" if all_high not in (None, high) else ""
            first = "where it is made a tensor" if last.operation in _CONVERTS else "here first"
            yield from _begun(way, f"{one.name} reaches {high} {first}{more}{of}")


def _reaches(count: int, past: Past) -> bool:
    return past.range is not None and past.range[1] >= count


def _sizes(scene: Scene, found: Explanation, past: History) -> Iterator[_Told]:
    """The operations that made a size of an operand of one that another operand has, or of any other."""
    told = list[tuple[bool, list[_Told]]]()
    for one in found.operands:
        others = {size for other in found.operands if other is not one for size in other.shape}
        for size in dict.fromkeys(size for size in one.shape if size not in others and not one.held):
            told.append(_changes(past, one, size, others))
    parted = [steps for reached, steps in told if reached]
    for steps in parted or [steps for _, steps in told]:
        yield from steps


def _changes(past: History, operand: Operand, size: int, wanted: set[int]) -> tuple[bool, list[_Told]]:
    """Whether an operand had a wanted size in place of its own, and the last operations that changed that.

    Of the data that it is a batch of none are told where no wanted size was lost.
    """
    place, told, bears = past.operands.get(operand.name), list[_Told](), False
    while place is not None and len(told) < _MOST_STEPS and size not in wanted:
        way = past.way_from(place, partial(_has, size))
        last = way[-1] if way else None
        parts = [past.pasts[one] for one in last.given] if last is not None else []
        alike = [one for one in parts if last is not None and len(one.shape) == len(last.shape)]
        if last is None or last.at is None or not parts:
            break
        axis = last.shape.index(size)
        before = next((one for one in alike if one.shape[axis] in wanted), parts[0])
        same_rank = before in alike
        if same_rank or math.prod(before.shape) == math.prod(last.shape):
            is_it = last.shape[:1] == operand.shape[:1]  # and not the data that it is a batch of
            bears = bears or is_it or not wanted.isdisjoint({*before.shape} - {*last.shape})
            name = operand.name if last.shape == operand.shape else f"before {operand.name}"
            what = "before that:" if told else f"{name}:" if is_it else f"{operand.name} is taken from"
            given = alike if last.operation in having("join") else [_before_layers(past, before, last)]
            told.append((f"{what} {last.shape} of {' and '.join(str(one.shape) for one in given)}", last.at))
        if not same_rank:
            break
        place, size = last.given[parts.index(before)], before.shape[axis]
    return size in wanted, told if bears else []


def _before_layers(past: History, before: Past, last: Past) -> Past:
    """What the expression of an operation was given, where that has several layers make it: `self.net(x)`."""
    while before.at == last.at:
        parts = [past.pasts[one] for one in before.given]
        alike = [one for one in parts if len(one.shape) == len(before.shape)]
        if not alike:
            break
        before = alike[0]
    return before


def _has(size: int, past: Past) -> bool:
    return size in past.shape
