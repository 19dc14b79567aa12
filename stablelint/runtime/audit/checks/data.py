"""Is the data what the model expects?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.utils.data import SequentialSampler, Subset, TensorDataset

from stablelint.runtime.audit.modules import NORMALISING
from stablelint.runtime.audit.outcome import Outcome, all_of, check, failed, passed, warned
from stablelint.runtime.audit.record import LayerFacts, LoaderFacts, Run
from stablelint.runtime.audit.values import dense, fingerprint, summary_of
from stablelint.runtime.plain import shape_text

ORDER = 0
_MATRICES = (nn.Linear, nn.modules.conv._ConvNd, nn.RNNBase, nn.Bilinear)
_ENOUGH_ROWS = 16
_MOST_ROWS = 20_000  # that are compared between data sets
_LARGE = 20.0  # an input far from the unit scale
_UNEQUAL = 100.0  # times that the widest column is wider than the median one
_PIXELS = (10.0, 255.0)  # the largest value of images that were not scaled


def _batches(run: Run) -> list[torch.Tensor]:
    """The floating-point inputs of the passes that were trained."""
    return [one for call in run.trained for one in call.inputs if one.is_floating_point() and one.numel()]


def _table(run: Run) -> torch.Tensor | None:
    """The rows of all two-dimensional inputs of the same width, below each other."""
    tables = [one for one in _batches(run) if one.dim() == 2 and one.shape[1] > 1]
    if not tables:
        return None
    rows = dense(torch.cat([one for one in tables if one.shape[1] == tables[0].shape[1]]))
    return rows if rows.shape[0] >= _ENOUGH_ROWS else None


def _first_matrix(run: Run) -> LayerFacts | None:
    """The first layer with parameters, if it is one that multiplies its input."""
    for layer in run.layers.values():
        if layer.first is not None and layer.train_calls:
            fits = isinstance(layer.module, _MATRICES) and layer.first.is_floating_point()
            return layer if fits and layer.first.numel() else None
    return None


@check(needs="floating-point inputs of a trained pass")
def finite_inputs(run: Run) -> Outcome | None:
    """Inputs hold no NaN and no Inf."""
    batches = _batches(run)
    if bad := [summary_of(one) for one in batches if not bool(torch.isfinite(one).all())]:
        at = run.trained[0].site
        text = f"{len(bad)} of {len(batches)} inputs: {bad[0].nan} NaN and {bad[0].inf} Inf in one of {bad[0].shape}"
        return failed(text, "find the samples and repair or drop them before they are batched", at=at)
    return all_of(len(batches), "input")


@check(needs="16 rows of a two-dimensional input, or inputs of more dimensions")
def varying_features(run: Run) -> Outcome | None:
    """Every input feature varies."""
    if (table := _table(run)) is None:
        return _varying_arguments(run)
    rows, columns = table.shape
    still = [f"column {index}" for index in (table == table[:1]).all(0).nonzero().flatten().tolist()]
    if not still:
        return passed(f"{columns} columns over {rows} rows")
    text = f"{len(still)} of {columns} columns have one value in {rows} rows: {{names}}"
    remedy = "drop them, or see why they were not filled"
    return (failed if 2 * len(still) > columns else warned)(text, remedy, *still)


def _varying_arguments(run: Run) -> Outcome | None:
    """Whether an argument of more than two dimensions, such as an image, holds one value in most passes."""
    seen: dict[int, list[torch.Tensor]] = {}
    for call in run.trained:
        for position, one in enumerate(call.inputs):
            if one.is_floating_point() and one.dim() > 2 and one.numel():
                seen.setdefault(position, []).append(one)
    for batches in seen.values():
        constant = [one for one in batches if bool((one == one.flatten()[0]).all())]
        if 2 * len(constant) > len(batches):
            text = f"{len(constant)} of {len(batches)} inputs hold one value, {float(constant[0].flatten()[0]):.3g}"
            return failed(text, "look at what the loader hands out", at=run.trained[0].site)
    return all_of(sum(map(len, seen.values())), "input")


@check(needs="16 rows of a two-dimensional input")
def distinct_features(run: Run) -> Outcome | None:
    """No input feature is there twice."""
    table = _table(run)
    if table is None or not bool(torch.isfinite(table).all()):
        return None
    moving = [index for index in range(table.shape[1]) if bool((table[:, index] != table[0, index]).any())]
    seen: dict[bytes, int] = {}
    pairs = []
    for index in moving:
        other = seen.setdefault(fingerprint(table[:, index]), index)
        if other != index and len(set(table[:, index].tolist())) > 4:
            pairs.append(f"columns {other} and {index}")
    if pairs:
        return warned("{names} are the same in all rows", "drop one of each", *pairs)
    return passed(f"{len(moving)} columns over {table.shape[0]} rows")


@check(needs="a first layer that multiplies its input")
def input_scale(run: Run) -> Outcome | None:
    """What the first layer multiplies is near the unit scale."""
    layer = _first_matrix(run)
    if layer is None or layer.first is None:
        return None
    seen = summary_of(layer.first)
    if seen.low >= 0 and _PIXELS[0] < seen.high <= _PIXELS[1] and len(seen.shape) == 4:
        text = f"{layer.name} takes images of {seen.low:.3g} … {seen.high:.3g}"
        return failed(text, "divide by 255 and normalise by the mean and deviation of the data", layer.name)
    if seen.integral and seen.high > _LARGE and len(seen.shape) < 4:
        text = f"{layer.name} multiplies whole numbers, {seen.spread}, as if they were quantities"
        return failed(
            text, "numbers that name something go through an embedding; counts are scaled", layer.name
        )
    if len(seen.shape) == 2 and seen.shape[0] >= _ENOUGH_ROWS and seen.shape[1] > 1:
        widths = dense(layer.first).std(0)
        widest = int(widths.argmax())
        middle = float(widths[widths > 0].median()) if bool((widths > 0).any()) else 0.0
        if middle and float(widths[widest]) > _UNEQUAL * middle:
            text = (
                f"column {widest} of the input of {layer.name} has deviation {float(widths[widest]):.3g}, "
                f"the median column {middle:.3g}"
            )
            return failed(text, "standardise the columns", f"column {widest}", layer.name)
    if max(abs(seen.low), abs(seen.high)) > 10 * _LARGE or seen.deviation > _LARGE:
        return failed(f"{layer.name} takes {seen.spread}", "standardise the input", layer.name)
    if 0 < seen.deviation < 1e-3 and abs(seen.mean) < 1e-2:
        return failed(f"{layer.name} takes {seen.spread}", "the input was scaled down twice?", layer.name)
    return passed(f"{layer.name} takes {seen.spread}")


@check(needs="a boolean or 0/1 mask among the inputs")
def masks_leave_something(run: Run) -> Outcome | None:
    """Masks keep at least one position."""
    masks = [
        one
        for call in run.trained
        for one in call.inputs
        if one.dim() == 2 and one.numel() and (one.dtype is torch.bool or _is_zero_one(one))
    ]
    for mask in masks:
        rows = [f"row {index}" for index in (~mask.bool()).all(1).nonzero().flatten().tolist()]
        if 0 < len(rows) < mask.shape[0]:
            text = f"all False in a mask {shape_text(mask.shape)}: {{names}}"
            remedy = "drop these samples, or keep one position of each"
            return failed(text, remedy, *rows, at=run.trained[0].site)
    return all_of(len(masks), "mask")


def _is_zero_one(tensor: torch.Tensor) -> bool:
    return not tensor.is_floating_point() and int(tensor.min()) == 0 and int(tensor.max()) == 1


def _training_loaders(run: Run) -> list[LoaderFacts]:
    return [one for one in run.loaders if one.trained]


@check(needs="a DataLoader that is trained on")
def shuffled(run: Run) -> Outcome | None:
    """Training samples come in random order."""
    loaders = _training_loaders(run)
    for facts in loaders:
        if not isinstance(_sampler(facts.loader), SequentialSampler) or _length(facts.loader) < 2:
            continue
        text = f"the loader of {type(facts.loader.dataset).__name__} reads its samples in the order in which they are stored"
        alone = [
            len(set(one.target.flatten().tolist())) == 1
            for one in run.class_losses()
            if one.target.numel() > 3
        ]
        if alone and sum(alone) * 2 > len(alone):
            text += f"; {sum(alone)} of {len(alone)} batches hold one class"
        return failed(text, "DataLoader(…, shuffle=True)")
    return all_of(len(loaders), "loader")


def _sampler(loader: Any) -> object:
    """What orders the samples: a loader that is given batches of indices has its own sampler idle."""
    found = getattr(loader, "batch_sampler", None)
    while found is not None and hasattr(found, "batch_sampler"):
        found = found.batch_sampler
    return getattr(found, "sampler", None) if found is not None else getattr(loader, "sampler", None)


@check(needs="two trained passes from one DataLoader")
def new_batches(run: Run) -> Outcome | None:
    """Every step has a batch of its own."""
    calls = [one for one in run.trained if one.fetched_from is not None and one.fingerprint]
    if len(calls) < 3:
        return None
    counts = Counter((id(one.root), one.fingerprint) for one in calls)
    (_, most), facts = counts.most_common(1)[0], calls[0].fetched_from
    assert isinstance(facts, LoaderFacts)
    if most * 2 > len(calls) and _length(facts.loader) > 1:
        text = f"{most} of {len(calls)} steps had the same batch, of {_length(facts.loader)} in the loader"
        if facts.iterators * 2 > facts.batches:
            text += "; the loader was started anew for each"
        return failed(text, "iterate over the loader: `for batch in loader:`", at=calls[0].site)
    return passed(f"{len(counts)} different batches in {len(calls)} steps")


@check(needs="a DataLoader and its length")
def last_batch(run: Run) -> Outcome | None:
    """No batch has a single sample where a layer normalises over the batch."""
    loaders = [(one, one.batch_size) for one in _training_loaders(run) if one.batch_size]
    normalising = [layer.name for layer in run.layers.values() if isinstance(layer.module, NORMALISING)]
    for facts, size in loaders:
        total = _length(facts.loader.dataset)
        if total and size and size > 1 and total % size == 1 and not facts.drops_last:
            text = f"{total} samples in batches of {size}: the last batch has one"
            if normalising:
                return failed(
                    f"{text}, and {normalising[0]} normalises over it", "drop_last=True", *normalising[:1]
                )
            return passed(f"{text}, and no layer normalises over it")
    return all_of(len(loaders), "loader")


@check(needs="a DataLoader with two workers, trained on")
def worker_randomness(run: Run) -> Outcome | None:
    """Workers draw different random numbers."""
    several = [one for one in _training_loaders(run) if getattr(one.loader, "num_workers", 0) > 1]
    for facts in several:
        if facts.loader.worker_init_fn is not None:
            continue
        for name, generator in _generators(facts.loader.dataset):
            text = (
                f"`{name}` of the data set, a {type(generator).__name__}, is copied into "
                f"{facts.loader.num_workers} workers: each draws the same numbers"
            )
            return failed(text, "make it in worker_init_fn, from torch.initial_seed()", name)
    return passed(f"{len(several)} loaders with workers") if several else None


def _generators(dataset: Any, lead: str = "") -> Iterator[tuple[str, object]]:
    """Random generators among the attributes of a data set, and of the one it wraps."""
    for name, value in list(getattr(dataset, "__dict__", {}).items()):
        if isinstance(value, torch.Generator) or type(value).__module__.startswith(
            ("numpy.random", "random")
        ):
            yield f"{lead}{name}", value
        elif name in ("dataset", "transform", "augment"):
            yield from _generators(value, f"{lead}{name}.")


@check(
    needs="two DataLoaders, one trained on, over tensors or subsets or with a pass over both (`--batches`)"
)
def separate_validation(run: Run) -> Outcome | None:
    """Training and validation share no sample."""
    others = [one for one in run.loaders if not one.trained]
    pairs = [_shared(facts, other) for facts in _training_loaders(run) for other in others]
    seen = [one for one in pairs if one is not None]
    # Where something else is held out, the training data themselves are looked at on purpose.
    for shared, total in (
        seen if all(count for count, _ in seen) else [one for one in seen if one[0] < one[1]]
    ):
        if shared:
            text = f"{shared} of {total} validation samples are among those trained on"
            return failed(text, "split before loaders are made, without overlap")
    return passed("no sample is in both") if seen else None


def _shared(trained: LoaderFacts, other: LoaderFacts) -> tuple[int, int] | None:
    """How many samples of a loader one that is trained on has, too, of how many; None where that is not known."""
    ours, theirs = _identities(trained.loader.dataset), _identities(other.loader.dataset)
    if not ours or not theirs or type(next(iter(ours))) is not type(next(iter(theirs))):
        if trained.repeats or not trained.samples or not other.samples:
            return None
        ours, theirs = trained.samples, other.samples
    elif trained.loader.dataset is other.loader.dataset and not other.batches:
        return None
    return len(ours & theirs), len(theirs)


def _identities(dataset: Any) -> set[Any]:
    """Indices into the data set that a subset shares, or hashes of the rows of tensors; no item is made."""
    if isinstance(dataset, Subset):
        return {(id(dataset.dataset), int(index)) for index in dataset.indices}
    if isinstance(dataset, TensorDataset) and len(dataset):
        rows = dataset.tensors[0][:_MOST_ROWS]
        return {fingerprint(row) for row in rows} if rows[0].numel() > 1 else set()
    return set()


def _length(sized: Any) -> int:
    try:
        return len(sized)
    except TypeError:  # an iterable data set, or its loader
        return 0
