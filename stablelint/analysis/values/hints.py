"""What a name tells of a value about which nothing else is known.

A name is evidence of what the author means, never a proof: hints raise how well founded a critical point is, and
they discharge nothing but a stabilising constant that is called one.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from stablelint.analysis.values.value import Ground, Value
from stablelint.numerics.interval import TOP, Interval


@dataclass(frozen=True, slots=True)
class Hint:
    """A likely range, and how well founded its critical points are."""

    interval: Interval
    zero: Ground = Ground.NONE
    ends: Ground = Ground.NONE
    guard: str | None = None


# The author means a constant that survives rounding; float32's eps is the least that does next to 1.
_SMALL = Hint(Interval(2.0**-23, 1.0), guard="eps")
_MASK = Hint(Interval(0.0, 1.0), Ground.EXACT, Ground.EXACT)
_LOGARITHM = Hint(TOP, Ground.NONE, Ground.EXACT)
_PROBABILITY = Hint(Interval(0.0, 1.0), Ground.SATURATION, Ground.SATURATION)
# How things hang together: most pairs do not, and a node may be on its own.
_TIES = Hint(Interval(0.0, math.inf, hi_open=True), Ground.EXACT, Ground.NONE)
_SCALE = Hint(Interval(0.0, math.inf, hi_open=True), Ground.COINCIDENCE, Ground.NONE)

_HINTS: tuple[tuple[re.Pattern[str], Hint], ...] = (
    (
        re.compile(
            r"(^|_)(eps|epsilon|jitter|tiny|fuzz|tol|atol|rtol|tolerance)(_|\d|$)|^smooth(ing)?(_nr|_dr)?$",
            re.I,
        ),
        _SMALL,
    ),
    (re.compile(r"(^|_)(attn_|attention_|pad_|padding_|loss_|valid_|key_padding_)?masks?$", re.I), _MASK),
    (
        re.compile(
            r"(^|_)((log|ln)_?(std|var|sigma|scale|alpha|temperature|variance|stddev|vars|stds|stdev|precision)|logit_scale)"
            r"s?(_?(sq|squared))?_*$"
        ),
        _LOGARITHM,
    ),
    (re.compile(r"^(probs?|probabilities|probas?)$|_(probs|probabilities)$", re.I), _PROBABILITY),
    (re.compile(r"^(adj|adjacency|affinity)(_?(mat|matrix|t))?$", re.I), _TIES),
    (re.compile(r"^(std|var|variance|sigma|norm)$|_(std|var|variance|norm)$", re.I), _SCALE),
)
_GIVEN = frozenset("argument attribute unknown item".split())
_SIZE = re.compile(r"(^|_)(sizes?|shape)$", re.I)
_NOT_A_MASK = re.compile(r"^(un|de|num_|n_|sum_|use_|has_|is_)", re.I)


def names_a_mask(name: str) -> bool:
    """Whether a name says that a value holds zeros and ones."""
    return hint(name) is _MASK


def names_ties(name: str) -> bool:
    """Whether a name says that a value tells which things have to do with which."""
    return hint(name) is _TIES


def names_a_logarithm(name: str) -> bool:
    """Whether a name says that a value is the logarithm of a scale."""
    return hint(name) is _LOGARITHM


def names_a_size(name: str) -> bool:
    """Whether a name says that a value holds the sizes of a tensor, as Python numbers."""
    return _SIZE.search(name) is not None


def is_told_by_name(value: Value) -> bool:
    """Whether all that is known of where a value lies comes from what it is called."""
    found = hint(value.name) if value.op in _GIVEN else None
    return found is not None and value.interval == found.interval


@lru_cache(maxsize=4096)
def hint(name: str) -> Hint | None:
    """What the name says, if anything."""
    for pattern, found in _HINTS:
        if pattern.search(name):
            if found is _MASK and _NOT_A_MASK.search(name):
                return None
            if found in (_PROBABILITY, _SCALE) and "log" in name.lower():
                return None
            return found
    return None
