"""What a distribution stands for in a replay: the log-probabilities that a program would ask it for."""

from __future__ import annotations

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
    numbers those of points at a distance of 1 from its mean: the action of another policy, the target of a
    regression. Raises what `log_prob` raises.
    """
    match distribution:
        case Categorical() | OneHotCategorical():
            return (distribution.logits,)
        case Bernoulli():
            return tuple(distribution.log_prob(outcome) for outcome in distribution.enumerate_support())
        case Independent():
            return log_probabilities(distribution.base_dist)
    points = [distribution.sample().detach()]
    if _over_all_numbers(distribution):
        points.append(distribution.mean.detach() + 1.0)
    return tuple(distribution.log_prob(point) for point in points)


def _over_all_numbers(distribution: Distribution) -> bool:
    try:
        support = distribution.support
    except NotImplementedError:
        return False
    return support is constraints.real or support is constraints.real_vector


def refused(error: Exception) -> bool:
    """Whether torch raised this about the numbers it was given, where it could have computed NaN as well.

    A singular matrix, or a parameter that a distribution does not accept.
    """
    if isinstance(error, LinAlgError):
        return True
    return isinstance(error, ValueError) and "to satisfy the constraint" in str(error)
