"""Evaluate an expression on operands: forward, and backward with unit and random cotangents."""

from __future__ import annotations

import contextlib
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from stablelint.runtime.verify.distributions import log_probabilities, refused
from stablelint.runtime.verify.expression import Expression
from stablelint.runtime.verify.measure import Counts, count
from stablelint.runtime.verify.values import Call, Context, Opaque, Value, dtype_of

SEED = 20_011
_MESSAGE = 160  # characters of an error that are kept


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an expression gave: floating results, and the gradient for each operand and cotangent."""

    values: tuple[torch.Tensor, ...] = ()
    gradients: Mapping[str, tuple[torch.Tensor | None, ...]] = field(default_factory=dict)
    forward: Counts = field(default_factory=Counts)
    backward: Counts = field(default_factory=Counts)
    error: str | None = None
    missing: bool = False  # an operand was not captured, or could not be stored
    refused: bool = False  # the error is torch's answer to the numbers: a singular matrix, a scale of 0
    distribution: bool = False  # the values are log-probabilities of the distribution that it gave


@contextlib.contextmanager
def quiet_state(context: Context) -> Iterator[None]:
    """Fixed random state, gradients on, and the autocast of `context`; all as before afterwards."""
    devices = [context.device] if context.device.startswith("cuda") else []
    kind = context.device.partition(":")[0]
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=devices))
        # not `torch.manual_seed`: it formats a stack for each kind of device that is not there
        torch.default_generator.manual_seed(SEED)
        if devices:
            torch.cuda.manual_seed(SEED)
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        dtype = dtype_of(context.autocast) if context.autocast else None
        stack.enter_context(torch.autocast(kind, dtype=dtype, enabled=dtype is not None))
        yield


def flatten(value: object) -> Iterator[torch.Tensor]:
    """The tensors in a result; Python floats are float64 scalars, distributions their log-probabilities."""
    match value:
        case torch.Tensor():
            yield value
        case bool() | str():
            return
        case torch.distributions.Distribution():
            yield from log_probabilities(value)
        case int() | float():
            yield torch.tensor(float(value), dtype=torch.float64)
        case Mapping():
            for item in value.values():
                yield from flatten(item)
        case Sequence():
            for item in value:
                yield from flatten(item)


def _widened(value: Value) -> Value:
    match value:
        case torch.Tensor() if value.is_floating_point():
            return value.double()
        case torch.dtype() if value.is_floating_point:
            return torch.float64
        case torch.nn.Module():
            import copy

            return copy.deepcopy(value).double()
        case tuple():
            return tuple(_widened(item) for item in value)
        case list():
            return [_widened(item) for item in value]
    return value


def widened(call: Call) -> Call:
    """The same call in float64, without autocast."""
    operands = {name: _widened(value) for name, value in call.operands.items()}
    context = Context(None, call.context.device, call.context.grad)
    return Call(operands, context, call.origin, call.sliced, needs=call.needs)


def _cotangents(values: Sequence[torch.Tensor]) -> list[list[torch.Tensor]]:
    generator = torch.Generator().manual_seed(SEED)
    unit = [torch.ones_like(value) for value in values]
    drawn = [(2.0 * torch.rand(value.shape, generator=generator) - 1.0).to(value) for value in values]
    return [unit, drawn]


def evaluate(
    expression: Expression, call: Call, names: Mapping[str, object], backward: bool = True
) -> Outcome:
    """Evaluate `expression` on `call.operands`, by source text; its exceptions become an error's text."""
    leaves: dict[str, torch.Tensor] = {}
    scope: dict[str, object] = dict(names)
    for name, source in expression.operands.items():
        if source not in call.operands:
            return Outcome(error=f"`{source}` was not captured", missing=True)
        value = call.operands[source]
        if isinstance(value, Opaque):
            return Outcome(error=f"`{source}` is a {value.type_name}, which cannot be stored", missing=True)
        wanted = call.needs is None or source in call.needs
        if wanted and isinstance(value, torch.Tensor) and value.is_floating_point():
            leaf = value.detach().clone().requires_grad_()
            leaves[source] = leaf
            value = leaf.clone()  # a leaf must not be changed in place
        elif isinstance(value, torch.Tensor):
            value = value.detach().clone()
        scope[name] = value
    with quiet_state(call.context):
        for source, leaf in leaves.items():
            name = next(key for key, text in expression.operands.items() if text == source)
            scope[name] = leaf.clone()
        try:
            result = eval(expression.code, scope)
            values = tuple(item for item in flatten(result) if item.is_floating_point())
            forward = count(values)
            gradients = _gradients(values, leaves) if backward else {}
        except Exception as error:  # the checked expression may raise anything
            first = textwrap.shorten(str(error).strip().partition("\n")[0], _MESSAGE, placeholder=" …")
            return Outcome(error=f"{type(error).__name__}: {first}", refused=refused(error))
    back = sum((count(items) for items in gradients.values()), Counts())
    made = isinstance(result, torch.distributions.Distribution)
    return Outcome(tuple(value.detach() for value in values), gradients, forward, back, distribution=made)


def _gradients(
    values: Sequence[torch.Tensor], leaves: Mapping[str, torch.Tensor]
) -> dict[str, tuple[torch.Tensor | None, ...]]:
    outputs = [value for value in values if value.requires_grad]
    if not outputs or not leaves:
        return {}
    rows = [
        torch.autograd.grad(outputs, list(leaves.values()), cotangent, retain_graph=True, allow_unused=True)
        for cotangent in _cotangents(outputs)
    ]
    return {source: tuple(row[index] for row in rows) for index, source in enumerate(leaves)}
