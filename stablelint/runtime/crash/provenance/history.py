"""What the operands of a failed call were made of: the script once more, with a record of all operations of torch."""

from __future__ import annotations

import ast
import functools
import operator
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from stablelint.runtime.crash.expression import node_at
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.graphs import losses, lost_a_value
from stablelint.runtime.crash.provenance.anew import Makers, Places, by_script, by_step, modules_of
from stablelint.runtime.crash.provenance.frozen import Untrained, frozen, untrained
from stablelint.runtime.crash.provenance.statements import located
from stablelint.runtime.crash.repairs.failing import called
from stablelint.runtime.crash.scene import Scene, models_of
from stablelint.runtime.crash.source import statement_at
from stablelint.runtime.program.frames import Site, resolve, site_of, user_frames
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import operands_of
from stablelint.runtime.tensors.measure import dtype_name, is_whole, tensors_in
from stablelint.runtime.tracing.graph import nodes_of

_MOST_BYTES = 1 << 30  # of the results that are kept
_MOST_PASTS = 4096  # that are told of an operand
_MOST_COMPARED = 1 << 20  # elements
_MOST_CALLERS = 4
_Largest = dict[tuple[str, tuple[Site, ...]], int]  # by an operation and the program's call of it
_UNSEEN = ("from_numpy", "save", "load")  # functions of torch that tell no mode


class Past(NamedTuple):
    """A tensor, the operation that gave it, and which others that was given."""

    operation: str  # nothing where none is known
    at: Location | None
    shape: tuple[int, ...]
    dtype: str
    has_graph: bool
    range: tuple[int, int] | None  # the least and the largest of whole numbers
    given: tuple[int, ...]  # places in the history
    asks: bool  # for gradients
    silent: bool  # whether gradients were disabled where it was made
    number: int | None  # what left torch as a number of which it was made
    callers: tuple[Location, ...] = ()  # the calls of the program that led there, the innermost first
    largest: int | None = None  # whole number of all that the same operation of the program gave
    whole: bool = True  # whether its numbers have no fractions


class Written(NamedTuple):
    """An operation that kept a tensor for its gradient, and the one that wrote into that tensor afterwards."""

    kept: Location
    keepers: tuple[Location, ...]  # the calls of the program that led to what kept it, the innermost first
    is_result: bool  # of the operation that kept it, and not what that was given
    at: Location
    callers: tuple[Location, ...]  # of what wrote


@dataclass(frozen=True)
class History:
    """The pasts of the operands of what failed, by name, and of all that they were made of."""

    pasts: list[Past]
    operands: dict[str, int]
    makers: dict[str, Places]  # of the modules, by their paths
    written: Written | None = None  # where a gradient lacks what was kept for it
    untrained: Untrained | None = None  # where it was made of parameters that ask for no gradient

    def way(self, name: str, trait: Callable[[Past], bool]) -> list[Past]:
        """An operand that has a trait, and before it what it was made of as long as that has it, the operand first."""
        return self.way_from(self.operands.get(name), trait)

    def way_from(self, place: int | None, trait: Callable[[Past], bool]) -> list[Past]:
        """The same from a place in the history."""
        found = list[Past]()
        while place is not None and trait(self.pasts[place]):
            found.append(self.pasts[place])
            place = next((one for one in found[-1].given if trait(self.pasts[one])), None)
        return found

    def behind(self, place: int) -> list[Past]:
        """All that a place in the history was made of, and itself."""
        waiting = [place]
        for one in waiting:
            waiting += [given for given in self.pasts[one].given if given not in waiting]
        return [self.pasts[one] for one in waiting]

    def largest(self, name: str, count: int) -> int:
        """The largest number that was made where those of an operand were that reach a count; 0 where none is known."""
        way = self.way(name, lambda one: one.range is not None and one.range[1] >= count)
        return max((one.largest or 0 for one in way[-1:]), default=0)

    def is_of_weights(self, name: str, count: int) -> bool:
        """Whether a size of an operand is one of the parameters that it was made of."""
        way = self.way(name, lambda one: count in one.shape)
        given = (self.pasts[each] for one in way for each in one.given)
        return any(one.shape[:1] == (count,) and one.asks and not one.has_graph for one in given)

    def cut(self, place: int) -> Past | None:
        """The nearest operation behind a tensor without a graph that was given one."""
        waiting = self.behind(place)
        first = next((one for one in waiting if any(self.pasts[given].asks for given in one.given)), None)
        numbers = (one.number for one in waiting)
        return first or next((self.pasts[one] for one in numbers if one is not None), None)


