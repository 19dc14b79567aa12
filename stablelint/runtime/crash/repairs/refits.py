"""Other settings of what was made before the call that failed: of layers, and of calls that made its operands."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain, islice, permutations, product
from time import thread_time
from typing import Any, NamedTuple

import torch
from torch import nn

from stablelint.runtime.crash.explanation import Operand
from stablelint.runtime.crash.expression import UNKNOWN, value_of
from stablelint.runtime.crash.failed import ends_behind
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.layers import Pass, again, ends_well, outermost, repeated
from stablelint.runtime.crash.provenance.anew import modules_of
from stablelint.runtime.crash.provenance.history import Past, history, makers
from stablelint.runtime.crash.repairs.constructors import FACTORS, constructed, line_of, settings, written
from stablelint.runtime.crash.repairs.edits import Edit, Setting
from stablelint.runtime.crash.repairs.onward import Onward, by_edit
from stablelint.runtime.crash.repairs.rebuilt import resized
from stablelint.runtime.crash.repairs.remade import alternatives, remade, settings_of, sizes_of
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import expression_at, function_at
from stablelint.runtime.program.frames import is_library, resolve
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.measure import tensors_in
from stablelint.syntax.operations import having

_SECONDS = 4.0  # after which no further layer is tried
_MOST = 12  # operations before an operand
_MOST_TRIED = 8  # by running the script
_MOST_SET = 4  # settings of the program
_Changes = Callable[[nn.Module], Iterable[dict[str, Any]]]


def refitted(scene: Scene, factor: Fraction | None = None, layer: nn.Module | None = None) -> list[Repair]:
    """The nearest call of a function, or layer, with other settings of which the program goes on to its end.

    `factor`: of a layer that is to give so many times what it gave. `layer`: it alone.
    """
    changes: _Changes | None = functools.partial(_times, factor) if factor is not None else None
    calls, layers = _recalled(scene) if layer is None else (), _relayered(scene, changes, layer)
    sources = islice(calls, _MOST_TRIED), islice(layers, _MOST_TRIED)
    tables = islice(_tabled(scene), _MOST_TRIED) if layer is None else ()
    outside = (each for one in _outside(scene) for each in constructed(scene, one))
    told = _as_the_data(scene) if layer is None else ()
    return _first(
        scene, chain(tables, told, *(sources if outermost(scene) is None else sources[::-1]), outside)
    )


def _as_the_data(scene: Scene) -> Iterator[Repair]:
    """Settings of the program as a size that the model was given, the nearest first."""
    data = tensors_in((outermost(scene) or (None,))[1:])
    sizes = {size for one in data for size in one.shape[1:] if size > 1}
    numbers = [(one, one[1].value) for one in settings(scene) if isinstance(one[1].value, int)]
    known = [(one, value) for one, value in numbers if value > 1 and value not in sizes]
    ways = [(abs(size - value), size, one) for one, value in known for size in sizes]
    for _, size, (name, node, at) in sorted(ways, key=lambda way: way[:2])[:_MOST_SET]:
        yield replace(by_edit(scene, Edit.of(node, at.filename, str(size))), text=f"{name} = {size}")


def _first(scene: Scene, found: Iterable[Repair]) -> list[Repair]:
    """The first repair with which the program goes on, as it is written if it can be."""
    onward = Onward(scene, lambda _: [])
    ways = (each for one in found for each in (*constructed(scene, one), one))
    return next((made for one in ways if (made := onward.through([one]))), [])


def widened(scene: Scene, failed: Setting) -> list[Repair]:
    """A layer before the failing one that gives some times what it gave, if this is given a part of what it takes."""
    layer = next((one for _, one in modules_of(scene.frames) if id(one) == failed.layer), nn.Identity())
    (name, after), *_ = failed.changed
    before = settings_of(layer).get(name)
    if not isinstance(before, int) or before % after or before // after not in FACTORS:
        return []
    part = Fraction(before, after)
    return _first(scene, _relayered(scene, lambda one: _times(part, one, before) if one is not layer else ()))


def _times(factor: Fraction, layer: nn.Module, only: int | None = None) -> Iterator[dict[str, Any]]:
    """A layer with a size so many times as large, of any that it has or of one."""
    for name, one in sizes_of(layer).items():
        if type(one) is int and only in (None, one) and (one * factor).denominator == 1 != factor:
            yield {name: int(one * factor)}


def _relayered(scene: Scene, changes: _Changes | None, only: nn.Module | None = None) -> Iterator[Repair]:
    """Layers with another setting, all that one call made, with which the pass, or else the step, ends well."""
    until, inner, onward = thread_time() + _SECONDS, outermost(scene), Onward(scene, lambda _: [])
    fails_inside = inner is not None and any(True for _ in inner[0].parameters())  # and is no loss
    made = again(scene) if fails_inside else None
    if fails_inside and (made is None or made.error is None):
        return  # the pass goes well again
    trial = _Trial(inner[0], inner[1:], made) if inner is not None and made is not None else _of_giver(scene)
    layers = [one for _, one in modules_of(scene.frames)][::-1]
    if trial is not None:
        layers = [trial.model.get_submodule(path) for path, *_ in trial.passed.called[::-1]]
    beside = layers if trial is None else [*trial.model.modules()]
    layers = [one for one in layers if only is None or one in only.modules()]
    ways = [*_others(scene, layers, beside, changes)]
    if trial is not None and trial.wanted:
        ways.sort(key=lambda one: _distance(one[1][0], one[0]))
    for changed, alike in ways:
        revised = tuple(Setting(id(one), tuple(changed.items())) for one in alike)
        if thread_time() > until:
            return
        if trial.fits(changed, alike) if trial is not None else onward.ends_the_step(revised):
            (name, value), *_ = changed.items()
            text, model = f"nn.{type(alike[0]).__name__}(…, {name}={value})", trial.model if trial else None
            yield Repair(text, None, "setting", revisions=revised, where=_path(scene, model, alike))


def _others(
    scene: Scene, layers: list[nn.Module], beside: list[nn.Module], changes: _Changes | None
) -> Iterator[tuple[dict[str, Any], list[nn.Module]]]:
    """Other settings of layers, each with those that get it together."""
    wanted, upsampled = {size: None for one in scene.operands() for size in one.shape[::-1]}, set[Any]()
    for layer in {id(one): one for one in layers}.values():
        kind = _upsampling(layer) if changes is None else None
        if kind is not None and kind not in upsampled:
            upsampled.add(kind)
            yield {"output_padding": 1}, [*dict.fromkeys(one for one in beside if _upsampling(one) == kind)]
        alike = _alike(scene, layer, beside)
        ways = changes(layer) if changes is not None else alternatives(layer, wanted)
        yield from ((one, alike) for one in ways)


def _upsampling(layer: nn.Module) -> tuple[object, ...] | None:
    """By how much a transposed convolution upsamples."""
    known = isinstance(layer, nn.modules.conv._ConvTransposeNd)
    return (type(layer), layer.kernel_size, layer.stride) if known else None


def _distance(layer: nn.Module, changed: dict[str, Any]) -> tuple[int, bool]:
    """How far numbers are from those that a layer was made with, and whether they are others than it has by itself."""
    given, taken = settings_of(layer), inspect.signature(type(layer)).parameters
    parts = ((given[name], one) for name, one in changed.items() if name in given)
    pairs = ((before[0] if isinstance(before, tuple) else before, one) for before, one in parts)
    far = sum(abs(int(one) - int(before)) for before, one in pairs if isinstance(before, int))
    return far, any(name not in taken or taken[name].default != one for name, one in changed.items())


class _Trial(NamedTuple):
    """The call of a model, and what fits in place of a result of it: any, where the pass itself failed."""

    model: nn.Module
    given: tuple[Any, dict[str, Any]]
    passed: Pass
    place: int = 0  # among the results
    wanted: frozenset[tuple[int, ...]] = frozenset()  # shapes

    def fits(self, changed: dict[str, Any], alike: list[nn.Module]) -> bool:
        """Whether the pass ends well with some layers made otherwise, and gives what fits."""
        found = {path: remade(one, changed) for path, one in self.model.named_modules() if one in alike}
        others = {path: one for path, one in found.items() if one is not None}
        made = repeated(self.model, *self.given, others) if len(others) == len(found) else None
        return ends_well(made) and (not self.wanted or _shapes(made)[self.place] in self.wanted)


def _shapes(made: Pass | None) -> list[tuple[int, ...]]:
    return [tuple(one.shape) for one in tensors_in(made.result)] if made is not None else []


def _of_giver(scene: Scene) -> _Trial | None:
    """The call that gave an operand, if what it was given is still there, and the shapes of the others."""
    past, shown = history(scene), scene.operands()
    for one in shown if past is not None else ():
        wanted = {other.shape for other in shown if other is not one and len(other.shape) == len(one.shape)}
        alike = functools.partial(_is_shaped, one.shape)
        way = past.way(one.name, alike) if past is not None and wanted else []
        places = dict.fromkeys(at for own in way for at in (own.at, *own.callers) if at is not None)
        for frame, at in product([each for each in scene.frames if each.mine], places):
            found = _called_there(frame, at)
            made = repeated(*found) if found is not None else None
            if found is not None and made is not None and one.shape in (shapes := _shapes(made)):
                return _Trial(found[0], found[1:], made, shapes.index(one.shape), frozenset(wanted))
    return None


def _is_shaped(shape: tuple[int, ...], past: Past) -> bool:
    return past.shape == shape


def _called_there(frame: Frame, at: Location) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]] | None:
    """The model that a frame called at a place, and what it gave it."""
    here, call = resolve(frame.site), expression_at(at)
    same = here.filename == at.filename and function_at(here) is function_at(at)
    if not same or not isinstance(call, ast.Call):
        return None
    model = value_of(call.func, frame.names)
    given = [value_of(one, frame.names) for one in call.args]
    named = {str(one.arg): value_of(one.value, frame.names) for one in call.keywords}
    known = not any(one is UNKNOWN for one in (*given, *named.values())) and "None" not in named
    return (model, tuple(given), named) if isinstance(model, nn.Module) and known else None


def lengthened(scene: Scene) -> list[Repair]:
    """Modules made with tables long enough, where what is cut out of one ends behind it."""
    is_cut = any(ends_behind(one.written, scene.user.names) for one in scene.operands())
    return _first(scene, _tabled(scene)) if is_cut else []


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


def _path(scene: Scene, model: nn.Module | None, layers: list[nn.Module]) -> str:
    """Where layers are in a model, or in what the program holds."""
    held = ((path.split("/", 2)[2], one) for path, one in modules_of(scene.frames))
    named = model.named_modules() if model is not None else held
    paths = {id(one): path for path, one in named if one in layers}.values()
    return f" of {', '.join(filter(None, paths))}" if any(paths) else ""


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
