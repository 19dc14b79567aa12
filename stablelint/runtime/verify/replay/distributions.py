"""What a distribution stands for in a replay: the log-probabilities that a program would ask it for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
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
