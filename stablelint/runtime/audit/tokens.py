"""Sequences of tokens among the inputs of a model: masks, padding, and the targets that stand beside them."""

from __future__ import annotations

import math

import torch

from stablelint.runtime.audit.record import LossCall


def is_mask(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds truth values, or ones and perhaps zeros in their place."""
    if tensor.dtype is torch.bool or tensor.is_floating_point() or tensor.is_complex() or not tensor.numel():
        return tensor.dtype is torch.bool
    return int(tensor.min()) in (0, 1) and int(tensor.max()) == 1


def is_tokens(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds a row of numbers of something, such as tokens, for each sample."""
    whole = not tensor.is_floating_point() and not tensor.is_complex()
    return tensor.dim() == 2 and tensor.numel() > 0 and whole and not is_mask(tensor)


def padding_of(tokens: torch.Tensor) -> torch.Tensor | None:
    """Where rows end in different numbers of the same token; None where they do not."""
    last = tokens[:, -1]
    token = last.mode().values
    if float((last == token).float().mean()) < 0.5:
        return None
    tail = (tokens == token).flip(1).cumprod(1).flip(1).bool()
    lengths = tail.sum(1)
    return tail if int(lengths.max()) >= 3 and len(lengths.unique()) > 2 else None


def tables_of_tokens(call: LossCall) -> list[torch.Tensor]:
    """The token inputs of the model that a loss has a target for each token of, or for each but one."""
    inputs = call.forward.inputs if call.forward is not None else ()
    return [one for one in inputs if is_tokens(one) and _width(one, call)]


def _width(tokens: torch.Tensor, call: LossCall) -> int:
    """How many targets a row of tokens has; 0 where they are not by token."""
    count, last = math.prod(call.shapes[1]), call.shapes[1][-1] if call.shapes[1] else 0
    for width in (tokens.shape[1], tokens.shape[1] - 1):
        if width > 0 and count % width == 0 and count // width >= len(tokens) and last in (width, count):
            return width
    return 0


def beside(
    table: torch.Tensor, call: LossCall, ahead: int | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """What a table holds so many columns behind the place of each target, and the targets.

    By default those that end where the rows of the table end.
    """
    width, end = _width(table, call), table.shape[1]
    targets = call.target.reshape(-1)[: len(table) * width]
    places = torch.arange(len(targets), device=targets.device)
    columns = places % width + (end - width if ahead is None else ahead)
    inside = columns < end
    return table[places[inside] // width, columns[inside]], targets[inside]


def is_told(tokens: torch.Tensor, call: LossCall, ahead: int) -> bool:
    """Whether the targets are the tokens so many places further."""
    given, targets = beside(tokens, call, ahead)
    kept = targets != call.option("ignore_index")
    return int(kept.sum()) > 16 and float((given == targets)[kept].float().mean()) > 0.99
