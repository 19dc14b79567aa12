"""Is the data what the model expects?"""

from __future__ import annotations

from collections import Counter
from operator import length_hint
from typing import Any

import torch
from torch import nn
from torch.utils.data import SequentialSampler

from stablelint.runtime.audit.datasets import generators, same_everywhere, shared_samples
from stablelint.runtime.audit.outcome import Outcome, Status, all_of, check, failed, passed, warned
from stablelint.runtime.audit.record import LayerFacts, LoaderFacts, Run
from stablelint.runtime.audit.tokens import is_mask, is_tokens, padding_of
from stablelint.runtime.audit.values import dense, fingerprint, rows_differ, summary_of
from stablelint.runtime.plain import shape_text

ORDER = 0
_MATRICES = (nn.Linear, nn.modules.conv._ConvNd, nn.RNNBase, nn.Bilinear)
_TABLES = (nn.Embedding, nn.EmbeddingBag)
_ENOUGH_ROWS = 16
_SPARSE = 0.4  # share of zeros in a column, as of one among several kinds
_SORTED = 0.2  # share of samples that follow one of their class, above that of chance
_LARGE = 20.0  # an input far from the unit scale
_FLAT = 20.0  # times that a mean exceeds the deviation around it
_UNEQUAL = 100.0  # times that the widest column is wider than the median one
_PIXELS = (10.0, 255.0)  # the largest value of images that were not scaled


def _batches(run: Run) -> list[torch.Tensor]:
    """The floating-point inputs of the passes that were trained; what comes again counts once."""
    inputs = (one for call in run.trained for one in call.inputs)
    return [*{fingerprint(one): one for one in inputs if one.is_floating_point() and one.numel()}.values()]


def _table(run: Run) -> torch.Tensor | None:
    """The rows of all two-dimensional inputs of the same width, below each other."""
    tables = [one for one in _batches(run) if one.dim() == 2 and one.shape[1] > 1]
    if not tables:
        return None
    rows = dense(torch.cat([one for one in tables if one.shape[1] == tables[0].shape[1]]))
    return rows if rows.shape[0] >= _ENOUGH_ROWS else None


def _first_matrix(run: Run) -> LayerFacts | None:
    """The first layer that multiplies its input, where only embeddings stand before it."""
    for layer in run.layers.values():
        if layer.first is not None and layer.train_calls and not isinstance(layer.module, _TABLES):
            fits = isinstance(layer.module, _MATRICES) and layer.first.is_floating_point()
            return layer if fits and layer.first.numel() else None
    return None


@check(needs="floating-point inputs of a trained pass")
def finite_inputs(run: Run) -> Outcome | None:
    """Inputs and targets hold no NaN and no Inf."""
    batches = [(one, "an input", run.trained[0].site) for one in _batches(run)]
    targets = [one for one in run.losses if one.grad and one.target.is_floating_point()]
    batches += [(one.target, "a target", one.site) for one in targets]
    if bad := [one for one in batches if not bool(torch.isfinite(dense(one[0])).all())]:
        values, what, at = bad[0]
        seen = summary_of(values)
        text = f"{len(bad)} of {len(batches)} inputs and targets: {seen.nan} NaN and {seen.inf} Inf in {what}"
        text += f" of {shape_text(seen.shape)}"
        spoiled = (~torch.isfinite(dense(values))).reshape(-1, seen.shape[-1]).any(0)
        tabular = len(seen.shape) in (2, 3) and not bool(spoiled.all())
        columns = [f"column {index}" for index in spoiled.nonzero().flatten().tolist()] if tabular else []
        text += ", in {names}" if columns else ""
        remedy = "find the samples and repair or drop them before they are batched"
        return failed(text, remedy, *columns, at=at)
    return all_of(len(batches), "tensor")


@check(needs="16 rows of a two-dimensional input, or samples of more dimensions or of integers")
def varying_features(run: Run) -> Outcome | None:
    """Every input feature varies, and for itself."""
    if (table := _table(run)) is None:
        return _varying_samples(run)
    rows, columns = table.shape
    same = (table == table[:1]).all(0)
    empty, sparse = ~(table != 0).any(0), ~same & ((table == 0).float().mean(0) > _SPARSE)
    if bool(sparse.any()) and (int(empty.sum()) <= int(sparse.sum()) or rows < columns):
        same &= ~empty  # kinds or words that have not come yet, among those that have
    if still := [f"column {index}" for index in same.nonzero().flatten().tolist()]:
        text = f"{len(still)} of {columns} columns have one value in the {rows} rows seen: {{names}}"
        remedy = "drop them, or see why they were not filled"
        return (failed if 2 * len(still) > columns else warned)(text, remedy, *still, at=run.trained[0].site)
    seen: dict[bytes, int] = {}
    for index in range(columns if bool(torch.isfinite(table).all()) else 0):
        other = seen.setdefault(fingerprint(table[:, index]), index)
        if other != index and len(set(table[:, index].tolist())) > 4:
            text, pair = "{names} are the same in all rows", f"columns {other} and {index}"
            return warned(text, "drop one of each such pair", pair, at=run.trained[0].site)
    return passed(f"{columns} columns over {rows} rows")


