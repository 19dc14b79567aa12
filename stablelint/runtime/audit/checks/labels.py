"""Do labels, outputs and loss fit each other?"""

from __future__ import annotations

import math

import torch
from torch import nn

from stablelint.runtime.audit.outcome import Outcome, all_of, check, failed, passed, warned
from stablelint.runtime.audit.record import LossCall, Run
from stablelint.runtime.audit.tokens import beside, is_told, padding_of, tables_of_tokens
from stablelint.runtime.audit.values import dense, fingerprint, summary_of
from stablelint.runtime.plain import shape_text

ORDER = 1
_DIFFERENCES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
_ENOUGH = 64  # labels, before their balance says something
_ONE_SIDED = 0.95
_LINEAR = ("addmm", "mm", "bmm", "convolution", "add")  # what makes the output of a last layer
_GIVES = {
    **dict.fromkeys(("relu", "softplus", "exp"), (0.0, math.inf)),
    **dict.fromkeys(("sigmoid", "softmax"), (0.0, 1.0)),
    "tanh": (-1.0, 1.0),
}
_ENOUGH_ROWS, _MOST_COLUMNS = 16, 4096  # of an input that targets are looked for in
_OFTEN = 3  # samples of a class: a column that is set in fewer may be so by chance


def _classes_last(values: torch.Tensor) -> torch.Tensor:
    """Rows of scores: the class dimension is the second, or the only one."""
    return values.detach().float().movedim(1, -1) if values.dim() > 1 else values.detach().float()


def _kept(call: LossCall) -> torch.Tensor:
    """The targets that are not ignored."""
    flat, ignored = call.target.flatten(), call.option("ignore_index")
    return flat if ignored is None else flat[flat != ignored]


@check(needs="a cross entropy or binary cross entropy of logits")
def raw_scores(run: Run) -> Outcome | None:
    """Cross entropy is given scores, not probabilities."""
    calls = run.trained_losses("cross_entropy")
    binary = run.trained_losses("binary_cross_entropy_with_logits")
    for call in calls:
        rows = _classes_last(call.input)
        if rows.shape[-1] > 1 and bool((rows >= 0).all()) and bool(((rows.sum(-1) - 1).abs() < 1e-3).all()):
            text = "every row of its input is positive and sums to 1: softmax was applied before"
            return failed(text, "give cross_entropy the output of the last layer", at=call.site)
    made = [one for one in binary if one.maker == "sigmoid"]
    if not made and all(one.maker not in _LINEAR and _is_share(one.input) for one in binary):
        made = binary
    if made:
        text = f"all inputs of {len(made)} calls lie within 0 … 1: sigmoid was applied before"
        remedy = "give binary_cross_entropy_with_logits the output of the last layer"
        return failed(text, remedy, at=made[0].site)
    return all_of(len(calls) + len(binary), "call")


@check(needs="a loss of torch.nn.functional that goes backward by itself, and one optimizer")
def minimised_loss(run: Run) -> Outcome | None:
    """What goes backward falls with the loss."""
    if not run.backwards or len(run.optimizers) != 1:
        return None
    first = run.backwards[0]
    for call, value in ((one, one.value or math.nan) for one in run.losses if one.grad):
        if math.isclose(abs(value), abs(first.value), rel_tol=1e-5):
            if value > 0 > first.value:
                text = (
                    f"{call.kind} is {value:.3g}, and {first.value:.3g} goes backward: steps make it larger"
                )
                return failed(text, "backward() of the loss itself, not of its negative", at=first.site)
            return passed(f"{call.kind} itself goes backward")
    return None


