"""Evaluate an expression on operands: forward, and backward with unit and random cotangents.

A distribution stands for the log-probabilities that a program would ask it for.
"""

from __future__ import annotations

import contextlib
import copy
import math
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache

import torch
from torch.distributions import (
    Bernoulli,
    Categorical,
    Distribution,
    Independent,
    OneHotCategorical,
    constraints,
)
from torch.linalg import LinAlgError  # type: ignore[attr-defined]

from stablelint.runtime.verify.outcome import Counts
from stablelint.runtime.verify.replay.expression import Expression
from stablelint.runtime.verify.replay.values import Call, Context, Opaque, Value, dtype_of

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
    written: frozenset[str] = frozenset()  # operands that it wrote into


def sum_is_finite(tensor: torch.Tensor) -> bool:
    """Whether the sum is finite: then all elements are, as one pass shows. Large ones may overflow in it."""
    return math.isfinite(float(tensor.sum()))


def count(tensors: Sequence[torch.Tensor | None]) -> Counts:
    """Counts over all elements of all floating tensors; a missing gradient counts as nothing.

    The tensors are part of no graph.
    """
    finite = nan = inf = 0
    for tensor in tensors:
        if tensor is None or not (tensor.is_floating_point() or tensor.is_complex()):
            continue
        if not tensor.is_complex() and sum_is_finite(tensor):
            finite += tensor.numel()
            continue
        bad_nan = int(torch.isnan(tensor).sum())
        good = int(torch.isfinite(tensor).sum())
        finite, nan, inf = finite + good, nan + bad_nan, inf + tensor.numel() - good - bad_nan
    return Counts(finite, nan, inf)


_CALM = ContextVar("calm", default=False)


