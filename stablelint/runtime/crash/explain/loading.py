"""Errors of data sets and of loaders' workers."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import pickle
import re
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from types import FunctionType
from typing import Any, TypeGuard

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from stablelint.runtime.crash.batches import (
    cut_to,
    joined_otherwise,
    joining,
    layout,
    not_joined,
    part_names,
    sample_places,
)
from stablelint.runtime.crash.explainers import SAMPLE, explains
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.crash.failed import described
from stablelint.runtime.crash.frame import asks_for_sample, is_of_program
from stablelint.runtime.crash.provenance.anew import by_script
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import returned
from stablelint.runtime.process.confined import confine
from stablelint.runtime.process.copies import can_copy, said_by_copy
from stablelint.runtime.program.frames import is_library
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.measure import tensors_in

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (.+)')
_ENTRIES = re.compile(r"at entry (\d+) and .* at entry (\d+)")
_SECONDS = 2.0


@explains(r"Caught (\w+) in DataLoader worker process (\d+)")
def worker(scene: Scene, match: re.Match[str]) -> Explanation:
    """An exception that a worker handed on: its own place, and the sample."""
    sample = SAMPLE.search(scene.message)
    raised = [text for text in scene.message.strip().splitlines() if text.startswith(match[1])]
    what = raised[-1] if raised else match[1]
    summary, alone = f"worker {match[2]}: {what}", "num_workers=0 runs it in this process"
    if sample is not None:
        summary = f"{sample[1]}: {what} (worker {match[2]})"
        alone = f"dataset[{sample[1].split()[1]}] asks for it without a loader"
    because = re.findall(r"stablelint: because (.+)", scene.message)
    advice = [*re.findall(r"stablelint: help (.+)", scene.message), alone]
    said = b""
    if sample is None:

        def told(then: Scene | None, _: object) -> bytes:
            return pickle.dumps((joining(samples := _samples(then)), _length(samples)))

        said = by_script(scene, told, nullcontext)
    functions, usual = pickle.loads(said) if said else ([], 0)
    if functions:
        summary = f"{(because or [f'the samples of a batch differ in shape: {what}'])[0]} (worker {match[2]})"
        advice = cut_to(scene, usual) or joined_otherwise(scene, functions) or [_PADS]
        return Explanation("data", summary, not_joined(scene), tuple(advice), other=sample_places(scene))
    at = None
    for found in (found for found in _FRAME.finditer(scene.message) if is_of_program(found[1])):
        text = linecache.getline(found[1], int(found[2])).strip()
        at = Location(found[1], int(found[2]), None, text, found[3])
    waiting = (("the loop waited here", scene.location),) if at else ()
    return Explanation("data", summary, tuple(because), tuple(advice), location=at, other=waiting)


def _length(samples: list[Any]) -> int:
    """The last size that most samples have, of the first of their tensors whose shapes differ; else 0."""
    columns = zip(*(tensors_in(one) for one in samples), strict=False)
    sizes = [[one.shape[-1] for one in column if one.dim()] for column in columns]
    return next((max(one, key=one.count) for one in sizes if len({*one}) > 1), 0)


def _samples(scene: Scene | None) -> list[Any]:
    """What a loader was to make a batch of."""
    fetched = scene.called("fetch") if scene is not None else None
    found = fetched.names.get("data") if fetched is not None else None
    return found if isinstance(found, list) else []


@explains(
    r"DataLoader worker \(pid\(?s?\)? ([\d, ]+)\) (exited unexpectedly|is killed by signal: (\w[\w ]*))"
)
def killed(scene: Scene, match: re.Match[str]) -> Explanation:
    """A worker that ended without an exception."""
    advice = ["num_workers=0 shows whether the data set itself fails"]
    if "Bus error" in scene.message or "shm" in scene.message:
        advice = ["more shared memory (docker run --shm-size), or fewer workers"]
    elif match[3] and "Killed" in match[3]:
        advice = ["fewer workers, or smaller samples: the system ends processes when memory is short"]
    return Explanation("data", f"a worker of the loader {match[2]}", advice=tuple(advice))


@explains(r"")
def collated(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """Samples that make no batch: of several kinds or shapes, or of what no tensor is made of."""
    fetched, samples = scene.called("fetch"), _samples(scene)
    if not samples or fetched is None or not scene.called("collate"):
        return None
    given = fetched.names.get("possibly_batched_index")
    indices = given if isinstance(given, list) and None not in given else None
    shuffled = bool(indices) and bool(_ENTRIES.search(scene.message))
    indices = indices or [f"{place} of the batch" for place in range(len(samples))]
    whole = [
        f"{one} (entry {i} of the batch)" if shuffled and one != i else f"{one}"
        for i, one in enumerate(indices)
    ]
    kinds = [layout(one) for one in samples]
    common = max(kinds, key=kinds.count)
    usual, odd = kinds.index(common), next((place for place, one in enumerate(kinds) if one != common), None)
    if named := _ENTRIES.search(scene.message):  # as they are told above
        usual, odd = map(int, named.groups())
        common = kinds[usual]
    summary = f"a batch cannot be made of samples such as {described(samples[usual])}"
    advice = "a collate_fn that makes tensors of them, or tensors in the data set"
    if odd is not None:
        names = part_names(fetched.names["self"].dataset)
        part, one, other = _unlike(samples[odd], samples[usual], names=names)
        whose, others = (f"{part} of sample", "of others") if part else ("sample", "and others are")
        if kinds.count(common) < len(kinds) - 1:  # nor are the others alike
            others = f"of sample {whole[usual]}" if part else "and another is"
        summary = f"{whose} {whole[odd]} is {described(one)}, {others} {described(other)}"
        summary = f"the samples of a batch differ: {summary}"
        advice = _made_alike(one, other)
    if any(one is None for one in samples):
        advice = (
            "a path through __getitem__ returns nothing: leave such samples out, there or in a collate_fn"
        )
    elif any(_is_image(part) for one in samples for part in (one if isinstance(one, tuple) else [one])):
        advice = "the data set lacks a transform that ends in ToTensor()"
    pads = (
        cut_to(scene, _length(samples)) or joined_otherwise(scene, joining(samples))
        if advice == _PADS
        else []
    )
    told = tuple(pads) or (advice,)
    return Explanation("data", summary, not_joined(scene), told, other=sample_places(scene))


def _is_image(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "PIL"


_PADS = "pad or crop them to one shape in the data set, or make batches of them in a collate_fn"


def _made_alike(odd: Any, usual: Any) -> str:
    """How a sample is made like the others."""
    if isinstance(odd, dict) and isinstance(usual, dict) and odd.keys() != usual.keys():
        keys = ", ".join(map(repr, [key for key in {**usual, **odd} if (key in odd) != (key in usual)]))
        return f"a value for {keys} in every sample, or in none: in the data set, or in a collate_fn"
    if type(odd) is not type(usual):
        return "samples of one kind, from the data set or a collate_fn"
    return _PADS


def _unlike(one: Any, other: Any, part: str = "", names: tuple[str, ...] = ()) -> tuple[str, Any, Any]:
    """The first part of two samples that differs in kind or shape, and what it is in each; `names` are those of parts."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        pairs = [(repr(key), one[key], other[key]) for key in one]
    elif type(one) is type(other) in (list, tuple) and len(one) == len(other):
        called = names if len(names) == len(one) else [f"part {place}" for place in range(len(one))]
        pairs = [*zip(called, one, other, strict=True)]
    else:
        return part, one, other
    for name, first, second in pairs:
        if layout(first) != layout(second):
            return _unlike(first, second, name)
    return part, one, other


