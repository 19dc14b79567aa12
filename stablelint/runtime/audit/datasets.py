"""What data sets hold, and what their workers draw, found without making an item."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from operator import length_hint
from typing import Any, NamedTuple

import torch
from torch.utils.data import Subset

from stablelint.runtime.audit.record import LoaderFacts
from stablelint.runtime.audit.replayed import undisturbed
from stablelint.runtime.audit.values import fingerprint
from stablelint.runtime.tensors.state import current_state, moved

_HOLDERS = (list, tuple, torch.Tensor)
_MOST_ROWS, _MOST_BYTES = 20_000, 1 << 28  # that are compared between data sets
_COPIES = 3  # of one sample; what is there more often has few values
_NUMBERS = re.compile(r"[\d\s()\[\],.+e-]*")  # nested in lists and tuples


def same_everywhere(init: Any) -> list[str]:
    """The generators that two workers have in the same state once `init` was called in each, as tried here."""
    states = []
    for worker in (0, 1):
        with undisturbed():
            for module, seed in (("torch", "manual_seed"), ("random", "seed"), ("numpy.random", "seed")):
                if module in sys.modules:
                    getattr(sys.modules[module], seed)(worker)  # as a loader does before
            try:
                init(worker)
            except Exception:  # it asks for more than a worker's number
                return []
            states.append(current_state())
    same = zip(("torch", "random", "numpy"), moved(*states), strict=False)
    return [name for name, apart in same if not apart and (name != "numpy" or name in sys.modules)]


def generators(dataset: Any, lead: str = "") -> Iterator[tuple[str, object]]:
    """Random generators among the attributes of a data set, and of the one it wraps."""
    for name, value in list(getattr(dataset, "__dict__", {}).items()):
        if isinstance(value, torch.Generator) or type(value).__module__.startswith(
            ("numpy.random", "random")
        ):
            yield f"{lead}{name}", value
        elif name in ("dataset", "transform", "augment"):
            yield from generators(value, f"{lead}{name}.")


class Shared(NamedTuple):
    """How many samples of a loader one that is trained on has, too, of how many."""

    found: int
    total: int
    doubtful: bool  # the one that is trained on holds some twice, and they may be others of equal values
    by_chance: bool  # as those of few values do


def shared_samples(trained: LoaderFacts, other: LoaderFacts) -> Shared | None:
    """What two loaders share; None where it is not known."""
    ours, theirs = _identities(trained.loader.dataset), _identities(other.loader.dataset)
    if not ours or not theirs or type(ours[0]) is not type(theirs[0]):
        if (trained.repeats and not trained.telling) or not trained.samples or not other.samples:
            return None
        ours, theirs = [*trained.samples], [*other.samples]
    elif trained.loader.dataset is other.loader.dataset and not other.batches:
        return None
    known = set(ours)
    shared = sum(one in known for one in theirs)
    # Samples of few values meet, as they do again and again within the training data.
    counts = Counter(ours)
    chance = sum(count for count in counts.values() if count > _COPIES) / len(ours)
    by_chance = 0 < shared <= 4 * chance * len(theirs) and not trained.telling
    return Shared(shared, len(theirs), len(counts) < len(ours) and not trained.telling, by_chance)


def _identities(dataset: Any) -> list[Any]:
    """Hashes of what a data set holds of each, or else indices into what a subset is of; no item is made."""
    if isinstance(dataset, Subset):
        rows = _identities(dataset.dataset)
        known = len(rows) == length_hint(dataset.dataset)
        return [rows[int(at)] if known else (id(dataset.dataset), int(at)) for at in dataset.indices]
    count = length_hint(dataset)
    fields = getattr(dataset, "tensors", None) or list(getattr(dataset, "__dict__", {}).values())
    held = [one for one in fields if isinstance(one, _HOLDERS) or type(one).__module__ == "numpy"]
    held = [one for one in held if 0 < count == length_hint(one)]
    most = min(_MOST_ROWS, _MOST_BYTES // max(1, sum(getattr(one[0], "nbytes", 1) for one in held)))
    return [one for one in map(_print, islice(zip(*held, strict=True), most)) if one is not None]


def _print(row: tuple[Any, ...]) -> bytes | None:
    """A hash of all that is held of a sample; None where that is no more than a number, or not only numbers."""
    try:
        parts = [torch.as_tensor(one) if hasattr(one, "__array__") else repr(one) for one in row]
    except (TypeError, ValueError):  # an array of objects
        return None
    texts = [one for one in parts if isinstance(one, str)]
    tensors = [one for one in parts if isinstance(one, torch.Tensor)]
    if any(_NUMBERS.fullmatch(one) is None for one in texts):
        return None
    several = any("," in one for one in texts) or any(one.numel() > 1 for one in tensors)
    return b"".join([*map(str.encode, texts), *map(fingerprint, tensors)]) if several else None
