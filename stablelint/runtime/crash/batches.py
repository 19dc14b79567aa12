"""The last batch of a loader, shorter than the others, where what it met was made for a whole one."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from types import FunctionType
from typing import Any

from torch.utils.data import DataLoader, Subset, default_collate

from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.expression import given_by_name, value_of
from stablelint.runtime.crash.failed import described
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.provenance.statements import callee
from stablelint.runtime.crash.repairs.constructors import line_of
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.onward import Onward, as_of, passed
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import iterated_around, returned, syntax_of
from stablelint.runtime.program.frames import resolve
from stablelint.runtime.program.location import Location


def with_short_batch(scene: Scene, found: Explanation) -> Explanation:
    """The explanation, and that the batch is a short one, if that is why its operands do not fit."""
    numbers = set(map(int, re.findall(r"\d+", scene.message)))
    for text, loader in (one for one in _loaders(scene) if hasattr(one[1].sampler, "__len__")):
        whole, samples = loader.batch_size, len(loader.sampler)  # type: ignore[arg-type]
        rest = samples % whole if whole else 0
        times = next((one for one in range(1, 5) if {one * (whole or 0), one * rest} <= numbers), 1)
        given, size, less = found.operands, times * (whole or 0), times * rest
        short = any(one.shape[:1] == (rest,) or (less in one.shape and size in numbers) for one in given)
        if not whole or not rest or loader.drop_last or not short or found.kind not in ("shape", "target"):
            continue
        made = next((one for one in given if size in one.shape and less not in one.shape), None)
        onward = Onward(scene, lambda _: [])
        tried = [met for one in _without_rest(scene, loader) for met in onward.through([one])][:1]
        if tried or (made is not None and {size, less} <= numbers):
            counted = f"({samples} = {samples // whole} · {whole} + {rest})"
            reason = f"the last batch of {text} has {rest} samples of {whole} {counted}"
            reason += f", and {made.name} is for {whole}" if made is not None else ""
            advice = [one for one in found.advice if times > 1 and "; then line" not in one]
            advice += [one.told for one in tried] or ["drop_last=True for that loader"]
            advice += [f"{made.name} made anew for a batch of another size"] if made is not None else []
            at = (("the loader is made here", one) for one in scene.origins.of_module(loader))
            because, other = (*found.because, reason), (*found.other, *at)
            return replace(found, because=because, advice=tuple(advice), other=other)
    return found


def _without_rest(scene: Scene, loader: DataLoader[object]) -> Iterator[Repair]:
    """The loader made so that it leaves out what fills no batch; where others are made there, as it alone is shuffled."""
    for call, filename in _making(scene, loader):
        given = {one.arg: one.value for one in call.keywords}
        told = ast.unparse(given.get("shuffle", ast.Constant(True)))
        for value in dict.fromkeys((told.replace("False", "True"), "True")):
            yield _remade(scene, call, filename, "drop_last", value)


def _remade(scene: Scene, call: ast.Call, filename: str, name: str, value: str) -> Repair:
    """A loader made with a further argument."""
    kept = [one for one in call.keywords if one.arg != name]
    given = [*kept, ast.keyword(name, ast.parse(value, mode="eval").body)]
    edit = Edit.of(call, filename, ast.unparse(ast.Call(call.func, call.args, given)))
    return Repair(f"{name}={value}", None, revisions=(edit,), where=line_of(scene, edit))


def joined_otherwise(scene: Scene, functions: Iterable[str]) -> list[str]:
    """Of the functions of other loaders, and of some, the first by which batches are made with which the program goes on."""
    names = [one.collate_fn.__name__ for one in _joining(scene).values()]
    onward, calls = Onward(scene, lambda _: []), [*_calls(scene)]
    ways = (
        _remade(scene, call, filename, "collate_fn", text)
        for text, (call, filename) in product(dict.fromkeys((*names, *functions)), calls)
        if text not in [ast.unparse(one.value) for one in call.keywords]
    )
    found = next((one for each in ways for one in onward.through([each])), None)
    return [found.told] if found is not None else []


def not_joined(scene: Scene) -> tuple[str, ...]:
    """That the loader of the loop has no function which makes its batches, and another one has."""
    _, loader = next(_loaders(scene), ("", None))
    name = next((name for name, one in _held(scene) if one is loader is not None), "")
    beside = [f"{other} has {one.collate_fn.__name__}" for other, one in _joining(scene).items()]
    plain = loader is not None and loader.collate_fn is default_collate
    return (f"{name} has no collate_fn, and {beside[0]}",) if plain and name and beside else ()


def _joining(scene: Scene) -> dict[str, DataLoader[object]]:
    """The loaders that have functions with names, which make their batches."""
    loaders = ((name, one) for name, one in _held(scene) if isinstance(one, DataLoader))
    told = ((name, one) for name, one in loaders if one.collate_fn is not default_collate)
    return {name: one for name, one in told if hasattr(one.collate_fn, "__name__")}


def _held(scene: Scene) -> Iterator[tuple[str, object]]:
    """What the program's names hold, and what is an entry or an attribute of that."""
    for name, one in (pair for frame in scene.frames if frame.mine for pair in frame.frame.f_locals.items()):
        yield name, one
        inner, way = (one, "{}[{!r}]") if isinstance(one, dict) else (getattr(one, "__dict__", {}), "{}.{}")
        yield from ((way.format(name, key), each) for key, each in [*inner.items()])