@explains(r"out of (?:range|bounds)")
def past_the_end(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """A data set that says it has more samples than it can give."""
    asked = next((one for one in scene.frames[::-1] if one.mine and asks_for_sample(one)), None)
    data: Any = asked.frame.f_locals["self"] if asked is not None else None
    told = returned(getattr(type(data), "__len__", None))
    if asked is None or len(told) != 1 or not isinstance(scene.error, IndexError):
        return None
    index, count = asked.frame.f_locals[asked.site.code.co_varnames[1]], len(data)
    missing, name = _missing_at_the_end(data, count), type(data).__name__
    if not missing or not count - missing <= index < count:
        return None
    held = [(f"self.{key}", value) for key, value in vars(data).items() if type(value) is int]
    held += [(f"({name} - 1)", value - 1) for name, value in held]
    less = next((text for text, value in held if value == missing), str(missing))
    at = Location.of(told[0], type(data).__len__.__code__.co_filename)
    summary = f"__len__ of {name} says {count}, and sample {index} is past the end, as all of the last {missing} are"
    because, other = (scene.message,), (("the length is told here", at),)
    return Explanation(
        "data", summary, because, (f"{at.expression} - {less}",), scene.operands(), other=other
    )


def _missing_at_the_end(data: Any, count: int) -> int:
    """How many of the last samples of a data set are beyond the end of what it holds, asked in a copy of the process."""

    def work() -> bytes:
        confine(os.devnull)
        for back in range(1, count + 1):
            with suppress(IndexError):
                data[count - back]
                return str(back - 1).encode()
        return b""

    return int((said_by_copy(work, _SECONDS) if can_copy() else b"") or 0)


@explains(r"")
def used_up(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """An iterator that has nothing left."""
    node, user = scene.node, scene.user
    if not isinstance(scene.error, StopIteration) or not isinstance(node, ast.Call) or not node.args:
        return None
    name, held = ast.unparse(node.args[0]), value_of(node.args[0], user.names)
    has = f" after {len(held)} items" if isinstance(held, _BaseDataLoaderIter) else ""
    made = [at for at in scene.origins.of(user, node.args[0]) if f"{name} = " in at.expression]
    advice = [f"`{at.expression}` anew, in an except StopIteration around it" for at in made]
    other = tuple((f"{name} is made here, once", at) for at in made)
    return Explanation("data", f"{name} is used up{has}", (), tuple(advice[:1]), other=other[:1])


@explains(r"(?:pickle|get) .*(?:<lambda>|local object)|cannot pickle '(\w+)' object")
def pickled(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """What cannot be sent to another process or written to a file, such as functions without a name of their own."""
    named = [one for frame in reversed(scene.frames) if frame.mine for one in frame.frame.f_locals.items()]
    loaders = (
        frame.frame.f_locals.get("loader") for frame in scene.frames if not frame.mine
    )  # without a name
    named += [("the loader", one) for one in loaders if isinstance(one, torch.utils.data.DataLoader)]
    held = [found for name, value in named for found in _unnamed(name, value)]
    summary = "something of it is a lambda, or a function within a function, and cannot be pickled"
    if held:
        name, function = held[0]
        what = (
            "a lambda" if function.__name__ == "<lambda>" else f"the inner function {function.__qualname__}"
        )
        summary = f"{name} is {what}, and cannot be pickled"
    if "cannot pickle" in scene.message:
        summary = scene.message
    if scene.called("save") is not None:
        advice = [
            "save model.state_dict() in place of the module",
            "a named function at the top level, or a module, in its place",
        ]
    else:
        kept = ", ".join(held[0][1].__code__.co_freevars) if held else ""
        advice = [
            f"functools.partial of a function at the top level of the file, which is given {kept}"
            if kept
            else "def it at the top level of the file",
            "num_workers=0, or multiprocessing_context='fork' where the system has it",
        ]
    return Explanation("process", summary, advice=tuple(advice))


def _unnamed(name: str, value: object) -> Iterator[tuple[str, FunctionType]]:
    """Where a value of the program holds a function that no module knows by name, and the function."""
    if _is_unnamed(value):
        yield name, value
    inner = getattr(value, "__dict__", {}).get("dataset")
    parts: Iterable[tuple[str, object]] = [(name, value), (f"{name}.dataset", inner)]
    if isinstance(value, torch.nn.Module):
        parts = [(".".join(filter(None, (name, path))), one) for path, one in value.named_modules()]
    for path, one in parts:
        for key, held in getattr(one, "__dict__", {}).items():
            several = dict(enumerate(held)) if isinstance(held, list | tuple) else {"": held}
            for place, each in several.items():
                if _is_unnamed(each):
                    yield f"{path}.{key}" + (f"[{place}]" if place != "" else ""), each


def _is_unnamed(value: object) -> TypeGuard[FunctionType]:
    """Whether a value is a function of the program that no module knows by its name."""
    own = inspect.isfunction(value) and not is_library(value.__code__.co_filename)
    return own and "<" in getattr(value, "__qualname__", "")
