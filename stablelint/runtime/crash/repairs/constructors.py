"""Other settings of layers as changes of the calls that made them: in place, or where the calls got their arguments."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

from torch import nn

from stablelint.runtime.crash.deduced import deduced
from stablelint.runtime.crash.expression import UNKNOWN, called_so, entries, given_by_name, value_of
from stablelint.runtime.crash.layers import outermost
from stablelint.runtime.crash.provenance.anew import Places, modules_of
from stablelint.runtime.crash.provenance.history import history, makers
from stablelint.runtime.crash.provenance.scopes import Scope, of_argument
from stablelint.runtime.crash.provenance.statements import assignment, default_in, path_in
from stablelint.runtime.crash.repairs.edits import Edit, Setting
from stablelint.runtime.crash.repairs.remade import settings_of
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import class_at, expression_at, function_at
from stablelint.runtime.program.frames import resolve
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.measure import tensors_in
from stablelint.syntax.names import names_in

FACTORS = (2, 3, 4)
_MOST = 16  # operations before an operand
_Change = tuple[ast.expr | None, Any, Any]  # an argument as it is written, its value, and what that is to be
_Named = tuple[str, Any, Any]  # an argument by its name, its value, and what that is to be
_Told = tuple[str, Edit]  # how an edit is told, which may be a part of a call


def constructed(scene: Scene, found: Repair) -> Iterator[Repair]:
    """The same repair in the script, if it changes settings of layers: each way to write it, the nearest first."""
    settings = [one for one in found.revisions if isinstance(one, Setting)]
    layers = {id(one): one for _, one in modules_of(scene.frames)}
    if (
        not settings
        or len(settings) != len(found.revisions)
        or not {one.layer for one in settings} <= {*layers}
    ):
        return
    ways = [[*_ways(scene, layers[one.layer], one)] for one in settings]
    for edits in zip(*ways, strict=False):
        each = dict(pair[::-1] for pair in edits)
        told = " and ".join(text + line_of(scene, one) for one, text in each.items())
        yield replace(found, text=told, revisions=(*each,), where="")
    for one in settings if len(settings) == 1 else ():
        for told, all_of_it in _everywhere(scene, layers[one.layer], one):
            yield replace(found, text=told, revisions=all_of_it, where="")


def line_of(scene: Scene, one: Edit) -> str:
    """Where an edit is made, as it is told: the line, and the file if the failed call went through others."""
    files = {frame.site.code.co_filename for frame in scene.of_script if frame.mine}
    elsewhere = f" of {Path(one.filename).name}" if files != {one.filename} else ""
    if one.kind == "behind":
        return f" after line {one.span[2] or one.span[0]}{elsewhere}"
    return f" in line {one.span[0]}{elsewhere}"


def _ways(scene: Scene, layer: nn.Module, setting: Setting) -> Iterator[_Told]:
    """The edits with which a layer is made so: of the call itself, then of the calls around it."""
    places = makers(scene).get(id(layer), ())
    call = expression_at(places[0]) if places else None
    if not isinstance(call, ast.Call):
        return
    before, given = settings_of(layer), given_by_name(call, {}, type(layer))
    for name, value in setting.changed if len(setting.changed) == 1 else ():
        yield from _solved(scene, name, layer, places, value)
        yield from _settled_otherwise(scene, [(given.get(name), before.get(name), value)])
    taken = [one.arg for one in ast.walk(function_at(places[0]) or ast.Pass()) if isinstance(one, ast.arg)]
    for names in (taken, []) if any(name in taken for name, _ in setting.changed) else ([],):
        anew = copy.deepcopy(call)
        for name, value in setting.changed:
            plain = written(given.get(name), before.get(name), value)
            handed_on = ast.Name(name) if name in names and name not in given else plain
            give(anew, given_by_name(anew, {}, type(layer)), name, handed_on)
        yield ast.unparse(anew), Edit.of(call, places[0].filename, ast.unparse(anew))
    for name, value in setting.changed if len(setting.changed) == 1 else ():
        yield from around(scene, [(given.get(name), before.get(name), value)], places)


def _solved(scene: Scene, setting: str, layer: nn.Module, places: Places, value: Any) -> Iterator[_Told]:
    """Edits of a number in an expression, or of what a name there was given by a call around: to a size of the data."""
    call, scope = scene.origins.maker(layer) or (None, None)
    node = given_by_name(call, {}, type(layer)).get(setting) if isinstance(call, ast.Call) else None
    data = outermost(scene)
    if not isinstance(node, ast.BinOp) or not isinstance(call, ast.Call) or scope is None or data is None:
        return
    whole, sizes = _expanded(node, scope), _sizes_on_the_way(scene)
    known = ((one, of_argument(one, scope)) for one in sorted(names_in(whole)))
    given = {name: one for name, one in known if one is not UNKNOWN}
    names = {**scope.names, **given}
    of_data = {size for one in tensors_in(data[1:]) for size in one.shape}  # these are told rightly
    for name, size in product((one for one in given if given[one] not in of_data), sizes):
        if given[name] != size and deduced(whole, {**names, name: size}) == value:
            yield from around(scene, [(ast.Name(name), given[name], size)], places)
    for *_, text in _renumbered(node, scope, names, sizes, value):
        anew = ast.unparse(call).replace(ast.unparse(node), text)
        yield anew, Edit.of(call, scope.code.co_filename, anew)

    for name in names_in(node):
        made = assignment(scope.code, name, scope.before)
        inner = made.value if isinstance(made, ast.Assign) and isinstance(made.targets[0], ast.Name) else None
        for number in sorted({*re.findall(r"\b\d+\b", ast.unparse(inner))}) if inner is not None else ():
            for size in (*(int(number) * one for one in FACTORS), *sizes):
                text = re.sub(rf"\b{number}\b", str(size), ast.unparse(inner or node))
                there = deduced(ast.parse(text, mode="eval").body, names)
                if inner is not None and deduced(node, {**names, name: there}) == value:
                    yield f"{name} = {text}", Edit.of(inner, scope.code.co_filename, text)


def _sizes_on_the_way(scene: Scene) -> dict[int, None]:
    """The sizes of what the outermost module was given, and of what the operands of what failed were made of."""
    past, shown = history(scene), scene.operands()
    ways = (past.way(one.name, lambda _: True)[:_MOST] for one in shown if past is not None)
    data = (outermost(scene) or (None,))[1:]
    shapes = [tuple(one.shape) for one in tensors_in(data)] + [one.shape for one in chain(*ways)]
    return dict.fromkeys(size for shape in shapes for size in shape[::-1] if size > 1)


def _renumbered(
    node: ast.expr, scope: Scope, names: dict[str, Any], sizes: Iterable[int], value: Any
) -> Iterator[tuple[str, int, str]]:
    """A number of an expression, another size in its place, and the expression with that, whose value is as wanted."""
    for number, size in product(sorted({*re.findall(r"\b\d+\b", ast.unparse(node))}), sizes):
        for text in _replaced(ast.unparse(node), number, str(size)) if number != str(size) else ():
            if deduced(_expanded(ast.parse(text, mode="eval").body, scope), names) == value:
                yield number, size, text


def _everywhere(scene: Scene, layer: nn.Module, setting: Setting) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """A number in the expression of a setting as another one wherever its class writes it."""
    (name, value), *more = setting.changed
    call, scope = scene.origins.maker(layer) or (None, None)
    node = given_by_name(call, {}, type(layer)).get(name) if isinstance(call, ast.Call) else None
    if not isinstance(node, ast.BinOp) or scope is None or more:
        return
    ways = _renumbered(node, scope, scope.names, _sizes_on_the_way(scene), value)
    inner = [one for one in ast.walk(class_at(scope.at(node)) or node) if isinstance(one, ast.Constant)]
    for number, size in dict.fromkeys((one, other) for one, other, _ in ways):
        same = [one for one in inner if repr(one.value) == number]
        edits = [Edit.of(one, scope.code.co_filename, str(size)) for one in same]
        rows = ", ".join(map(str, sorted({one.lineno for one in same})))
        of_file = "".join(line_of(scene, edits[0]).partition(" of ")[1:])
        if len(edits) > 1:
            yield f"{size} in place of {number} in lines {rows}{of_file}", (*edits,)


def _replaced(text: str, number: str, size: str) -> Iterator[str]:
    """An expression with one of its equal numbers replaced, the last first, and then with all of them."""
    found = [one.span() for one in re.finditer(rf"\b{number}\b", text)]
    if len(found) > 1:
        yield from (text[:start] + size + text[end:] for start, end in reversed(found))
    yield re.sub(rf"\b{number}\b", size, text)


def _expanded(node: ast.expr, scope: Scope) -> ast.expr:
    """An expression with what its function computed in place of the names of that."""
    text = ast.unparse(node)
    for name in names_in(node):
        made = assignment(scope.code, name, scope.before)
        path = path_in(made.targets[0], name) if isinstance(made, ast.Assign) else None
        if isinstance(made, ast.Assign) and path is not None:
            value = f"({ast.unparse(made.value)})" + "".join(f"[{one!r}]" for one in path)
            text = re.sub(rf"\b{name}\b", value.replace("\\", r"\\"), text)
    return ast.parse(text, mode="eval").body


def handed(function: ast.FunctionDef, call: ast.expr | None) -> dict[str, ast.expr]:
    """What a call gives a function for its parameters, by name."""
    if not isinstance(call, ast.Call) or any(isinstance(one, ast.Starred) for one in call.args):
        return {}
    taken = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    taken = taken[1:] if taken[:1] == ["self"] else taken
    named = {one.arg: one.value for one in call.keywords if one.arg}
    return dict(zip(taken, call.args, strict=False)) | named


def names_at(scene: Scene, places: Places) -> dict[str, Any]:
    """The names around the call at the first place, as far as a frame, or what led there, tells their values."""
    function = function_at(places[0])
    for frame in (one for one in reversed(scene.frames) if one.mine):
        if function_at(resolve(frame.site)) is function and frame.site.code.co_filename == places[0].filename:
            return frame.names
    names, outer = (
        dict(scene.globals_of(places[0].filename)),
        expression_at(places[1]) if places[1:] else None,
    )
    if isinstance(function, ast.FunctionDef) and isinstance(outer, ast.Call):
        around = names_at(scene, places[1:])
        taken = {one.arg: default_in(function, one.arg) for one in function.args.args}
        given = {**taken, **handed(function, outer)}
        names |= {name: value_of(one, around) for name, one in given.items() if one is not None}
        for one in (value_of(each.value, around) for each in outer.keywords if each.arg is None):
            names |= entries(one)
        for made in (
            one for one in function.body if isinstance(one, ast.Assign) and one.lineno < places[0].row
        ):
            names |= {
                one.id: value_of(made.value, names) for one in made.targets if isinstance(one, ast.Name)
            }
    return {name: one for name, one in names.items() if one is not UNKNOWN}


def settled(scene: Scene, name: str, value: object) -> list[tuple[ast.expr, Location]]:
    """The one number of the program that a setting is given."""
    found = [(one, at) for key, one, at in settings(scene) if key == name and one.value == value]
    return [*found] if len(found) == 1 else []


def settings(scene: Scene) -> Iterator[tuple[object, ast.Constant, Location]]:
    """The numbers that are written with a name: of a dictionary, a field, an option, a call or a name."""
    for node, filename in scene.nodes():
        pairs: list[tuple[object, ast.expr | None]] = []
        match node:
            case ast.Dict(keys, values):
                pairs = [(getattr(key, "value", None), one) for key, one in zip(keys, values, strict=True)]
            case ast.keyword(name_of, given):
                pairs = [(name_of, given)]
            case ast.Assign([ast.Name(target)], given) | ast.AnnAssign(ast.Name(target), value=given):
                pairs = [(target, given)]
            case ast.Call(ast.Attribute(attr="add_argument"), [*_, ast.Constant(str() as option)], named):
                default = (one.value for one in named if one.arg == "default")
                pairs = [(option.strip("-").replace("-", "_"), one) for one in default]
        for key, one in pairs:
            if isinstance(one, ast.Constant):
                yield key, one, Location.of(node if isinstance(node, ast.stmt | ast.Call) else one, filename)


def _settled_otherwise(scene: Scene, changes: list[_Change]) -> Iterator[_Told]:
    """The one argument that is to be another where a setting of its name is written out."""
    for one, before, value in changes if len(changes) == 1 else ():
        names = (
            re.findall(r"\w+", ast.unparse(one))
            if isinstance(one, ast.Name | ast.Attribute | ast.Subscript)
            else []
        )
        for node, at in settled(scene, names[-1], before) if names else ():
            yield f"{names[-1]} = {value!r}", Edit.of(node, at.filename, repr(value))


def with_others(
    call: ast.Call,
    taken: Callable[[ast.Call], dict[str, ast.expr]],
    changes: list[_Named],
    names: dict[str, Any],
) -> Iterator[ast.Call]:
    """A call with other values for its arguments: as they are called there, and as numbers."""
    given = taken(call)
    there = [next(called_so(name, value, names, names_in(call)), None) for name, _, value in changes]
    plain = [written(given.get(name, ast.Constant(before)), before, value) for name, before, value in changes]
    for values in (there, plain) if any(there) else (plain,):
        anew = copy.deepcopy(call)
        for (name, *_), one, number in zip(changes, values, plain, strict=True):
            give(anew, taken(anew), name, one or number)
        yield anew


def around(scene: Scene, changes: list[_Change], places: Places) -> Iterator[_Told]:
    """Edits of what the function around a call was given for arguments of that call, and so on outwards."""
    yield from _settled_otherwise(scene, changes)
    function, outer = function_at(places[0]), expression_at(places[1]) if len(places) > 1 else None
    names = [(one.id, *rest) for one, *rest in changes if isinstance(one, ast.Name)]
    if not isinstance(function, ast.FunctionDef) or not names or len(names) < len(changes):
        return
    given, defaults = handed(function, outer), {name: default_in(function, name) for name, *_ in names}
    if isinstance(outer, ast.Call) and all(name in given or defaults[name] is not None for name in defaults):
        for anew in with_others(outer, partial(handed, function), names, names_at(scene, places[1:])):
            yield ast.unparse(anew), Edit.of(outer, places[1].filename, ast.unparse(anew))
    if {*defaults} <= {*given}:
        yield from around(scene, [(given[name], *rest) for name, *rest in names], places[1:])
    for name, _, value in names if len(names) == 1 else ():
        if name not in given and (default := defaults[name]) is not None:
            yield f"{name}={value!r}", Edit.of(default, places[0].filename, repr(value))


def give(call: ast.Call, given: dict[str, ast.expr], name: str, value: ast.expr) -> None:
    """Give a call another value for an argument."""
    old = given.get(name)
    for place, one in enumerate(call.args):
        if one is old:
            call.args[place] = value
            return
    kept = [one for one in call.keywords if one.arg != name]
    place = next((i for i, one in enumerate(call.keywords) if one.arg == name), len(kept))
    call.keywords = [*kept[:place], ast.keyword(name, value), *kept[place:]]


def written(node: ast.expr | None, before: Any, value: Any) -> ast.expr:
    """A value as it is written in place of an expression whose value was another one."""
    text = repr(value)
    if node is not None and not isinstance(node, ast.Constant) and type(before) is type(value) is int:
        inner = f"({ast.unparse(node)})" if isinstance(node, ast.BinOp) else ast.unparse(node)
        if value - before in (1, 2, 3):
            text = plus(node, value - before)
        elif value == before - 1:
            text = f"{ast.unparse(node)} - 1"
        elif any(value == one * before for one in FACTORS):
            text = f"{value // before} * {inner}"
        elif any(before == one * value for one in FACTORS):
            text = f"{inner} // {before // value}"
    return ast.parse(text, mode="eval").body


def plus(node: ast.expr, more: int) -> str:
    """An expression and a number more."""
    match node:
        case ast.BinOp(left, ast.Add(), ast.Constant(int() as number)):
            return f"{ast.unparse(left)} + {number + more}"
    return f"{ast.unparse(node)} + {more}"
