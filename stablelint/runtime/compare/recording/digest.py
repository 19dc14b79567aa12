"""What is kept of a tensor: digests of its bits and, where they are asked for, norm, range and a few elements."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch

from stablelint.runtime.compare.recording.trace import Result, Statistics
from stablelint.runtime.tensors.measure import dtype_name


def _fastest() -> Callable[[Any], int]:
    """A digest of memory: zlib's, thirty times as slow, where the interpreter of a command has no other."""
    try:
        from xxhash import xxh3_64_intdigest
    except ImportError:
        return zlib.crc32
    digest: Callable[[Any], int] = xxh3_64_intdigest
    return digest


digest_of = _fastest()
SAMPLE = 8
DIGEST = digest_of.__name__
"""How bits are digested: traces that differ in it cannot be compared."""
_NATIVE = frozenset({torch.float32, torch.float64})
_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32}
_name = cache(dtype_name)


def result_of(tensor: torch.Tensor, statistics: bool = True) -> Result | None:
    """Digests of a tensor, and statistics; None for one that has no elements in memory (meta, sparse, nested)."""
    if tensor.is_meta or tensor.layout is not torch.strided or tensor.is_quantized:
        return None
    try:
        bits = _bits(tensor)
    except (RuntimeError, TypeError, NotImplementedError):  # a subclass without memory of its own
        return None
    measured = _statistics(bits, _numbers(bits, tensor)) if statistics and bits.size else None
    return Result(digest_of(bits.data), _name(tensor.dtype), tuple(tensor.shape), measured)


def _bits(tensor: torch.Tensor) -> np.ndarray:
    """The elements in their logical order, as NumPy has them; types it has not, as integers of their width."""
    if tensor.dtype is torch.bfloat16 or tensor.element_size() == 1:
        tensor = tensor.contiguous().view(torch.int16 if tensor.element_size() == 2 else torch.uint8)
    return np.ascontiguousarray(tensor.numpy(force=True)).reshape(-1)


def _numbers(bits: np.ndarray, tensor: torch.Tensor) -> np.ndarray:
    dtype = tensor.dtype
    if dtype in _NATIVE or not (dtype.is_floating_point or dtype.is_complex):
        return bits
    return np.abs(bits) if dtype.is_complex else tensor.float().numpy(force=True).reshape(-1)


def _statistics(bits: np.ndarray, numbers: np.ndarray) -> Statistics:
    bag = int(bits.view(_WORDS.get(bits.itemsize, np.uint64)).sum(dtype=np.uint64))
    with np.errstate(all="ignore"):
        norm = float(np.linalg.norm(numbers.astype(np.float64)))
        low, high = float(numbers.min()), float(numbers.max())
    sample = numbers[:: max(numbers.size // SAMPLE, 1)][:SAMPLE]
    return Statistics(bag, norm, low, high, tuple(sample.tolist()))