@check(needs="an nll_loss or kl_div")
def log_probabilities(run: Run) -> Outcome | None:
    """Losses of log-probabilities are given log-probabilities."""
    calls = run.trained_losses("nll_loss", "kl_div")
    for call in calls:
        rows = call.input.float() if call.kind == "kl_div" else _classes_last(call.input)
        total = torch.logsumexp(rows, -1)
        if bool((total.abs() > 1e-2).all()):
            text = f"{call.kind} is given rows whose probabilities sum to {float(total.exp().mean()):.3g}"
            return failed(text, "log_softmax over the classes before it: dim=1", at=call.site)
        if call.kind == "kl_div" and not call.option("log_target") and bool((call.target < 0).any()):
            return failed("kl_div is given log-probabilities as targets", "log_target=True", at=call.site)
    return all_of(len(calls), "call")


@check(needs="a binary cross entropy, or a cross entropy with floating-point targets")
def probable_targets(run: Run) -> Outcome | None:
    """Targets that are no class numbers are probabilities."""
    binary = run.trained_losses("binary_cross_entropy", "binary_cross_entropy_with_logits")
    soft = [one for one in run.trained_losses("cross_entropy") if one.target.is_floating_point()]
    for call in binary + soft:
        seen, total = summary_of(call.target), _classes_last(call.target).sum(-1)
        if not _is_share(call.target):
            text = f"targets of {seen.low:.3g} … {seen.high:.3g}"
            return failed(text, "use 0 and 1, or probabilities", at=call.site)
        if call.kind == "cross_entropy" and bool(((total - 1).abs() > 1e-2).any()):
            text = f"rows of the targets sum to {float(total.min()):.3g} … {float(total.max()):.3g}"
            return failed(text, "divide each row by its sum", at=call.site)
    return all_of(len(binary + soft), "call")


def _is_share(values: torch.Tensor) -> bool:
    """Whether all are between 0 and 1."""
    return bool(((values >= 0) & (values <= 1)).all())


@check(needs="a loss of differences")
def regression_shapes(run: Run) -> Outcome | None:
    """Outputs and targets of a regression have one shape."""
    calls = run.trained_losses(*_DIFFERENCES)
    for call in calls:
        ours, theirs = call.shapes
        if ours != theirs:
            text = f"{call.kind} takes {shape_text(ours)} against {shape_text(theirs)}: every output meets every target"
            return failed(text, "output.squeeze(-1), or target.unsqueeze(-1)", at=call.site)
    for facts in run.facts():
        if facts.crossed is not None:
            column, square, row = facts.crossed
            text = f"{shape_text(column)} became {shape_text(square)}: a column met a row"
            return failed(text, "give both the same shape before their difference is taken", at=row)
    seen = len(calls) or sum(1 for _ in run.facts())
    return passed(f"{seen} losses") if seen else None


@check(needs="64 labels of a classification")
def labels_and_classes(run: Run) -> Outcome | None:
    """Labels use the classes that the model has, which are several."""
    for call in run.trained_losses("cross_entropy"):
        if call.shapes[0][1:2] == (1,):
            text = f"the input is {shape_text(call.shapes[0])}: one class, whose probability is always 1"
            remedy = "two outputs, or one with binary_cross_entropy_with_logits"
            return failed(text, remedy, at=call.site)
    calls = run.class_losses()
    labels = torch.cat([_kept(one).cpu() for one in calls]) if calls else torch.empty(0)
    if len(labels) < _ENOUGH:
        return None
    call = calls[0]
    count = call.shapes[0][1] if len(call.shapes[0]) > 1 else call.shapes[0][0]
    low, high = int(labels.min()), int(labels.max())
    text = f"labels {low} … {high}, {count} outputs"
    vocabularies = [
        one.module.num_embeddings for one in run.layers.values() if isinstance(one.module, nn.Embedding)
    ]
    likely = len(labels) >= 10 * count and count not in vocabularies  # a text need not use all tokens
    if likely and low == 1 and high == count - 1 and count > 2:
        return warned(f"{text}: class 0 never occurs", "count classes from 0", at=call.site)
    if likely and high + 1 < count and count <= 1000:
        text = f"{text}: no label is above {high}"
        return warned(text, f"{high + 1} outputs, or see which classes are missing", at=call.site)
    return passed(f"{text}, in {len(labels)} labels")


