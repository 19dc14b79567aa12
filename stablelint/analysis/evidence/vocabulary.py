"""What names say: every word of a natural language that the analysis knows.

A name is evidence of what an author means, never a proof. Only what orders findings asks here.
"""

from __future__ import annotations

import re
from functools import lru_cache

# The author means a constant that survives rounding.
_SMALL_CONSTANT = re.compile(
    r"(^|_)(eps|epsilon|jitter|tiny|fuzz|tol|atol|rtol|tolerance)(_|\d|$)|^smooth(ing)?(_nr|_dr)?$", re.I
)
_HOLDS_A_MASK = re.compile(r"(^|_)(attn_|attention_|pad_|padding_|loss_|valid_|key_padding_)?masks?$", re.I)
_NOT_A_MASK = re.compile(r"^(un|de|num_|n_|sum_|use_|has_|is_)", re.I)
_LOGARITHM = re.compile(
    r"(^|_)((log|ln)_?(std|var|sigma|scale|alpha|temperature|variance|stddev|vars|stds|stdev|precision)|logit_scale)"
    r"s?(_?(sq|squared))?_*$"
)
_PROBABILITY = re.compile(r"^(probs?|probabilities|probas?)$|_(probs|probabilities)$", re.I)
# How things hang together: most pairs do not, and a node may be on its own.
_TIES = re.compile(r"^(adj|adjacency|affinity)(_?(mat|matrix|t))?$", re.I)
_SCALE = re.compile(r"^(std|var|variance|sigma|norm)$|_(std|var|variance|norm)$", re.I)
_SIZE = re.compile(r"(^|_)(sizes?|shape)$", re.I)
_MASK = re.compile(r"mask", re.I)
_MASK_AT_END = re.compile(r"(^|_)mask$")
_LENGTHS = re.compile(r"(^|_|[a-z])len(s|gths?)?(_|$)", re.I)
_IDS = re.compile(r"^(?!.*(token|input|text|word)).*(^|_)(ids?|index|indices|seqs?)$")
_LABELS = re.compile(r"label|target|(^|_)(y|gt)(_|$)|class|loss|reward|score|logit|grad|match", re.I)
_FOUND = re.compile(r"(^|_)(foreground|fg|pos(itives?)?|matched)(_|$)", re.I)
_PADDING = re.compile(r"(?<![a-z])pad", re.IGNORECASE)


@lru_cache(maxsize=4096)
def names_a_small_constant(name: str) -> bool:
    """Something added or compared with so that nothing is divided by zero: `eps`, `tol`."""
    return _SMALL_CONSTANT.search(name) is not None


@lru_cache(maxsize=4096)
def names_a_mask(name: str) -> bool:
    """Something that holds zeros and ones."""
    if names_a_small_constant(name) or _HOLDS_A_MASK.search(name) is None:
        return False
    return _NOT_A_MASK.search(name) is None


@lru_cache(maxsize=4096)
def names_a_logarithm(name: str) -> bool:
    """The logarithm of a scale."""
    if names_a_small_constant(name) or _HOLDS_A_MASK.search(name) is not None:
        return False
    return _LOGARITHM.search(name) is not None


@lru_cache(maxsize=4096)
def names_a_probability(name: str) -> bool:
    """Probabilities, not their logarithms."""
    return _PROBABILITY.search(name) is not None and "log" not in name.lower()


@lru_cache(maxsize=4096)
def names_ties(name: str) -> bool:
    """Which things have to do with which."""
    return _TIES.search(name) is not None


@lru_cache(maxsize=4096)
def names_a_scale(name: str) -> bool:
    """A spread, not its logarithm."""
    return _SCALE.search(name) is not None and "log" not in name.lower()


def names_a_size(name: str) -> bool:
    """The sizes of a tensor, as Python numbers."""
    return _SIZE.search(name) is not None


@lru_cache(maxsize=4096)
def is_mask_name(name: str) -> bool:
    """Something that is, or makes, a mask."""
    return _MASK.search(name) is not None


def ends_as_mask(name: str) -> bool:
    """A mask itself, and not the places where one is true."""
    return _MASK_AT_END.search(name) is not None


def is_length_name(name: str) -> bool:
    """A length, or lengths."""
    return _LENGTHS.search(name) is not None


def names_ids(name: str) -> bool:
    """Indices of things, not of the tokens of a text."""
    return _IDS.search(name) is not None


def names_labels(name: str) -> bool:
    """What is to be predicted, or a measure of it."""
    return _LABELS.search(name) is not None


def names_what_was_found(name: str) -> bool:
    """What was matched to something: there may be nothing of it."""
    return _FOUND.search(name) is not None


def names_padding(name: str) -> bool:
    """What fills rows up to a common length."""
    return _PADDING.search(name) is not None
