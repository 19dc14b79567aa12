"""Other settings of what was made before the call that failed: of layers, and of calls that made its operands."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import chain, islice, permutations
from time import thread_time
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.explanation import Operand
from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.crash.layers import again, ends_well, outermost
from stablelint.runtime.crash.provenance.anew import modules_of
from stablelint.runtime.crash.provenance.history import Past, history, makers
from stablelint.runtime.crash.repairs.constructors import FACTORS, constructed, line_of, written
from stablelint.runtime.crash.repairs.edits import Edit, Setting
from stablelint.runtime.crash.repairs.onward import Onward, by_edit
from stablelint.runtime.crash.repairs.rebuilt import resized
from stablelint.runtime.crash.repairs.remade import alternatives, remade, settings_of, sizes_of
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import expression_at, function_at
from stablelint.runtime.program.frames import is_library
from stablelint.syntax.operations import having

_SECONDS = 4.0  # after which no further layer is tried
_MOST = 12  # operations before an operand
_MOST_TRIED = 8  # by running the script
_Changes = Callable[[nn.Module], Iterable[dict[str, Any]]]


def refitted(scene: Scene, factor: Fraction | None = None, layer: nn.Module | None = None) -> list[Repair]:
    """The nearest call of a function, or layer, with other settings of which the program goes on to its end.

    `factor`: of a layer that is to give so many times what it gave. `layer`: it alone.
    """
    changes: _Changes | None = functools.partial(_times, factor) if factor is not None else None
    onward, calls = Onward(scene, lambda _: []), _recalled(scene) if layer is None else ()
    layers = _relayered(scene, onward, changes, layer)
    sources = islice(calls, _MOST_TRIED), islice(layers, _MOST_TRIED)
    tables = islice(_tabled(scene), _MOST_TRIED) if layer is None else ()
    for one in chain(tables, *(sources if outermost(scene) is None else sources[::-1])):
        if found := onward.through(constructed(scene, one)) or onward.through([one]):
            return found[:1]
    outside = (each for one in _outside(scene) for each in constructed(scene, one))
    return next((found for one in outside if (found := onward.through([one]))), [])


def widened(scene: Scene, failed: Setting) -> list[Repair]:
    """A layer before the failing one that gives some times what it gave, if this is given a part of what it takes."""
    layer = next((one for _, one in modules_of(scene.frames) if id(one) == failed.layer), nn.Identity())
    (name, after), *_ = failed.changed
    before, onward = settings_of(layer).get(name), Onward(scene, lambda _: [])
    if not isinstance(before, int) or before % after or before // after not in FACTORS:
        return []
    part = Fraction(before, after)
    changes = _relayered(scene, onward, lambda one: _times(part, one, before) if one is not layer else ())
    return [one for each in changes for one in onward.through((*constructed(scene, each), each))[:1]][:1]


def _times(factor: Fraction, layer: nn.Module, only: int | None = None) -> Iterator[dict[str, Any]]:
    """A layer with a size so many times as large, of any that it has or of one."""
    for name, one in sizes_of(layer).items():
        if type(one) is int and only in (None, one) and (one * factor).denominator == 1 != factor:
            yield {name: int(one * factor)}


def _relayered(
    scene: Scene, onward: Onward, changes: _Changes | None = None, only: nn.Module | None = None
) -> Iterator[Repair]:
    """Layers with another setting, all that one call made, with which the pass, or else the step, ends well."""
    until, inner, made = thread_time() + _SECONDS, outermost(scene), again(scene)
    fails_inside = made is not None and made.error is not None
    if fails_inside is not (inner is not None):
        return  # the pass goes well again
    layers = [one for _, one in modules_of(scene.frames)][::-1]
    if inner is not None and made is not None:
        layers = [inner[0].get_submodule(path) for path, *_ in made.called[::-1]]
    wanted = {size: None for one in scene.operands() for size in one.shape[::-1]}
    for layer in {id(one): one for one in layers if only in (None, one)}.values():
        alike = _alike(scene, layer, [*inner[0].modules()] if inner is not None else layers)
        for changed in changes(layer) if changes is not None else alternatives(layer, wanted):
            settings = tuple(Setting(id(one), tuple(changed.items())) for one in alike)
            if thread_time() > until:
                return
            if _fits(scene, changed, alike) if inner is not None else onward.ends_the_step(settings):
                (name, value), *_ = changed.items()
                text = f"nn.{type(layer).__name__}(…, {name}={value})"
                yield Repair(text, None, "setting", revisions=settings, where=_path(inner, layer))


def _tabled(scene: Scene) -> Iterator[Repair]:
    """Modules made so that a parameter or a buffer of theirs, or what is cut out of it, fits another operand."""
    shown, names = scene.operands(), scene.user.names
    for one, other in permutations(shown, 2):
        node = one.written.value if isinstance(one.written, ast.Subscript) else one.written
        owner = value_of(node.value, names) if isinstance(node, ast.Attribute) else None
        if isinstance(owner, nn.Module) and isinstance(node, ast.Attribute):
            table = value_of(node, names)
            whole = tuple(table.shape) if isinstance(table, torch.Tensor) else ()
            for own, wanted in zip(one.shape[::-1], other.shape[::-1], strict=False):
                if own in whole and 1 not in (own, wanted) and own != wanted:
                    yield from resized(
                        scene, owner, node.attr, tuple(wanted if size == own else size for size in whole)
                    )


def _outside(scene: Scene) -> Iterator[Repair]:
    """Layers before the model that failed, with a size of its weights in place of one that it was given."""
    inner, shown = outermost(scene), scene.operands()
    inside = {id(one) for one in inner[0].modules()} if inner is not None else set[int]()
    given = {size for one in shown if not one.held for size in one.shape[1:]}
    wanted = dict.fromkeys(size for one in shown if one.held for size in one.shape[::-1])
    for layer in (one for _, one in modules_of(scene.frames) if inside and id(one) not in inside):
        for name, size in sizes_of(layer).items():
            for other in wanted if size in given else ():
                yield Repair("", None, "setting", revisions=(Setting(id(layer), ((name, other),)),))


def _path(inner: tuple[nn.Module, Any, Any] | None, layer: nn.Module) -> str:
    paths = [path for path, one in inner[0].named_modules() if one is layer] if inner is not None else []
    return f" of {paths[0]}" if paths else ""


def _fits(scene: Scene, changed: dict[str, Any], alike: list[nn.Module]) -> bool:
    """Whether the pass that failed ends well with some layers made otherwise."""
    model = (outermost(scene) or (nn.Identity(),))[0]
    found = {
        path: remade(one, changed)
        for path, one in model.named_modules()
        if any(one is each for each in alike)
    }
    others = {path: one for path, one in found.items() if one is not None}
    return len(others) == len(found) and ends_well(again(scene, others))


def _alike(scene: Scene, layer: nn.Module, layers: list[nn.Module]) -> list[nn.Module]:
    """The layers that the call made which made a layer."""
    places = makers(scene)
    own = places.get(id(layer), ())[:1]
    return [one for one in layers if one is layer or (own and places.get(id(one), ())[:1] == own)]


def _recalled(scene: Scene) -> Iterator[Repair]:
    """Calls that made an operand with a switch turned, or with another size where one does not fit."""
    past = history(scene)
    operands, tried, failed = {one.name: one for one in scene.operands()}, set[Edit](), scene.node
    for anew in _switched(failed, scene.user.names) if isinstance(failed, ast.Call) else ():
        yield by_edit(scene, Edit.of(failed or anew, scene.location.filename, ast.unparse(anew)))
    for name in past.operands if past is not None else ():
        others = [one for one in operands.values() if one.name != name]
        for one in past.way(name, lambda _: True)[:_MOST] if past is not None else ():
            node = expression_at(one.at) if one.at is not None else None
            if not isinstance(node, ast.Call) or one.at is None or past is None:
                continue
            reshapes = any(past.pasts[each].shape != one.shape for each in one.given)
            switched = _switched(node, scene.globals_of(one.at.filename)) if reshapes else ()
            near = others if function_at(one.at) is function_at(scene.location) else []
            named = {each.name for each in near if each.written is not None}
            for anew in (*switched, *_joined(node, one), *_sized(node, one, others, named)):
                edit = Edit.of(node, one.at.filename, ast.unparse(anew))
                if edit not in tried:
                    yield Repair(edit.text, None, "call", revisions=(edit,), where=line_of(scene, edit))
                tried.add(edit)


def _switched(node: ast.Call, names: dict[str, Any]) -> Iterator[ast.Call]:
    """A call of a function of Python that is no part of the program, with one of its switches turned."""
    called = value_of(node.func, names)
    taken = inspect.signature(called).parameters.values() if inspect.isfunction(called) else ()
    for one in taken if inspect.isfunction(called) and is_library(called.__code__.co_filename) else ():
        if isinstance(one.default, bool):
            given = next((each.value for each in node.keywords if each.arg == one.name), None)
            value = given.value if isinstance(given, ast.Constant) else one.default
            kept = [each for each in node.keywords if each.arg != one.name]
            yield ast.Call(node.func, node.args, [*kept, ast.keyword(one.name, ast.Constant(not value))])


def _joined(node: ast.Call, past: Past) -> Iterator[ast.Call]:
    """A call that joins tensors along another dimension."""
    kept = [one for one in node.keywords if one.arg != "dim"]
    for dim in range(len(past.shape)) if past.operation in having("join") else ():
        yield ast.Call(node.func, node.args[:1], [*kept, ast.keyword("dim", ast.Constant(dim))])


def _sized(node: ast.Call, past: Past, others: list[Operand], named: set[str]) -> Iterator[ast.Call]:
    """A call that makes a tensor of nothing but sizes, with one that another operand of the failed call has.

    It is that of an operand where those have their names, and else a number.
    """
    like = past.operation in having("blank") & having("like") and len(node.args) == 1
    free = past.operation in having("create") and not past.given and len(node.args) == len(past.shape)
    found = list[tuple[int, ast.Call]]()
    for other in others if like or free else ():
        for place, own in enumerate(past.shape):
            for beside, wanted in enumerate(other.shape):
                if wanted in past.shape or (like and not other.written):
                    continue
                if like:
                    sizes = [f"{ast.unparse(node.args[0])}.shape[{i}]" for i in range(len(past.shape))]
                    sizes[place] = f"{other.owner}.shape[{beside}]"
                    text = f"torch.{past.operation.removesuffix('_like')}({', '.join(sizes)})"
                    anew = ast.parse(text, mode="eval").body
                else:
                    anew = copy.deepcopy(node)
                    anew.args[place] = written(node.args[place], own, wanted)
                    if other.name in named:
                        beside_it = copy.deepcopy(node)
                        beside_it.args[place] = ast.parse(f"{other.owner}.shape[{beside}]", mode="eval").body
                        found.append((abs(wanted - own), beside_it))
                if isinstance(anew, ast.Call):
                    found.append((abs(wanted - own), anew))
    yield from (one for _, one in sorted(found, key=lambda pair: pair[0]))
