"""Does the model start sane?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from stablelint.runtime.audit.modules import MATRICES
from stablelint.runtime.audit.outcome import Outcome, all_of, check, failed, passed, warned
from stablelint.runtime.audit.record import Forward, ParameterFacts, Run
from stablelint.runtime.audit.replayed import copy_of, undisturbed
from stablelint.runtime.audit.tokens import is_tokens, is_told, tables_of_tokens
from stablelint.runtime.audit.values import Summary, rows_differ, uniform_dimensions
from stablelint.runtime.plain import plural, shape_text
from stablelint.runtime.tensors.measure import tensors_in
from stablelint.runtime.tracing.graph import Row

ORDER = 2
_GAIN = (0.02, 6.0)  # of weights that are drawn for their fan: deviation times the root of the fan
_WILD = 1e8  # a weight that nobody drew
_ENDING = ("relu", "hardtanh")  # activations without a gradient at their ends
_DEAD = 0.5  # share of the units of a layer
_SATURATED = 0.6


@check(needs="a module with parameters")
def initial_parameters(run: Run) -> Outcome | None:
    """Parameters start as finite numbers of a usual size."""
    wild = [one for one in run.parameters.values() if _is_wild(one.start)]
    if wild:
        text = (
            "{names} held NaN, Inf or values above 1e8 before the first step: memory that was never filled?"
        )
        return failed(text, "initialise them (torch.empty does not)", *wild)
    return all_of(len(run.parameters), "parameter")


def _is_wild(start: Summary) -> bool:
    return bool(start.nan or start.inf or max(-start.low, start.high) > _WILD)


@check(needs="a matrix of weights")
def broken_symmetry(run: Run) -> Outcome | None:
    """The units of a layer start different from each other."""
    matrices = [one for one in run.parameters.values() if one.tensor.dim() > 1 and one.tensor.shape[0] > 1]
    alike = [one for one in matrices if one.tensor.requires_grad and _is_alike(one)]
    if alike and run.steps:
        text = "all units of {names} had the same weights at the start"
        if all(uniform_dimensions(one.tensor) for one in alike):
            text += ", and still have: they learn the same"
        return failed(text, "draw the weights at random", *alike)
    return all_of(len(matrices), "layer")


def _is_alike(one: ParameterFacts) -> bool:
    """Whether the units of a layer started alike and stay so, or were told apart by nothing but what is dropped at random
    or looked up; the last layer of a branch may start from zeros."""
    # The first dimension counts the units in torch's own layers, either does in another's.
    units = {0} if isinstance(one.owner, MATRICES) else {0, 1}
    constant = one.start.low == one.start.high and one.tensor.shape[1] > 1
    told = constant and (isinstance(one.owner, nn.Embedding) or (0 in units and one.start.low != 0))
    return bool(units.intersection(one.uniform)) and (
        bool(units.intersection(one.uniform, uniform_dimensions(one.tensor))) or told
    )


@check(needs="a view of what depends on parameters")
def dimensions_in_order(run: Run) -> Outcome | None:
    """Views keep the order of dimensions."""
    for facts in run.facts():
        if facts.misread is not None:
            given, read, row = facts.misread
            text = f"{shape_text(given)} is viewed as {shape_text(read)}: the elements keep the order of the first"
            return warned(text, "transpose or permute the dimensions, then view them", at=row)
    return all_of(len(run.backwards), "graph")


@check(needs="linear and convolutional layers")
def weight_scale(run: Run) -> Outcome | None:
    """Weights suit the number of inputs they sum."""
    gains: list[tuple[ParameterFacts, float, int]] = []
    for one in run.parameters.values():
        if isinstance(one.owner, (nn.Embedding, *MATRICES)) and one.tensor.dim() > 1 and one.start.deviation:
            # A row of an embedding is taken as it is.
            inputs = 1 if isinstance(one.owner, nn.Embedding) else one.tensor[0].numel()
            gains.append((one, one.start.deviation * math.sqrt(inputs), inputs))
    layers = [one for one in gains if not isinstance(one[0].owner, nn.Embedding)]
    parents = [one[0].name.rpartition(".")[0].rpartition(".")[0] for one in layers]
    # The last layer of a model, or of a branch, may start near zero on purpose.
    inner = [one for one, own, behind in zip(layers, parents, parents[1:], strict=False) if own == behind]
    odd = [one for one in gains if one[1] >= _GAIN[1]] + [one for one in inner if one[1] <= _GAIN[0]]
    if odd:
        facts, gain, inputs = odd[0]
        text = (
            f"{facts.name} has deviation {facts.start.deviation:.3g} over {plural(inputs, 'input')}: "
            f"it {'multiplies' if gain > 1 else 'shrinks'} what it is given by {gain:.3g}"
        )
        remedy = "deviation near 1 / sqrt(inputs): torch.nn.init.kaiming_normal_"
        return failed(text, remedy, *(one for one, *_ in odd))
    return all_of(len(gains), "layer")


@check(needs="a classification, or a regression")
def initial_loss(run: Run) -> Outcome | None:
    """The first loss is what chance gives."""
    calls = run.trained_losses("cross_entropy", "binary_cross_entropy_with_logits")
    calls += [one for one in run.trained_losses("mse_loss") if rows_differ(one.target)]
    if not calls:
        return None
    call, chance, usual = calls[0], math.log(2), 2.5
    scores, target = call.input.float(), call.target
    if call.kind == "cross_entropy":
        if target.is_floating_point() or scores.dim() < 2 or scores.shape[1] < 2:
            return None
        chance, ignored = math.log(scores.shape[1]), call.option("ignore_index")
        value = float(nn.functional.cross_entropy(scores, target, ignore_index=ignored))
    elif call.kind == "mse_loss":  # as outputs of zero give, or somewhat larger ones
        chance, usual = float(target.float().square().mean()), 10.0
        value = float((scores - target).square().mean())
    else:
        value = float(nn.functional.binary_cross_entropy_with_logits(scores, target.float()))
    text = f"{value:.3g} at the first step; chance is {chance:.3g}"
    if value > usual * chance + 0.5:
        remedy = "the last layer starts too large, or its input or a scale behind it is"
        return (warned if call.maker in ("mul", "div") else failed)(text, remedy, at=call.site)
    return passed(text)


@check(needs="a batch whose samples differ")
def output_depends_on_input(run: Run) -> Outcome | None:
    """The output depends on the input."""
    known = [one for one in run.losses if one.grad and one.input.dim() > 1]
    alike = []
    for call in known:
        inputs = call.forward.inputs if call.forward is not None else ()
        rows = [one for one in inputs if one.dim() and one.shape[0] == call.input.shape[0]]
        if rows and call.input.shape[0] > 1 and rows_differ(rows[0]):
            spread = float((call.input.float() - call.input.float()[:1]).abs().max())
            if not spread <= 1e-7 * max(1.0, float(call.input.float().abs().max())):
                return passed(f"outputs of a batch differ by {spread:.3g}")
            alike.append(call)  # as the first ones are where the last layer starts from zero
    if not alike:
        return None
    text = f"all {alike[0].input.shape[0]} samples of a batch get the same output, in each of {len(alike)} batches"
    return failed(text, "see what the input is multiplied by on its way", at=alike[0].site)


@check(needs="a batch of whole samples, and a model that can be copied")
def independent_samples(run: Run) -> Outcome | None:
    """Samples of a batch do not see each other."""
    first = next((one for one in run.forwards if one.pair is not None and one.trained), None)
    if first is None or first.pair is None:
        return None
    tensors = list(tensors_in(first.pair))
    size = tensors[0].shape[0] if tensors and tensors[0].dim() > 1 else 0
    labels = next((one.shapes[1][:1] for one in run.losses if one.forward is first), ())
    handed_out = labels if first.fetched_from is None else (first.fetched_from.batch_size,)
    if size < 3 or (size,) != handed_out:
        return None
    if any(not one.dim() or one.shape[0] != size for one in tensors) or not rows_differ(tensors[0]):
        return None
    seen = _moved_elsewhere(first, lambda one: torch.cat([one[-1:], one[1:]]), (slice(1, None),), size)
    if seen is None:
        return None
    difference, scale = seen
    if difference > 1e-3 * max(scale, 1e-6):
        layers = [
            name for name, one in first.root.named_modules() if getattr(one, "batch_first", True) is False
        ]
        text = f"another first sample changed the outputs of the others by {difference:.3g} (of {scale:.3g})"
        text += "; without batch_first: {names}" if layers else ""
        remedy = "see which operation mixes the first dimension: batch_first, a softmax or view over it"
        # Without a loader the first dimension may count parts of one sample, which interact.
        answer = failed if first.fetched_from is not None else warned
        return answer(text, remedy, *layers, at=first.site)
    return passed(f"another first sample left the outputs of {size - 1} others as they were")


@check(needs="a target for each token that is the token after it, and a model that can be copied")
def unseen_future(run: Run) -> Outcome | None:
    """Predictions of the next token do not see it."""
    for call in run.class_losses():
        tokens = next((one for one in tables_of_tokens(call) if is_told(one, call, 1)), None)
        if tokens is None or call.forward is None:
            continue
        half = tokens.shape[1] // 2

        def turned(one: torch.Tensor, like: torch.Tensor = tokens, half: int = half) -> torch.Tensor:
            fits = one.shape == like.shape and is_tokens(one)
            return torch.cat([one[:, :half], one[:, : one.shape[1] - half]], 1) if fits else one

        seen = _moved_elsewhere(call.forward, turned, (slice(None), slice(half)), *tokens.shape)
        if seen is not None and seen[0] > 1e-5 * seen[1]:
            text = f"other tokens from {half} on changed what is predicted before by {seen[0]:.3g} (of {seen[1]:.3g})"
            remedy = "a causal mask: torch.tril of the scores, softmax over the last dimension"
            return failed(text, remedy, at=call.forward.site)
        if seen is not None:
            return passed(f"other tokens from {half} on left what is predicted before as it was")
    return None


def _moved_elsewhere(
    call: Forward, change: Callable[[torch.Tensor], torch.Tensor], part: tuple[slice, ...], *sizes: int
) -> tuple[float, float] | None:
    """How much other inputs change a part of the output of these first sizes, and how large it is."""
    if call.pair is None or (model := copy_of(call.root)) is None:
        return None
    model.eval()
    ours, theirs = (
        _rows_of(model, pair, *sizes) for pair in (call.pair, tree_map_only(torch.Tensor, change, call.pair))
    )
    if ours is None or theirs is None:
        return None
    return float((ours[part] - theirs[part]).abs().max()), float(ours.abs().max())


def _rows_of(model: nn.Module, pair: tuple[Any, dict[str, Any]], *sizes: int) -> torch.Tensor | None:
    """The first tensor that a model returns of these first sizes; what it draws is the same each time."""
    with undisturbed(), torch.no_grad():
        result = model(*pair[0], **pair[1])
    return next((one for one in tensors_in(result) if one.shape[: len(sizes)] == sizes), None)


@check(needs="ReLU or Hardtanh in a trained pass")
def living_units(run: Run) -> Outcome | None:
    """Units of the activations are alive."""
    shares = shut_units(run)
    if worst := {name: share for name, (share, _) in shares.items() if share > _DEAD}:
        name = max(worst, key=lambda one: worst[one])
        text = f"{worst[name]:.0%} of the units behind {name} passed no gradient for any sample of any step"
        remedy = "a smaller learning rate or bias, another initialisation, or LeakyReLU"
        return failed(text, remedy, *worst, at=shares[name][1])
    return all_of(len(shares), "layer")


def shut_units(run: Run) -> dict[str, tuple[float, Row | None]]:
    """By the parameter before an activation, the share of its units that never passed a gradient; and the expression."""
    alive: dict[str, torch.Tensor] = {}
    rows: dict[str, Row | None] = {}  # the first graph knows them
    units = (unit for facts in run.facts() for unit in facts.units if unit.operation in _ENDING)
    for unit in (one for one in units if one.near in run.parameters):
        name = run.parameters[unit.near or 0].name
        known = alive.get(name)
        fits = known is not None and known.shape == unit.alive.shape
        rows.setdefault(name, unit.row)
        alive[name] = known | unit.alive if fits and known is not None else unit.alive
    return {name: (1 - float(units.float().mean()), rows[name]) for name, units in alive.items()}


@check(needs="sigmoid or tanh in a trained pass")
def unsaturated_units(run: Run) -> Outcome | None:
    """Sigmoid and tanh are not saturated."""
    facts = next(run.facts(), None)
    units = [one for one in facts.units if one.operation not in _ENDING] if facts is not None else []
    shut = [one for one in units if one.saturated > _SATURATED]
    if shut:
        most = max(one.saturated for one in shut)
        names = [run.parameters[one.near].name if one.near in run.parameters else "inputs" for one in shut]
        text = f"up to {most:.0%} of the {shut[0].operation} behind {{names}} lie at their ends in the first step"
        remedy = "smaller weights or inputs before it, or a normalisation"
        return failed(text, remedy, *reversed(names), at=shut[-1].row)  # from the input on
    return all_of(len(units), "activation")
