"""Errors of data sets and of loaders' workers."""

from __future__ import annotations

import linecache
import re

from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.frames import is_library
from stablelint.runtime.program.location import Location

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (.+)')
_SAMPLE = re.compile(r"stablelint: (sample .+ of \w+)")

# What torch says of samples of different shapes: in this process, and where a worker writes them to shared memory.
_UNEQUAL = ("stack expects each tensor to be equal size", "resize storage that is not resizable")


@explains(r"Caught (\w+) in DataLoader worker process (\d+)")
def worker(scene: Scene, match: re.Match[str]) -> Explanation:
    """An exception that a worker handed on: its own place, and the sample."""
    sample = _SAMPLE.search(scene.message)
    raised = [text for text in scene.message.strip().splitlines() if text.startswith(match[1])]
    what = raised[-1] if raised else match[1]
    summary = f"worker {match[2]}: {what}"
    if sample is not None:
        summary = f"{sample[1]}: {what} (worker {match[2]})"
    advice = (
        [f"dataset[{sample[1].split()[1]}] raises it without a loader"]
        if sample is not None
        else ["num_workers=0 raises it in this process"]
    )
    if any(one in scene.message for one in _UNEQUAL):
        summary = f"the samples of a batch differ in shape: {what} (worker {match[2]})"
        advice = ["pad or crop them in the data set, or give the loader a collate_fn"]
    return _elsewhere(scene, "data", summary, advice, "the loop waited here")


@explains(r"-- Process (\d+) terminated with the following error:\n(?:.*\n)+?(\w[\w.]*: .*)")
def spawned(scene: Scene, match: re.Match[str]) -> Explanation:
    """An exception in a process that `torch.multiprocessing` started."""
    advice = [f"call the function with {match[1]} in this process to debug it"]
    return _elsewhere(scene, "process", f"process {match[1]}: {match[2]}", advice, "the parent waited here")


def _elsewhere(scene: Scene, kind: str, summary: str, advice: list[str], waiting: str) -> Explanation:
    """The explanation of an exception whose message holds the traceback of another process."""
    places = [found for found in _FRAME.finditer(scene.message) if not is_library(found[1])]
    at = None
    if places:
        filename, row = places[-1][1], int(places[-1][2])
        at = Location(filename, row, None, linecache.getline(filename, row).strip(), places[-1][3])
    other = ((waiting, scene.location),) if at and scene.location else ()
    return Explanation(kind, summary, advice=tuple(advice), location=at, other=other)


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


@explains(
    r"default_collate: batch must contain .* found <class '([\w.]+)'>|"
    r"expected Tensor as element \d+ in argument 0, but got (\w+)"
)
def collated(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """Samples that make no batch: objects, or None from a path without `return`."""
    collating = scene.called("default_collate") is not None or "collate" in scene.message
    if not collating:
        return None
    kind = match[1] or match[2]
    advice = "give the loader a collate_fn, or make tensors of them in the data set"
    if kind.startswith("PIL."):
        advice = "the data set lacks a transform that ends in ToTensor()"
    elif kind == "NoneType":
        advice = "a path through __getitem__ returns nothing"
    told = f"a batch cannot be made of samples that hold {kind}"
    fetched, place = scene.called("fetch"), re.search(r"as element (\d+) in", scene.message)
    indices = fetched.names.get("possibly_batched_index") if fetched is not None else None
    if place is not None and isinstance(indices, list) and int(place[1]) < len(indices):
        told += f", as sample {indices[int(place[1])]} does"
    return Explanation("data", told, advice=(advice,))


@explains(r"")
def sample(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """An exception of a data set in this process."""
    notes = " ".join(getattr(scene.error, "__notes__", ()))
    found = _SAMPLE.search(notes)
    if found is None or scene.user is None:
        return None
    return Explanation("data", f"{found[1]}: {scene.message}")