def cut_to(scene: Scene, length: int) -> list[str]:
    """What a function gives that the data set tells how long a sample is to be, cut to that, if the program goes on."""
    data: Any = next((loader.dataset for _, loader in _loaders(scene)), None)
    while isinstance(data, Subset):
        data = data.dataset
    asked: Any = getattr(type(data), "__getitem__", None)
    scope = {**getattr(asked, "__globals__", {}), "self": data}
    for call in (one for one in ast.walk(syntax_of(asked) or ast.Pass()) if isinstance(one, ast.Call)):
        function, given = value_of(call.func, scope), given_by_name(call, scope)
        told = [name for name, one in given.items() if length and value_of(one, scope) == length]
        for one in returned(function) if told and isinstance(function, FunctionType) else ():
            repair = as_of(scene, f"{{}}[..., :{told[0]}]", one, function.__code__.co_filename)
            if found := passed(scene, [repair]):
                return found
    return []


def joining(samples: list[Any]) -> list[str]:
    """Functions that make a batch of samples of different shapes: what differs is padded, or stays a list."""
    if len({*map(layout, samples)}) < 2:
        return []
    whole = [_joined(samples, "one", unlike) for unlike in _UNLIKE]
    return [
        f"lambda batch: {one}"
        for one in (*whole, _joined(samples, "one", _UNLIKE[-1], 1), "tuple(zip(*batch))")
    ]


def _joined(samples: list[Any], path: str, unlike: str, depth: int = 4) -> str:
    """The batch of what stands at a path in each sample; `unlike` for what differs, as deep as is asked."""
    first = samples[0]
    if len({*map(layout, samples)}) == 1:
        return f"torch.utils.data.default_collate([{path} for one in batch])"
    if not isinstance(first, dict | tuple | list) or not depth or len({*map(len, samples)}) > 1:
        return unlike.format(path)
    keys = [*first] if isinstance(first, dict) else [*range(len(first))]
    parts = [_joined([one[key] for one in samples], f"{path}[{key!r}]", unlike, depth - 1) for key in keys]
    if isinstance(first, dict):
        return f"{{{', '.join(f'{key!r}: {one}' for key, one in zip(keys, parts, strict=True))}}}"
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"


def layout(sample: Any) -> str:
    """What must be the same in all samples of a batch: kinds and shapes, and no values."""
    if isinstance(sample, list | tuple):
        return f"{type(sample).__name__}({', '.join(map(layout, sample))})"
    if isinstance(sample, dict):
        return f"dict({', '.join(f'{key}: {layout(one)}' for key, one in sample.items())})"
    return described(sample) if hasattr(sample, "shape") else type(sample).__name__


def _calls(scene: Scene) -> Iterator[tuple[ast.Call, str]]:
    """The calls that made the loaders of the loops, the innermost first."""
    for frame in reversed(scene.frames):
        for node in _gone_over(frame):
            if isinstance(node, ast.Call) and value_of(node.func, frame.names) is DataLoader:
                yield node, frame.site.code.co_filename
    for _, loader in _loaders(scene):
        yield from _making(scene, loader)


def _making(scene: Scene, loader: DataLoader[object]) -> Iterator[tuple[ast.Call, str]]:
    """The call that made a loader; where that is one of a function of the program, those within it as well."""
    match scene.origins.maker(loader):
        case (ast.Call() as call, scope):
            yield call, scope.code.co_filename
            function: Any = (callee(call.func, scope.names) or (None,))[0]
            for one in ast.walk(syntax_of(function) or ast.Pass()):
                if isinstance(one, ast.Call) and value_of(one.func, function.__globals__) is DataLoader:
                    yield one, function.__code__.co_filename


_UNLIKE = (
    "nn.utils.rnn.pad_sequence([{0} for one in batch], batch_first=True)",
    "torch.stack([F.pad({0}, (0, max({0}.shape[-1] for one in batch) - {0}.shape[-1])) for one in batch])",
    "[{0} for one in batch]",
)


def sample_places(scene: Scene) -> tuple[tuple[str, Location], ...]:
    """Where the data set of the loop gives a sample."""
    asked: list[Any] = [getattr(type(one.dataset), "__getitem__", None) for _, one in _loaders(scene)][:1]
    found = (Location.of(one, inspect.getfile(each)) for each in asked for one in returned(each)[:1])
    return tuple(("a sample is made here", at) for at in found)


def part_names(data: object) -> tuple[str, ...]:
    """What a data set calls the parts of a sample, where it gives several."""
    while isinstance(data, Subset):
        data = data.dataset
    given = next(iter(returned(getattr(type(data), "__getitem__", None))), None)
    return tuple(map(ast.unparse, given.elts)) if isinstance(given, ast.Tuple) else ()


def _gone_over(frame: Frame) -> list[ast.AST]:
    """The expressions within what a frame goes over at its line, if it is one of the program."""
    iterated = iterated_around(frame.site.code.co_filename, resolve(frame.site).row) if frame.mine else []
    return [node for one in iterated for node in ast.walk(one)]


def _loaders(scene: Scene) -> Iterator[tuple[str, DataLoader[object]]]:
    """The loaders that loops of the program were going over, the innermost first."""
    for frame in reversed(scene.frames):
        for node in _gone_over(frame):
            value = value_of(node, frame.names) if isinstance(node, ast.expr) else None
            if isinstance(value, DataLoader):
                yield ast.unparse(node), value