@check(needs="64 labels")
def class_balance(run: Run) -> Outcome | None:
    """No class takes nearly all labels."""
    calls = run.class_losses() + run.trained_losses(
        "binary_cross_entropy", "binary_cross_entropy_with_logits"
    )
    if len(run.optimizers) > 1:  # a discriminator is asked for one class at a time
        return None
    labels = torch.cat([_kept(one).float().cpu() for one in calls]) if calls else torch.empty(0)
    values, counts = labels.unique(return_counts=True)
    if len(labels) < _ENOUGH or bool((values != values.round()).any()):
        return None
    share, most = float(counts.max()) / len(labels), float(values[counts.argmax()])
    weighted = any(one.option("weight") is not None or one.option("pos_weight") is not None for one in calls)
    if share > _ONE_SIDED and (len(values) == 1 or not weighted):
        part, remedy = "all" if len(values) == 1 else f"{share:.0%} of", "see how the labels are made"
        text = f"{part} {len(labels)} labels are {most:g}"
        remedy += "; weight the loss, or sample the classes evenly" if len(values) > 1 else ""
        return (failed if len(values) == 1 else warned)(text, remedy, at=calls[0].site)
    return passed(f"the most frequent of {len(values)} has {share:.0%} of {len(labels)}")


@check(needs="a classification with labels")
def ignored_targets(run: Run) -> Outcome | None:
    """Few targets are ignored."""
    calls = run.class_losses()
    for call in calls:
        kept, total = len(_kept(call)), call.target.numel()
        if total and not kept:
            return failed("a batch has no target that counts", "see how they are masked", at=call.site)
        if total and kept < 0.02 * total:
            text = f"{kept} of {total} targets count, the rest is {call.option('ignore_index')}"
            return warned(text, "see how they are masked", at=call.site)
    return all_of(len(calls), "call")


@check(needs="token sequences of different lengths and a label for each token")
def padding_ignored(run: Run) -> Outcome | None:
    """Padding is left out of the loss."""
    for call in run.class_losses():
        for tokens in tables_of_tokens(call):
            if (padding := padding_of(tokens)) is None:
                continue
            where, targets = beside(padding, call)
            counted = (targets != call.option("ignore_index")) & where
            share = float(counted.float().mean())
            if share > 0.1:
                text = f"{share:.0%} of the targets are padding (token {int(tokens[padding][0])}), and count"
                return failed(text, "cross_entropy(…, ignore_index=…), or -100 in their place", at=call.site)
            return passed(f"{float(where.float().mean()):.0%} of the tokens are padding, and do not count")
    return None


@check(needs="a loss of differences")
def reachable_targets(run: Run) -> Outcome | None:
    """The last operation can give what the targets ask for."""
    calls = run.trained_losses(*_DIFFERENCES)
    for call in calls:
        low, high = _GIVES.get(call.maker or "", (-math.inf, math.inf))
        seen = summary_of(call.target)
        if float(((call.target < low - 1e-3) | (call.target > high + 1e-3)).float().mean()) > 0.05:
            text = f"targets of {seen.low:.3g} … {seen.high:.3g}, and {call.maker} gives {low:g} … {high:g}"
            return failed(text, f"leave out {call.maker}, or bring the targets into its range", at=call.site)
    return all_of(len(calls), "call")


@check(needs="a loss of differences")
def constant_targets(run: Run) -> Outcome | None:
    """Targets that are computed, as of a reward and what is expected further on, pass no gradient."""
    calls = run.trained_losses(*_DIFFERENCES)
    for call in calls:
        if call.target_maker in ("add", "sub", "where"):
            text = "the target is a sum through which gradients flow: it moves towards the output"
            return warned(text, "torch.no_grad() where it is computed, or target.detach()", at=call.site)
    return all_of(len(calls), "call")