def _varying_samples(run: Run) -> Outcome | None:
    """Whether the samples of most passes, in all that is no mask, are the same, or an image holds one value."""
    alike, count = [], 0
    for call in run.trained:
        wide = [one for one in call.inputs if one.dim() > 1 and one.layout is torch.strided and one.numel()]
        wide = [one for one in wide if one.dim() > 2 or not one.is_floating_point()]
        wide = [one for one in wide if not is_mask(one)] or wide
        flat = [one for one in wide if one.is_floating_point() and bool((one == one.flatten()[0]).all())]
        same = bool(wide) and len(wide[0]) > 1 and not any(map(rows_differ, wide))
        alike += [call] * (same or bool(flat))
        count += bool(wide)
    if 2 * len(alike) > count:
        values = next(one for one in alike[0].inputs if one.dim() > 1)
        single = bool((values == values.flatten()[0]).all())
        what = f"one value, {float(values.flatten()[0]):.3g}" if single else "samples that are all the same"
        text = f"{len(alike)} of {count} inputs {shape_text(tuple(values.shape))} hold {what}"
        return failed(text, "look at what the data set gives for each index", at=alike[0].site)
    return all_of(count, "input")


@check(needs="a first layer, behind embeddings if there are any, that multiplies its input")
def input_scale(run: Run) -> Outcome | None:
    """What the first layer multiplies is near the unit scale."""
    layer = _first_matrix(run)
    if layer is None or layer.first is None:
        return None
    seen, names = summary_of(layer.first), [layer.name]
    text, remedy = f"{layer.name} takes {seen.spread}", ""
    if seen.low >= 0 and _PIXELS[0] < seen.high <= _PIXELS[1] and len(seen.shape) == 4:
        text = f"{layer.name} takes images of {seen.low:.3g} … {seen.high:.3g}"
        remedy = "divide by 255 and normalise by the mean and deviation of the data"
    elif seen.integral and seen.high > _LARGE and len(seen.shape) < 4:
        text = f"{layer.name} multiplies whole numbers, {seen.spread}, as if they were quantities"
        remedy = "numbers that name something go through an embedding; counts are scaled"
    elif (odd := _widest(layer.first)) is not None:
        column, wide, middle = odd
        name = _column_named(run, layer.first[:, column], f"column {column}")
        text = f"{name} of the input of {layer.name} has deviation {wide:.3g}, the median column {middle:.3g}"
        names, remedy = [name, layer.name], "standardise the columns"
    elif max(abs(seen.low), abs(seen.high)) > 10 * _LARGE or seen.deviation > _LARGE:
        remedy = "standardise the input"
    elif 0 < seen.deviation < 1e-3 and abs(seen.mean) < 1e-2:
        remedy = "the input was scaled down twice?"
    elif abs(seen.mean) > _FLAT * seen.deviation > 0:
        text += ": hardly anything beside its mean"
        remedy = "subtract and divide by mean and deviation on the scale of the data"
    return failed(text, remedy, *names, at=run.trained[0].site) if remedy and run.trained else passed(text)


def _widest(table: torch.Tensor) -> tuple[int, float, float] | None:
    """The column that is far wider than the median one: its index, and the deviations of both."""
    if table.dim() != 2 or table.shape[0] < _ENOUGH_ROWS or table.shape[1] < 2:
        return None
    widths = dense(table).std(0)
    column, moving = int(widths.argmax()), widths[widths > 0]
    middle = float(moving.median()) if len(moving) else 0.0
    return (column, float(widths[column]), middle) if float(widths[column]) > _UNEQUAL * middle > 0 else None


def _column_named(run: Run, values: torch.Tensor, otherwise: str) -> str:
    """The column of a two-dimensional input of the model that holds these values."""
    table = next((one for one in _batches(run) if one.dim() == 2 and len(one) == len(values)), None)
    same = (table == values[:, None]).all(0).nonzero().flatten().tolist() if table is not None else []
    return f"column {same[0]}" if same else otherwise


@check(needs="a boolean or 0/1 mask among the inputs")
def masks_leave_something(run: Run) -> Outcome | None:
    """Masks keep at least one position."""
    masks = [
        one
        for call in run.trained
        for one in call.inputs
        if one.dim() == 2 and one.numel() and is_mask(one) and not bool(one.all())
    ]
    for mask in masks:
        empty = (~mask.bool()).all(1)
        rows = [f"row {index}" for index in empty.nonzero().flatten().tolist()]
        # Where True marks padding, the first place of a row has none.
        if 0 < len(rows) < mask.shape[0] and float(mask[~empty, 0].float().mean()) > 0.5:
            text = f"all False in a mask {shape_text(mask.shape)}: {{names}}"
            remedy = "drop these samples, or keep one position of each"
            return failed(text, remedy, *rows, at=run.trained[0].site)
    return all_of(len(masks), "mask")


