"""Random generators taken back: the state from which a step drew the numbers that it is known to have drawn.

Of a step before which no state was kept (the first), the state behind it and the count of its draws are known, the
latter from a replay. The recurrence of the Mersenne twister (Matsumoto and Nishimura, ACM TOMACS 8, 1998) runs
backwards as well as forwards, so the state ahead of the step follows.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Any

import torch

from stablelint.runtime.tensors.state import RandomState

_WORDS, _OFFSET = 624, 397
_UPPER, _LOWER, _MATRIX = 0x80000000, 0x7FFFFFFF, 0x9908B0DF
_MOST_BLOCKS = 1 << 15
_HEAD = struct.Struct("<QiiQ")  # of torch's state: seed, words left, whether seeded, next word
_TAIL = _HEAD.size + 8 * _WORDS  # where normal samples kept for the next draw stand


@dataclass(frozen=True, slots=True)
class _Twister:
    """A block of words and how many of them are used (1 to 624)."""

    words: torch.Tensor
    used: int

    def counted_to(self, later: _Twister) -> int | None:
        """Words drawn from here to `later`; None where it does not lie ahead, within reason."""
        words = self.words
        for blocks in range(_MOST_BLOCKS):
            if torch.equal(words, later.words):
                count = blocks * _WORDS + later.used - self.used
                return count if count >= 0 else None
            words = _twisted(words)
        return None

    def back(self, count: int) -> _Twister:
        """The state `count` words ago."""
        words, used = self.words, self.used - count
        while used < 1:
            words, used = _untwisted(words), used + _WORDS
        return _Twister(words, used)


def rewound(begun: RandomState, ended: RandomState, now: RandomState, further: int = 0) -> RandomState | None:
    """The state from which the draws that led from `begun` to `ended` lead to `now`; torch's `further` words back.

    None where the generators are of another kind. Whether the draws are as many from there, a replay must tell.
    """
    default = _torch_back(begun.default, ended.default, now.default, further)
    if default is None or len(now.devices) != len(ended.devices) or len(begun.devices) != len(ended.devices):
        return None
    devices = tuple(map(_philox_back, begun.devices, ended.devices, now.devices))
    python, numpy = now.python, now.numpy
    if begun.python is not None and ended.python is not None and now.python is not None:
        words = _back(
            *(_of_words(one[1][:-1], one[1][-1]) for one in (begun.python, ended.python, now.python))
        )
        if words is not None:
            python = (now.python[0], (*words.words.tolist(), words.used), now.python[2])
    if begun.numpy is not None and ended.numpy is not None and now.numpy is not None:
        words = _back(*(_of_words(one[1].tolist(), one[2]) for one in (begun.numpy, ended.numpy, now.numpy)))
        if words is not None:
            key = words.words.numpy().astype(now.numpy[1].dtype)
            numpy = (now.numpy[0], key, words.used, *now.numpy[3:])
    return replace(now, default=default, devices=devices, python=python, numpy=numpy)


def _back(begun: _Twister, ended: _Twister, now: _Twister, *, further: int = 0) -> _Twister | None:
    count = begun.counted_to(ended)
    return None if count is None or count + further < 0 else now.back(count + further)


def _of_words(words: Any, used: int) -> _Twister:
    return _Twister(torch.tensor(words, dtype=torch.int64), used)


def _torch_back(
    begun: torch.Tensor, ended: torch.Tensor, now: torch.Tensor, further: int
) -> torch.Tensor | None:
    if len({len(begun), len(ended), len(now)}) > 1 or len(now) < _TAIL:
        return None
    if torch.equal(begun, ended):  # a fresh state and one that is used up read alike, and are not the same
        return now
    start = _back(*(_of_torch(one) for one in (begun, ended, now)), further=further)
    if start is None:
        return None
    seed, _, seeded, _ = _HEAD.unpack(bytes(now[: _HEAD.size].tolist()))
    head = _HEAD.pack(seed, _WORDS + 1 - start.used, seeded, start.used % (_WORDS + 1))
    words = start.words.view(torch.uint8)
    tail = torch.zeros(len(now) - _TAIL, dtype=torch.uint8)  # no normal sample is kept
    return torch.cat([torch.tensor(list(head), dtype=torch.uint8), words, tail])


def _of_torch(state: torch.Tensor) -> _Twister:
    _, left, _, _ = _HEAD.unpack(bytes(state[: _HEAD.size].tolist()))
    return _Twister(state[_HEAD.size : _TAIL].clone().view(torch.int64), _WORDS + 1 - left)


def _philox_back(begun: torch.Tensor, ended: torch.Tensor, now: torch.Tensor) -> torch.Tensor:
    """A counter-based generator: seed and offset, eight bytes each."""
    offsets = [int(one[8:16].clone().view(torch.int64).item()) for one in (begun, ended, now)]
    start = torch.tensor([max(offsets[2] - (offsets[1] - offsets[0]), 0)], dtype=torch.int64)
    return torch.cat([now[:8], start.view(torch.uint8), now[16:]])


def _mixed(upper: torch.Tensor, lower: torch.Tensor) -> torch.Tensor:
    """The word that the recurrence adds, from the top bit of one and the rest of its neighbour."""
    word = (upper & _UPPER) | (lower & _LOWER)
    return (word >> 1) ^ ((word & 1) * _MATRIX)


def _unmixed(mixed: torch.Tensor) -> torch.Tensor:
    """The inverse: the top bit of what is mixed in tells the lowest bit, for the matrix has it and a shift has not."""
    lowest = (mixed >> 31) & 1
    return ((mixed ^ (lowest * _MATRIX)) << 1) | lowest


def _twisted(old: torch.Tensor) -> torch.Tensor:
    """The next block."""
    rest = _WORDS - _OFFSET  # 227: as many words may be made at once
    new = old.clone()
    new[:rest] = old[_OFFSET:] ^ _mixed(old[:rest], old[1 : rest + 1])
    new[rest : 2 * rest] = new[:rest] ^ _mixed(old[rest : 2 * rest], old[rest + 1 : 2 * rest + 1])
    new[2 * rest : -1] = new[rest : _OFFSET - 1] ^ _mixed(old[2 * rest : -1], old[2 * rest + 1 :])
    new[-1] = new[_OFFSET - 1] ^ _mixed(old[-1], new[0])
    return new


def _untwisted(new: torch.Tensor) -> torch.Tensor:
    """The block before."""
    rest = _WORDS - _OFFSET
    old = new.clone()
    words = torch.empty_like(new)
    words[rest:] = _unmixed(new[rest:] ^ new[:_OFFSET])
    old[rest + 1 :] = (words[rest + 1 :] & _UPPER) | (words[rest:-1] & _LOWER)
    words[:rest] = _unmixed(new[:rest] ^ old[_OFFSET:])
    old[1 : rest + 1] = (words[1 : rest + 1] & _UPPER) | (words[:rest] & _LOWER)
    last = _unmixed(old[-1] ^ old[_OFFSET - 1])
    old[0] = (words[0] & _UPPER) | (last & _LOWER)
    return old