@check(needs="16 samples with targets and floating-point inputs, or a target for each token")
def withheld_targets(run: Run) -> Outcome | None:
    """Inputs do not hold the target."""
    calls = run.class_losses()
    for call in calls:
        tables = tables_of_tokens(call)
        if tables and all(is_told(one, call, 0) for one in tables):
            text = "each target is the token that the input has in its place: nothing is left to tell"
            return warned(text, "for the next token, x[:, :-1] against x[:, 1:]", at=call.site)
    calls += run.trained_losses(*_DIFFERENCES, "binary_cross_entropy_with_logits")
    known = _beside_inputs(calls)
    if held := [name for batches in known for name in _telling(batches)]:
        text = "the targets stand in the input: {names}"
        remedy = "leave them out: they are not known when the model is used"
        return failed(text, remedy, *held, at=calls[0].site)
    return all_of(len(calls) if known else 0, "call")


def _beside_inputs(calls: list[LossCall]) -> list[list[tuple[torch.Tensor, torch.Tensor]]]:
    """For each loss and input its rows and the targets beside them, by batch; a batch that comes again counts once."""
    found: dict[object, dict[object, tuple[torch.Tensor, torch.Tensor]]] = {}
    for call in calls:
        places, targets = call.rows or (None, call.target)
        for number, given in enumerate(call.forward.inputs if call.forward is not None else ()):
            rows = dense(given).cpu()
            if places is not None and rows.dim() and bool((places < len(rows)).all()):
                rows = rows[places.cpu()]
            width = math.prod(targets.shape[1:])
            # A target as large as the input is to be rebuilt, and a single column is a toy.
            fits = max(1, 2 * width - 2) < math.prod(rows.shape[1:]) <= _MOST_COLUMNS
            if fits and targets.dim() and len(rows) == len(targets):
                key = call.site, number, rows.shape[1:], targets.shape[1:]
                found.setdefault(key, {})[fingerprint(rows)] = rows, targets.cpu()
    several = ([*batches.values()] for batches in found.values())
    return [one for one in several if sum(len(rows) for rows, _ in one) >= _ENOUGH_ROWS]


def _telling(batches: list[tuple[torch.Tensor, torch.Tensor]]) -> list[str]:
    """The places in rows of an input that tell the target up to its scale, or most classes one by one."""
    rows, targets = (torch.cat(parts) for parts in zip(*batches, strict=True))
    told = _alike(rows, targets.reshape(len(targets), -1)).any(1)
    if not targets.is_floating_point() and targets.dim() == 1:
        classes, counts = targets.unique(return_counts=True)
        frequent = classes[counts >= _OFTEN]
        match = _alike(rows, targets[:, None] == frequent)
        told |= match.any(1) & (2 < len(frequent) <= 2 * int(match.any(0).sum()))
    places = (torch.unravel_index(index, rows.shape[1:]) for index in told.nonzero().flatten())
    return [f"[:, {', '.join(str(int(one)) for one in place)}]" for place in places]


def _alike(rows: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Which elements of the rows are a multiple of which target, from their means on."""
    centred = (one - one.mean(0) for one in (rows.flatten(1).double(), targets.double()))
    ours, theirs = (nn.functional.normalize(one, dim=0, eps=1e-300) for one in centred)
    return (ours.T @ theirs).abs() > 1 - 1e-9


@check(needs="a loss of differences")
def target_scale(run: Run) -> Outcome | None:
    """Regression targets are near the unit scale."""
    calls = run.trained_losses(*_DIFFERENCES)
    if not calls:
        return None
    seen = summary_of(torch.cat([one.target.flatten().float().cpu() for one in calls]))
    text = f"targets of {seen.spread}"
    if seen.deviation > 50 or abs(seen.mean) > 20 * max(seen.deviation, 1.0):
        return warned(text, "standardise them, and undo it for predictions", at=calls[0].site)
    if 0 < seen.deviation < 1e-3:
        return warned(text, "standardise them", at=calls[0].site)
    return passed(text)
