"""Can the model learn, and are its own gradients right? Asked of copies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.autograd.gradcheck import GradcheckError, gradcheck

from stablelint.runtime.audit.modules import NORMALISING
from stablelint.runtime.audit.outcome import Outcome, check, failed, passed, warned
from stablelint.runtime.audit.record import Run
from stablelint.runtime.audit.replayed import LossOnBatch, copy_of, undisturbed
from stablelint.runtime.tensors.measure import floating

ORDER = 5
_STEPS = 60
_RATE = 1e-2
_SPAN, _RANGE = 100.0, 30  # the range test: from 1/100 of the rate to 100 times, in so many steps
_FEW_ELEMENTS = 4096  # of arguments whose every derivative is checked; of more, a random sum of them


@check(needs="a finite loss of the model's output, one optimizer, a model that can be copied")
def overfits_one_batch(run: Run) -> Outcome | None:
    """One batch can be learned by heart."""
    loss = _of_first_batch(run)
    if loss is None or (model := copy_of(loss.model)) is None:
        return None
    with undisturbed():
        _steady(model)
        if not math.isfinite(float(loss(model).detach())):
            return None
        parameters = [one for one in model.parameters() if one.requires_grad]
        start = [one.detach().clone() for one in parameters]
        optimizer = torch.optim.Adam(parameters, lr=_RATE)
        values = []
        for _ in range(_STEPS):
            optimizer.zero_grad()
            value = loss(model)
            value.backward()
            optimizer.step()
            values.append(float(value.detach()))
        last = min(*values, float(loss(model).detach()))
    text = f"{values[0]:.3g} → {last:.3g} in {_STEPS} steps of Adam on the first batch"
    chance = loss.best_constant
    if chance is not None and values[0] > 0.1 * chance and last > 0.95 * chance:
        text += f"; the best output that is the same for all samples gives {chance:.3g}"
        return warned(text, "see whether the inputs of a batch differ, and reach the output")
    if not last < values[0] - 0.05 * abs(values[0]):
        names = [name for name, one in model.named_parameters() if one.requires_grad]
        still = [
            name for name, one, old in zip(names, parameters, start, strict=True) if torch.equal(one, old)
        ]
        text += f"; never moved: {', '.join(still[:4])}" if still else "; all parameters moved"
        remedy = "see whether output and loss fit, and what the batch's labels can be told from"
        return (failed if still and len(still) == len(names) else warned)(text, remedy, *still)
    return passed(text)


def _of_first_batch(run: Run) -> LossOnBatch | None:
    """The loss of the first batch, where one optimizer learns it."""
    return run.loss_on_batch if len(run.optimizers) == 1 and run.steps else None


@check(needs="a finite loss of the model's output, one optimizer, a model that can be copied")
def usable_rate(run: Run) -> Outcome | None:
    """The learning rate lies below the one at which the loss runs away."""
    loss = _of_first_batch(run)
    if loss is None:
        return None
    rates = [rate for rate in run.steps[0].rates if rate > 0]
    if (forked := copy_of((loss.model, run.optimizers[0])) if rates else None) is None:
        return None
    with undisturbed():
        _steady(forked[0])
        if not math.isfinite(float(loss(forked[0]).detach())):
            return None
        limit = _limit(loss, *forked, run.steps[0].rates)
    if limit is None:
        return passed(
            f"on one batch the loss does not run away up to {_SPAN:g} times the rate {max(rates):.3g}"
        )
    text = f"a range test on one batch runs away at {limit * max(rates):.2g}; the loop starts at {max(rates):.3g}"
    return warned(text, "lower the rate, or warm it up") if limit < 1 else passed(text)


def _limit(
    loss: LossOnBatch, model: nn.Module, optimizer: torch.optim.Optimizer, rates: Sequence[float]
) -> float | None:
    """The factor of its `rates`, by group, at which a forked optimizer makes the loss run away, rising."""
    optimizer.state.clear()
    lowest = math.inf
    for step in range(_RANGE + 1):
        factor = _SPAN ** (2 * step / _RANGE - 1)
        optimizer.zero_grad()
        value = loss(model)
        now = float(value.detach())
        lowest = min(lowest, now)
        if not math.isfinite(now) or now > 4 * abs(lowest) + 1:
            return float(factor)
        value.backward()
        for group, rate in zip(optimizer.param_groups, rates, strict=False):
            group["lr"] = rate * factor
        optimizer.step()
    return None


def _steady(model: nn.Module) -> None:
    """Without dropout, and with the statistics of the batch; what was in evaluation mode stays there."""
    for one in model.modules():
        one.training = one.training and isinstance(one, (*NORMALISING, nn.RNNBase))


@check(needs="a torch.autograd.Function that is applied")
def custom_gradients(run: Run) -> Outcome | None:
    """Custom functions have the gradients of what they compute."""
    checked = []
    for function, arguments in run.functions.items():
        wide = tuple(
            one.detach().double().requires_grad_(one.requires_grad) if floating(one) else one
            for one in arguments
        )
        many = sum(one.numel() for one in wide if isinstance(one, torch.Tensor)) > _FEW_ELEMENTS
        with undisturbed():
            try:
                # In fast mode the tolerance is one of a sum over all elements.
                gradcheck(function.apply, wide, fast_mode=many, atol=1e-8 if many else 1e-5)
            except GradcheckError as error:
                if _is_flat(function, wide):
                    continue  # a straight-through estimator differs on purpose
                found = str(error).strip().partition("\n")[0]
                text = f"{function.__name__}.backward differs from differences of forward: {found}"
                return failed(text, f"derive {function.__name__}.backward again", function.__name__)
        checked.append(function.__name__)
    return passed(f"gradcheck of {', '.join(checked)} in float64") if checked else None


def _is_flat(function: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether a small change of the arguments leaves the result as it is."""
    moved = [
        one.detach() + 1e-6 if isinstance(one, torch.Tensor) and one.requires_grad else one
        for one in arguments
    ]
    with torch.no_grad():
        return bool(torch.equal(function.apply(*arguments), function.apply(*moved)))