class _Made(NamedTuple):
    """A result, and the operation that gave it."""

    tensor: torch.Tensor
    operation: str
    sites: tuple[Site, ...]  # of the program, the innermost first
    given: tuple[_Made, ...]
    silent: bool = False
    number: _Made | None = None
    node: Any = None  # of its graph
    when: int = 0  # how many were made before
    range: tuple[int, int] | None = None  # before it was written in place


@dataclass
class _Record(TorchFunctionMode):
    """All operations, with what they were given and gave."""

    made: dict[int, _Made] = field(default_factory=dict)
    stored: dict[tuple[object, ...], _Made] = field(default_factory=dict)  # by their elements
    saved: list[torch.Tensor] = field(default_factory=list)
    failed: list[torch.Tensor] = field(default_factory=list)  # what the first call that failed was given
    all: list[_Made] = field(default_factory=list)
    writes: list[tuple[int, int, tuple[Site, ...]]] = field(default_factory=list)  # when, which memory, where
    frozen: dict[int, list[Frame]] = field(default_factory=dict)  # where parameters left training
    left: dict[float, _Made] = field(
        default_factory=dict
    )  # the tensors with graphs that numbers were made of
    size: int = 0

    def __post_init__(self) -> None:
        super().__init__()
        for name in _UNSEEN:
            setattr(torch, name, self._seen(getattr(torch, name)))

    def _seen(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def seen(*args: Any, **kwargs: Any) -> Any:
            return self.__torch_function__(function, (), args, kwargs)

        return seen

    def __torch_function__(
        self,
        func: Any,
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        given = list(tensors_in((args, kwargs)))
        versions = [-1 if one.is_inference() else one._version for one in given]
        name = getattr(func, "__name__", "")
        before_it = _range(given[0]) if name == "__setitem__" and given else None
        try:
            result = func(*args, **(kwargs or {}))
        except Exception:
            self.failed = self.failed or given
            raise
        frames = [*user_frames(sys._getframe(1), _MOST_CALLERS)]
        sites, silent = tuple(map(site_of, frames)), not torch.is_grad_enabled()
        made = list(tensors_in(result))
        if name in ("requires_grad_", "__set__") and not given[0].requires_grad:
            self.frozen[id(given[0])] = [Frame(*pair) for pair in zip(frames, sites, strict=True)]
        if not made and any(one.requires_grad for one in given):
            left = _Made(given[0], name, sites, (self.known(given[0]),), silent)
            self.left.update((one, left) for one in _numbers(result))
        for one, version in zip(given, versions, strict=True):
            if version >= 0 and one._version > version:
                self.writes.append((len(self.all), _memory(one), sites))
        if name == "__setitem__" and given:  # which gives nothing
            parts = (self.known(given[0])._replace(range=before_it), *map(self.known, given[1:]))
            self._keep(_Made(given[0], name, sites, parts, silent, node=_node(given[0]), when=len(self.all)))
        self.saved += given if name == "save" else []
        for one in made:
            self.size += one.numel() * one.element_size()
            before = given[:1] if name.endswith("_") and not name.endswith("__") else given
            before = [each for each in self.saved if torch.equal(each, one)] if name == "load" else before
            numbers = () if given else _numbers((args, kwargs))
            number = next((self.left[each] for each in numbers if each in self.left), None)
            parts = tuple(map(self.known, before))
            self._keep(_Made(one, name, sites, parts, silent, number, _node(one), len(self.all)))
        if self.size > _MOST_BYTES:
            raise MemoryError
        return result

    def _keep(self, one: _Made) -> None:
        self.all.append(one)
        self.made[id(one.tensor)] = one
        self.stored[_elements(one.tensor)] = one

    def written(self, node: Any) -> Written | None:
        """Where what a node kept was kept, and written."""
        known = (one for one in self.all if one.node is not None)
        behind = ((one, [each for each, _ in one.node.next_functions]) for one in known)
        kept = next((one for one, inner in behind if node in (one.node, *inner)), None)  # of one operation
        if kept is None or not kept.sites:
            return None
        result, given = _memory(kept.tensor), {_memory(one.tensor) for one in kept.given}
        for when, memory, sites in self.writes:
            if when > kept.when and sites and memory in {result, *given}:
                (keeper, *keepers), (at, *callers) = (map(_located, each) for each in (kept.sites, sites))
                return Written(keeper, tuple(keepers), memory not in given, at, tuple(callers))
        return None

    def leaves(self, tensor: torch.Tensor) -> list[nn.Parameter]:
        """The parameters that a tensor was made of, those of the last operations first."""
        waiting = [self.known(tensor)]
        seen = {id(waiting[0])}
        for one in waiting:
            waiting += [each for each in one.given if id(each) not in seen]
            seen |= {*map(id, one.given)}
        return [one.tensor for one in waiting if isinstance(one.tensor, nn.Parameter)]

    def largest(self) -> _Largest:
        """The largest whole number that each operation of the program gave."""
        found = _Largest()
        for one in self.made.values():
            key, within = (one.operation, one.sites[:1]), one.range or _range(one.tensor)
            if within is not None:
                found[key] = max(within[1], found.get(key, 0))
        return found

    def known(self, tensor: torch.Tensor) -> _Made:
        """What is known of a tensor."""
        found = self.made.get(id(tensor)) or self.stored.get(_elements(tensor))
        return found if found is not None else _Made(tensor, "", (), ())


def _numbers(value: Any) -> list[float]:
    """The numbers in arguments or in a result."""
    return [one for one in tree_leaves(value) if type(one) is float]


def _node(tensor: torch.Tensor) -> Any:
    """The node of a tensor's graph; None also of a view made without gradients that was written where they are recorded."""
    with suppress(RuntimeError):
        return tensor.grad_fn
    return None


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else id(tensor)


def _elements(tensor: torch.Tensor) -> tuple[object, ...]:
    strided = tensor.layout is torch.strided and not tensor.is_meta
    return (tensor.data_ptr(), tensor.shape, tensor.dtype) if strided and tensor.numel() else (id(tensor),)


def history(scene: Scene) -> History | None:
    """The pasts of the operands; None where the script cannot be run again, or does not fail in the same way."""
    if "history" not in scene.known:
        told = functools.partial(_told, scene)
        said = by_script(scene, told, _Record) or by_step(scene, told, _Record)
        scene.known["history"] = pickle.loads(said) if said else None
    found: History | None = scene.known["history"]
    return found


def makers(scene: Scene) -> dict[int, Places]:
    """The calls of the program that made the modules, by their identities, as far as another run tells."""
    if "makers" not in scene.known:
        past = history(scene)
        told = past.makers if past is not None else {}
        scene.known["makers"] = {
            id(one): told[path] for path, one in modules_of(scene.frames) if path in told
        }
    found: dict[int, Places] = scene.known["makers"]
    return found


def _told(scene: Scene, then: Scene | None, record: _Record) -> bytes:
    if then is None or not _is_alike(scene, then):
        return b""
    pasts, places, largest = list[Past](), dict[int, int](), record.largest()
    operands = {name: _place(found, pasts, places, largest) for name, found in _operands(then, record)}
    given = losses(then)
    nodes = nodes_of(given[0].grad_fn) if given and given[0].grad_fn is not None else ()
    written = next((record.written(one) for one in nodes if lost_a_value(one)), None)
    leaves = {id(one): one for each in given if not each.requires_grad for one in record.leaves(each)}
    models = () if given else models_of(then.frames)  # of which an optimizer was made
    whole = next((one for name, one in models if frozen(one, name)), nn.Identity())
    left = [*leaves.values()] or [*whole.parameters()][::-1]
    frames = record.frozen.get(id(left[0]), []) if left else []
    by_path = Makers(then.known["makers"]).by_path(then.frames)
    return pickle.dumps(History(pasts, operands, by_path, written, untrained(then, left, frames)))


def _is_alike(scene: Scene, then: Scene) -> bool:
    """Whether two errors are one; threads decide which index is told of, and a mode what is hinted."""
    one, other = (each.message.partition("Hint:")[0] for each in (scene, then))
    if one != other:
        shapes = ([each.shape for each in of.operands()] for of in (scene, then))
        same = operator.eq(*shapes) and re.sub(r"\d+", "", one) == re.sub(r"\d+", "", other)
        return then.location == scene.location and same
    return then.location == scene.location


def _operands(scene: Scene, record: _Record) -> Iterator[tuple[str, _Made]]:
    """The operands of what failed; of one that has no name any more, what the operation was given that is as it."""
    known = {one.name: tensor for tensor, one in scene.operand_tensors()}
    for name, tensor in known.items():
        found = record.known(tensor)
        like = (each for each in record.failed if (each.shape, each.dtype) == (tensor.shape, tensor.dtype))
        yield name, found if found.operation else record.known(next(like, tensor))
    call = called(scene)
    given, texts = (call.values, call.texts) if call is not None else ((), {})
    for one in (one for one in given if isinstance(one, torch.Tensor) and id(one) in texts):
        if texts[id(one)] not in known and (found := record.known(one)).operation:
            yield texts[id(one)], found
    parts = [ast.unparse(one) for one in operands_of(scene.node)]
    pairs = list(zip(parts, record.failed, strict=False)) if len(parts) == len(record.failed) else []
    if all(known.get(name, tensor).shape == tensor.shape for name, tensor in pairs):
        yield from ((name, record.known(tensor)) for name, tensor in pairs if name not in known)


def _place(one: _Made, pasts: list[Past], places: dict[int, int], largest: _Largest) -> int:
    """Where the past of a result stands in a history, which is written there with all before it."""
    waiting = [one]
    while waiting:
        each = waiting[-1]
        before = (*each.given, *([each.number] if each.number is not None else []))
        missing = [given for given in before if id(given) not in places]
        if missing and len(pasts) < _MOST_PASTS:
            waiting.extend(missing)
            continue
        waiting.pop()
        if id(each) not in places:
            places[id(each)] = len(pasts)
            given = tuple(places[id(given)] for given in each.given if id(given) in places)
            past = _past(each, given, places.get(id(each.number)))
            pasts.append(past._replace(largest=largest.get((each.operation, each.sites[:1]))))
    return places[id(one)]


def _past(one: _Made, given: tuple[int, ...], number: int | None) -> Past:
    tensor, places = one.tensor, tuple(map(_located, one.sites))
    return Past(
        one.operation,
        next(iter(places), None),
        tuple(tensor.shape),
        dtype_name(tensor.dtype),
        _node(tensor) is not None,
        one.range or _range(tensor),
        given,
        tensor.requires_grad,
        one.silent,
        number,
        places[1:],
        whole=is_whole(tensor),
    )


def _range(tensor: torch.Tensor) -> tuple[int, int] | None:
    """The least and the largest of whole numbers."""
    counts = not (tensor.is_floating_point() or tensor.is_complex() or tensor.is_meta)
    known = counts and 0 < tensor.numel() <= _MOST_COMPARED
    return (int(tensor.min()), int(tensor.max())) if known else None


def _located(site: Site) -> Location:
    node, at = node_at(site), resolve(site)
    whole = statement_at(at) if isinstance(getattr(node, "ctx", None), ast.Store) else node
    return located(whole, site.code.co_filename) if isinstance(whole, ast.stmt) and whole else at