@check(needs="token sequences of different lengths, with a mask beside them")
def padding_masked(run: Run) -> Outcome | None:
    """Masks leave out padding."""
    count = 0
    for call in run.trained:
        for tokens in filter(is_tokens, call.inputs):
            masks = [one for one in call.inputs if one.shape == tokens.shape and is_mask(one)]
            if not masks or (padding := padding_of(tokens)) is None:
                continue
            count += 1
            if all(bool((one == one.flatten()[0]).all()) for one in masks):
                share = f"{float(padding.float().mean()):.0%} of the tokens are padding"
                text = f"{share} (token {int(tokens[padding][0])}), and the mask leaves none of them out"
                return failed(text, "attention_mask = tokens != padding", at=call.site)
    return all_of(count, "pass")


def _training_loaders(run: Run) -> list[LoaderFacts]:
    return [one for one in run.loaders if one.trained]


@check(needs="a DataLoader that is trained on")
def shuffled(run: Run) -> Outcome | None:
    """Training samples come in random order."""
    loaders = _training_loaders(run)
    for facts in loaders:
        if not isinstance(_sampler(facts.loader), SequentialSampler) or length_hint(facts.loader) < 2:
            continue
        text = f"the loader of {type(facts.loader.dataset).__name__} reads its samples in the order in which they are stored"
        binary = run.trained_losses("binary_cross_entropy", "binary_cross_entropy_with_logits")
        targets = [one.target for one in run.class_losses() + binary]
        labels = [one.flatten() for one in targets if one.numel() == len(one)]  # one for each sample
        same = torch.cat([one[1:] == one[:-1] for one in labels or [torch.zeros(0)]])
        _, counts = torch.cat(labels or [torch.zeros(1)]).unique(return_counts=True)
        alike, chance = float(same.float().mean()), float((counts / counts.sum()).square().sum())
        if not alike >= chance + _SORTED:  # they may be stored at random
            return warned(f"{text}, in each epoch", "DataLoader(…, shuffle=True)", at=facts.site)
        text += f"; {alike:.0%} have the class of the one before, {chance:.0%} at random"
        return failed(text, "DataLoader(…, shuffle=True)", at=facts.site)
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
    most, facts = max(counts.values()), calls[0].fetched_from
    if facts is not None and most * 2 > len(calls) and length_hint(facts.loader) > 1:
        text = f"{most} of {len(calls)} steps had the same batch"
        remedy = "look at what the data set gives for each index"
        if facts.iterators * 2 > facts.batches:
            text += "; the loader was started anew for each"
            remedy = "iterate over the loader: `for batch in loader:`"
        return failed(text, remedy, at=calls[0].site)
    return passed(f"{len(counts)} different batches in {len(calls)} steps")


@check(needs="a DataLoader with two workers, trained on")
def worker_randomness(run: Run) -> Outcome | None:
    """Workers draw different random numbers."""
    several = [one for one in _training_loaders(run) if getattr(one.loader, "num_workers", 0) > 1]
    for facts in several:
        init = facts.loader.worker_init_fn
        if same := same_everywhere(init) if init is not None else []:
            text = "worker_init_fn gives {names} the same state in each worker, and in each epoch"
            remedy = "seed from torch.initial_seed(), which differs from worker to worker"
            return failed(text, remedy, *same, at=facts.site)
        for name, generator in generators(facts.loader.dataset) if init is None else ():
            text = (
                f"`{name}` of the data set, a {type(generator).__name__}, is copied into "
                f"{facts.loader.num_workers} workers: each draws the same numbers"
            )
            return failed(text, "make it in worker_init_fn, from torch.initial_seed()", name, at=facts.site)
    return passed(f"{len(several)} loaders with workers") if several else None


@check(
    needs="two DataLoaders, one trained on, over subsets or what holds its samples, or with a pass over both (`--batches`)"
)
def separate_validation(run: Run) -> Outcome | None:
    """Training and validation share no sample."""
    others = [one for one in run.loaders if not one.trained]
    pairs = ((other, shared_samples(facts, other)) for facts in _training_loaders(run) for other in others)
    seen = [(other, shared) for other, shared in pairs if shared is not None]
    # Where something else is held out, the training data themselves are looked at on purpose.
    on_purpose = not all(shared.found for _, shared in seen)
    told = [one for one in seen if 0 < one[1].found < one[1].total + (not on_purpose)]
    for other, shared in told:
        text = f"{shared.found} of {shared.total} validation samples are among those trained on"
        if shared.by_chance:
            return Outcome(Status.UNSEEN, f"{text}, by chance perhaps: there are few values in each")
        remedy = "split without overlap, and before rows are repeated; keep one of those that are equal"
        return (warned if shared.doubtful else failed)(text, remedy, at=other.site)
    return passed("no sample is in both") if seen else None
