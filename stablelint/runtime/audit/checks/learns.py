"""Can the model learn, and are its own gradients right? Asked of copies."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.autograd.gradcheck import GradcheckError, gradcheck

from stablelint.runtime.audit.modules import NORMALISING
from stablelint.runtime.audit.outcome import Outcome, check, failed, passed, warned
from stablelint.runtime.audit.record import Run
from stablelint.runtime.audit.replayed import copy_of, undisturbed
from stablelint.runtime.tensors.measure import floating

ORDER = 5
_STEPS = 60
_RATE = 1e-2
_FEW_ELEMENTS = 4096  # of the arguments of a custom function that are checked


@check(needs="a finite loss of the model's output, one optimizer, a model that can be copied")
def overfits_one_batch(run: Run) -> Outcome | None:
    """One batch can be learned by heart."""
    loss = run.loss_on_batch if len(run.optimizers) == 1 and run.steps else None
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


def _steady(model: nn.Module) -> None:
    """Without dropout, and with the statistics of the batch; what was in evaluation mode stays there."""
    for one in model.modules():
        one.training = one.training and isinstance(one, (*NORMALISING, nn.RNNBase))


@check(needs="a torch.autograd.Function that is applied")
def custom_gradients(run: Run) -> Outcome | None:
    """Custom functions have the gradients of what they compute."""
    checked = []
    for function, arguments in run.functions.items():
        wide = tuple(_double(one) for one in arguments)
        if sum(one.numel() for one in wide if isinstance(one, torch.Tensor)) > _FEW_ELEMENTS:
            continue
        with undisturbed():
            try:
                gradcheck(function.apply, wide, fast_mode=False)
            except GradcheckError as error:
                if _is_flat(function, wide):
                    continue  # a straight-through estimator differs on purpose
                found = str(error).strip().partition("\n")[0]
                text = f"{function.__name__}.backward differs from differences of forward: {found}"
                return failed(text, f"derive {function.__name__}.backward again", function.__name__)
        checked.append(function.__name__)
    return passed(f"gradcheck of {', '.join(checked)} in float64") if checked else None


def _double(value: Any) -> Any:
    if floating(value):
        return value.detach().double().requires_grad_(value.requires_grad)
    return value


def _is_flat(function: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether a small change of the arguments leaves the result as it is."""
    moved = [
        one.detach() + 1e-6 if isinstance(one, torch.Tensor) and one.requires_grad else one
        for one in arguments
    ]
    with torch.no_grad():
        return bool(torch.equal(function.apply(*arguments), function.apply(*moved)))