@contextlib.contextmanager
def calm() -> Iterator[None]:
    """Gradients and checks on and warnings off, within; random states, too, are as before afterwards.

    Around many replays it is entered once: each of them enters it, and finds it entered.
    """
    if _CALM.get():
        yield
        return
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    token = _CALM.set(True)
    try:
        with (
            torch.random.fork_rng(devices=devices),
            torch.inference_mode(False),
            torch.enable_grad(),
            warnings.catch_warnings(),
            checked(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        _CALM.reset(token)


def _seed(device: str) -> None:
    # not `torch.manual_seed`: it formats a stack for each kind of device that is not there
    torch.default_generator.manual_seed(SEED)
    if device.startswith("cuda"):
        torch.cuda.manual_seed(SEED)


def _autocast(context: Context) -> contextlib.AbstractContextManager[object]:
    """The autocast of `context`, and no other."""
    kind = context.device.partition(":")[0]
    if context.autocast is None and not torch.is_autocast_enabled(kind):
        return contextlib.nullcontext()
    dtype = dtype_of(context.autocast) if context.autocast else None
    return torch.autocast(kind, dtype=dtype, enabled=dtype is not None)


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
            return copy.deepcopy(value).double()
        case tuple() | list():
            return (tuple if isinstance(value, tuple) else list)(map(_widened, value))
    return value


def widened(call: Call) -> Call:
    """The same call in float64, without autocast."""
    operands = {name: _widened(value) for name, value in call.operands.items()}
    context = Context(None, call.context.device, call.context.grad)
    return Call(operands, context, call.origin, needs=call.needs)


@lru_cache(maxsize=64)
def _cotangent(shape: torch.Size, dtype: torch.dtype, device: torch.device) -> list[torch.Tensor]:
    """A unit and a random cotangent; both are read only."""
    drawn = 2.0 * torch.rand(shape, generator=torch.Generator().manual_seed(SEED)) - 1.0
    return [torch.ones(shape, dtype=dtype, device=device), drawn.to(device, dtype)]


def _cotangents(values: Sequence[torch.Tensor]) -> list[list[torch.Tensor]]:
    pairs = [_cotangent(value.shape, value.dtype, value.device) for value in values]
    return [[pair[index] for pair in pairs] for index in range(2)]


def evaluate(
    expression: Expression, call: Call, names: Mapping[str, object], backward: bool = True
) -> Outcome:
    """Evaluate `expression` on `call.operands`, by source text; its exceptions become an error's text."""
    leaves: dict[str, torch.Tensor] = {}
    versions: dict[str, tuple[torch.Tensor, int]] = {}
    scope: dict[str, object] = dict(names)
    with calm():
        for name, source in expression.operands.items():
            if source not in call.operands:
                return Outcome(error=f"`{source}` was not captured", missing=True)
            value = call.operands[source]
            if isinstance(value, Opaque):
                unstored = f"`{source}` is a {value.type_name}, which cannot be stored"
                return Outcome(error=unstored, missing=True)
            if isinstance(value, torch.Tensor):
                value = value.detach()
                if (call.needs is None or source in call.needs) and value.is_floating_point():
                    value = leaves[source] = value.requires_grad_()
                value = value.clone()  # neither a leaf nor the operand itself may be changed in place
                versions[source] = value, value._version
            scope[name] = value
        try:
            with _autocast(call.context):
                _seed(call.context.device)
                result = eval(expression.code, scope)
                values = tuple(item for item in flatten(result) if item.is_floating_point())
                gradients = _gradients(values, leaves) if backward else {}
        except Exception as error:  # the checked expression may raise anything
            first = textwrap.shorten(str(error).strip().partition("\n")[0], _MESSAGE, placeholder=" …")
            return Outcome(error=f"{type(error).__name__}: {first}", refused=refused(error))
    values = tuple(value.detach() for value in values)
    return Outcome(
        values,
        gradients,
        count(values),
        count([row for rows in gradients.values() for row in rows]),
        distribution=isinstance(result, torch.distributions.Distribution),
        written=frozenset(source for source, (held, version) in versions.items() if held._version != version),
    )


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


def log_probabilities(distribution: Distribution) -> tuple[torch.Tensor, ...]:
    """Log-probabilities of `distribution`, which its gradient flows through.

    Those of all outcomes where they can be listed; else those of a sample, and for a distribution over all real
    numbers those of points at a distance of 1 from its mean (the action of another policy, the target of a
    regression), and the mean itself. Raises what `log_prob` raises.
    """
    match distribution:
        case Categorical() | OneHotCategorical():
            return (distribution.logits,)
        case Bernoulli():
            return tuple(distribution.log_prob(outcome) for outcome in distribution.enumerate_support())
        case Independent():
            return log_probabilities(distribution.base_dist)
    found = [distribution.log_prob(distribution.sample())]
    if _over_all_numbers(distribution):
        mean = distribution.mean
        found.append(distribution.log_prob(mean.detach() + 1.0))
        if bool(torch.isfinite(mean).all()):
            found.append(mean)  # or two distributions apart would look alike, each from its own mean
    return tuple(found)


@contextlib.contextmanager
def checked() -> Iterator[None]:
    """Distributions check their parameters meanwhile: `torch.compile` switches that off for the whole process."""
    before = Distribution._validate_args
    Distribution.set_default_validate_args(True)
    try:
        yield
    finally:
        Distribution.set_default_validate_args(before)


def _over_all_numbers(distribution: Distribution) -> bool:
    try:
        support = distribution.support
    except NotImplementedError:
        return False
    return support is constraints.real or support is constraints.real_vector


def refused(error: Exception) -> bool:
    """Whether this was raised about the numbers themselves, where NaN or infinity could have been the answer.

    A singular matrix, a parameter that a distribution does not accept, a division of Python's numbers by zero.
    """
    if isinstance(error, LinAlgError | ArithmeticError):
        return True
    phrases = ("to satisfy the constraint", "math domain error", "expected a")
    return isinstance(error, ValueError) and any(text in str(error) for text in phrases)
