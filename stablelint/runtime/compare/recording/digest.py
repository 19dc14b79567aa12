"""What is kept of a tensor: digests of its bits, norm, range and a few elements."""

from __future__ import annotations

import zlib

import numpy as np
import torch

from stablelint.runtime.compare.recording.trace import Result

SAMPLE = 8
_SMALL = 1 << 18  # bytes that are digested in one go; of more, sums of blocks are
_BLOCK = 1 << 12  # words of a block
_NATIVE = frozenset({torch.float32, torch.float64})
_EMPTY = (0.0, 0.0, 0.0, ())


def result_of(tensor: torch.Tensor) -> Result | None:
    """Digests and statistics of a tensor; None for one that has no elements in memory (meta, sparse, nested)."""
    if tensor.is_meta or tensor.layout is not torch.strided or tensor.is_quantized:
        return None
    dtype = tensor.dtype
    try:
        bits = _bits(tensor)
    except (RuntimeError, TypeError, NotImplementedError):  # a subclass without memory of its own
        return None
    digest, bag = _digests(bits)
    word = str(dtype).removeprefix("torch.")
    numbers = _numbers(bits, tensor, dtype)
    return Result(digest, bag, word, tuple(tensor.shape), *(_statistics(numbers) if numbers.size else _EMPTY))


def _bits(tensor: torch.Tensor) -> np.ndarray:
    """The elements in their logical order, as NumPy has them; types it has not, as integers of their width."""
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.dtype is torch.bfloat16 or tensor.element_size() == 1:
        tensor = tensor.contiguous().view(torch.int16 if tensor.element_size() == 2 else torch.uint8)
    array: np.ndarray = np.ascontiguousarray(tensor.cpu().numpy()).reshape(-1)
    return array


def _digests(array: np.ndarray) -> tuple[int, int]:
    words = array.view({1: np.uint8, 2: np.uint16, 4: np.uint32}.get(array.itemsize, np.uint64))
    bag = int(words.sum(dtype=np.uint64)) if words.size else 0
    if array.nbytes <= _SMALL:
        return zlib.crc32(array.data), bag
    wide = array.view(np.uint8)[: array.nbytes // 8 * 8].view(np.uint64)
    whole = wide[: len(wide) // _BLOCK * _BLOCK].reshape(-1, _BLOCK)
    rest = array.view(np.uint8)[whole.nbytes :]
    # Equal sums and equal exclusive ors of every block: what a swap within a block would keep, a change does not.
    state = zlib.crc32(np.bitwise_xor.reduce(whole, axis=1).data, zlib.crc32(whole.sum(axis=1).data))
    return zlib.crc32(np.ascontiguousarray(whole[:, ::64]).data, zlib.crc32(rest.data, state)), bag


def _numbers(bits: np.ndarray, tensor: torch.Tensor, dtype: torch.dtype) -> np.ndarray:
    if dtype in _NATIVE or not (dtype.is_floating_point or dtype.is_complex):
        return bits
    if dtype.is_complex:
        magnitudes: np.ndarray = np.abs(bits)
        return magnitudes
    array: np.ndarray = tensor.detach().float().cpu().contiguous().numpy().reshape(-1)
    return array


def _statistics(numbers: np.ndarray) -> tuple[float, float, float, tuple[float, ...]]:
    if numbers.dtype.kind == "f":
        with np.errstate(all="ignore"):
            norm = float(np.dot(numbers, numbers)) ** 0.5
            low, high = float(numbers.min()), float(numbers.max())
    else:
        low, high = float(numbers.min()), float(numbers.max())
        norm = max(abs(low), abs(high))
    step = max(numbers.size // SAMPLE, 1)
    return norm, low, high, tuple(numbers[::step][:SAMPLE].tolist())
