"""Unsafe fixes on healthy operands: those of which the value and the gradient are finite must keep their value."""

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import torch

from stablelint.diagnostic import Applicability
from tests.codemod.differential.cores import Core, cores
from tests.codemod.differential.judge import load
from tests.codemod.differential.tried import CATALOG, fixed

# How the program takes its operands, and the element types that may then arrive.
_TAKEN = {
    "": ("float64", "float32", "bfloat16", "float16"),
    ".half()": ("float16",),
    ".float()": ("float32",),
}
# What fixes of other values call, and why.
DOCUMENTED = {
    "atanh(": "the quotient of sums next to 1 loses digits that atanh keeps",
    "logcumsumexp(": "the logarithm of a sum next to 1 loses digits",
    "log1p(": "the difference from 1 loses digits",
    "logsigmoid(": "the difference from 1 loses digits",
    "cosine_similarity(": "squares underflow",
    "s.abs()": "squares underflow",
    "torch.abs(s)": "squares underflow",
    "binary_cross_entropy": "what is no probability is refused, and of what is no logit the logarithm is exact",
    "exp2(": "the bound is the last whole number",
    "sinh(": "the bound is that of the exponential, which is twice as large",
    "cosh(": "the bound is that of the exponential, which is twice as large",
    "log(p_.clamp": "no probability is negative",
    "clamp(max=80.0)": "what is added up or multiplied next leaves room for that",
    "clamp(max=88.0)": "where nothing speaks of doubles, the largest exponent is that of single precision",
    "softplus(": "above 20 it is its operand, which 1e-9 is missing to",
}
_SHAPE = (6, 4)
_ULPS = 64  # as many roundings may old and new lie apart


@dataclass(frozen=True, slots=True)
class Moved:
    """A healthy operand to which a fix gives another value."""

    code: str
    before: str
    after: str
    sort: str
    operands: tuple[float, ...]
    old: float
    new: float


def forms(seed: int, every: int = 1) -> Iterator[tuple[Core, str, str]]:
    """Patterns that have an unsafe fix, as functions of their operands: the core, and the source before and after."""
    for core in islice(cores(CATALOG, random.Random(seed), Applicability.UNSAFE), None, None, every):
        if CATALOG.rules[core.code].expect != "non-finite":
            continue  # what the page itself says is another value
        for taken in _TAKEN:
            lines = [f"    {name} = {name}{taken}" for name in core.operands] if taken else []
            head = f"import math\nimport torch\nimport torch.nn.functional as F\n\n\ndef f({core.names}):\n"
            source = head + "\n".join([*lines, f"    return {core.text}\n"])
            made, applied = fixed(source, unsafe=True)
            given = {item.fix.applicability for item in applied if item.fix is not None}
            if given - {Applicability.SAFE}:
                yield core, source, made


def moved(core: Core, source: str, made: str, rounds: int = 40) -> Iterator[Moved]:
    """The healthy operands that a fix moves, of any size and sign, the first of each element type."""
    taken = next((one for one in _TAKEN if one and one in source), "")
    old, new = vars(load(source))["f"], vars(load(made))["f"]
    for sort in _TAKEN[taken]:
        generator = torch.Generator().manual_seed(11)
        drawn = (
            [_spread(getattr(torch, sort), number, generator) for _ in core.operands]
            for number in range(rounds)
        )
        found = next((one for given in drawn for one in _differs(old, new, given)), None)
        if found is not None:
            before, after = (text.rpartition("return ")[2].strip() for text in (source, made))
            yield Moved(core.code, before, after, sort, *found)


def _spread(dtype: torch.dtype, number: int, generator: torch.Generator) -> torch.Tensor:
    """Operands of all sizes that normal numbers have, and the edges of domains; of every four draws one of all signs and
    one of shares."""
    limits, count = torch.finfo(dtype), _SHAPE[0] * _SHAPE[1]
    uniform = partial(torch.rand, count, generator=generator, dtype=torch.float64)
    lowest, highest = torch.tensor([2 * limits.tiny, limits.max], dtype=torch.float64).log2()
    near = uniform() < 0.6
    value = torch.where(near, 24 * uniform() - 12, lowest + (highest - lowest) * uniform()).exp2()
    value = torch.where(uniform() < 0.5, -value, value)
    edges = [
        0,
        1,
        -1,
        1 - limits.eps / 2,
        1 + limits.eps,
        limits.eps / 2 - 1,
        limits.eps,
        2 * limits.tiny,
        2,
        0.5,
    ]
    value[: len(edges)] = torch.tensor(edges, dtype=torch.float64)
    value = value[torch.randperm(count, generator=generator)]
    value = value if number % 4 == 0 else value.abs().clamp_max(1.0) if number % 4 == 1 else value.abs()
    return value.to(dtype).view(_SHAPE)


def _differs(
    old: Callable[..., Any], new: Callable[..., Any], given: Sequence[torch.Tensor]
) -> Iterator[tuple[tuple[float, ...], float, float]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, healthy = _outcome(old, given)
        if before is None or not bool(healthy.any()):
            return
        after, _ = _outcome(new, given)
        exact, _ = _outcome(old, [one.double() for one in given])
    if after is None or after.shape != before.shape:
        yield (), float("nan"), float("nan")
        return
    a, b = before.double(), after.double()
    c = exact.double() if exact is not None and exact.shape == a.shape else a
    sizes = [one.double().abs() for one in given if one.shape == a.shape]
    # An operand's own rounding may be all that a small result is made of.
    largest = torch.stack([a.abs(), b.abs(), *sizes]).amax(0)
    bound = _ULPS * torch.finfo(given[0].dtype).eps * largest
    near = ((a - b).abs() <= bound) | ((b - c).abs() <= 2 * (a - c).abs() + bound)
    for place in (healthy & ~near).flatten().nonzero().flatten().tolist():
        shown = [float(one.flatten()[place]) for one in given] if before.shape == given[0].shape else []
        yield tuple(shown), float(a.flatten()[place]), float(b.flatten()[place])


def _outcome(
    function: Callable[..., Any], given: Sequence[torch.Tensor]
) -> tuple[torch.Tensor | None, torch.Tensor]:
    """What a function gives, and where that and the gradients are finite; None where it raises or gives no tensor."""
    leaves = [one.clone().requires_grad_() for one in given]
    nothing = torch.zeros((), dtype=torch.bool)
    try:
        result = function(*leaves)
        if not isinstance(result, torch.Tensor) or not result.requires_grad:
            return None, nothing
        result.sum().backward()
    except Exception:  # what the old one refuses is not for it
        return None, nothing
    fine = [one.grad.isfinite() for one in leaves if one.grad is not None]
    is_by_element = result.shape == given[0].shape
    healthy = result.detach().isfinite()
    for one in fine:
        healthy = healthy & (one if is_by_element and one.shape == healthy.shape else one.all())
    return result.detach(), healthy
