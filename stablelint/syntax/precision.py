"""What a file shows of the precision, and of the PyTorch, that its project runs in, by a look at its bytes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

FLOAT16 = "float16"
"""The project casts to float16, or names it as the type of something."""
MIXED = "mixed"
"""The project computes products in float16: it enters an `autocast`, or asks a trainer for mixed precision."""
SOFTMAX = "softmax"
"""A softmax of the project is computed in float32 whatever comes in."""
SCALED = "scaled"
"""Losses of the project are scaled by a `GradScaler`."""
UNSCALED = "unscaled"
"""Gradients of the project are brought back to their own scale by `unscale_`."""
DEFAULT = "default"
"""The project makes its tensors in float16 where no type is named."""
HALF = "half"
"""The project speaks of half precision, of either format."""
TRAINED = "trained"
"""The project takes gradients itself, in the precision that it says."""
DATED = "dated"
"""The project calls what PyTorch took away before or with 2.0, or pins a release before 1.8."""

_HALF = re.compile(rb"float16|\.half\(|\btorch\.half\b|autocast|fp16|bf16|GradScaler")
_OF_HALF = tuple(b"float16 half autocast fp16 bf16 GradScaler".split())  # one stands where that matches
_COMMENT_OR_TEXT = re.compile(
    rb"#[^\n]*|\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|(?P<text>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
)
_UPCAST = rb"(?:\.float\(\)|dtype=torch\.float(?:32)?\b|\.to\(torch\.float(?:32)?\))"
# A list of types, of longer ones too, tells which there are, and of none that it is used.
_NOT_AFTER = b"".join(b"(?<!torch.%s, )" % longer for longer in (b"float", b"double", b"float32", b"float64"))
_NOT_BEFORE = rb"(?!(?:\s*,\s*torch\.\w+)*\s*,\s*torch\.(?:float|double|float32|float64)\b)"
# What shows each fact, and words of which one stands wherever that does: to look for a word costs next to nothing.
_SHOWN: Mapping[str, tuple[tuple[bytes, ...], re.Pattern[bytes]]] = {
    FLOAT16: (
        (b"half", b"float16"),
        re.compile(rb"\.half\(\)|" + _NOT_AFTER + rb"torch\.(?:float16|half)\b" + _NOT_BEFORE),
    ),
    MIXED: (
        (b"autocast", b"fp16", b"precision", b"amp."),
        re.compile(
            rb"\bautocast\((?![^\n]*(?:bfloat16|cpu|enabled=False))|\bfp16=True|\bamp\.initialize\("
            rb"|\bprecision=(?:16\b|[\"']16(?!-true))|\bmixed_precision=[\"']fp16"
        ),
    ),
    SOFTMAX: ((b"softmax(",), re.compile(rb"softmax\([^\n]*" + _UPCAST + rb"|" + _UPCAST + rb"\.softmax\(")),
    SCALED: ((b"GradScaler(",), re.compile(rb"GradScaler\(")),
    DEFAULT: (
        (b"set_default_",),
        re.compile(rb"set_default_(?:dtype|tensor_type)\([^\n]*(?:\bfloat16|half\b|HalfTensor)"),
    ),
    # `eig`, `symeig` and `lstsq` went with 2.0, `rfft` and `irfft` with 1.8, `gels` with 1.6; an index into the value of
    # a loss raises from 0.5 on, and `volatile` has had no effect since 0.4.
    DATED: (
        tuple(
            b"torch.eig torch.symeig torch.lstsq torch.gels torch.rfft torch.irfft .data[0] volatile= torch== torch<".split()
        ),
        re.compile(
            rb"\btorch\.(?:eig|symeig|lstsq|gels|i?rfft)\(|\bloss\w*\.data\[0\]|\bvolatile=True"
            rb"|[\"']torch(?:==|<=?)(?:0\.|1\.[0-7](?![0-9]))"
        ),
    ),
    UNSCALED: ((b"unscale_",), re.compile(rb"\bunscale_\b")),
    HALF: (_OF_HALF, _HALF),
    TRAINED: ((b".backward(",), re.compile(rb"\.backward\(")),
}
FACTS = tuple(_SHOWN)
SCOPED = frozenset({FLOAT16, MIXED, DEFAULT})
"""Facts about one program: a file speaks for its package, or, where it lies in none, for what it imports."""
_ASIDE = re.compile(r"tests?$|testing$|test_|conftest|benchmarks?$|docs?$")  # try every precision there is


def speaks_for(root: str, path: str) -> bool:
    """Whether a file can show how the project below `root` runs: one of tests or benchmarks does not."""
    return not any(map(_ASIDE.match, os.path.relpath(path, root or None).split(os.sep)))


def program_of(path: str) -> str:
    """What a file is a part of: the outermost package that holds it, or else itself; it ends in a separator."""
    folder, part = os.path.dirname(path), path
    while os.path.isfile(os.path.join(folder, "__init__.py")) and folder != part:
        folder, part = os.path.dirname(folder), folder
    return os.path.join(part, "")


def shows_half(data: bytes) -> bool:
    """Whether the code of a file speaks of half precision, of either format, by a cast, an option or a mode."""
    return shows(data, HALF)


def shown_in(data: bytes) -> Iterator[str]:
    """The facts about its project that a file shows."""
    return (fact for fact in FACTS if shows(data, fact))


def shows(data: bytes, fact: str) -> bool:
    """Whether the code of a file shows one fact about its project."""
    words, pattern = _SHOWN[fact]
    return any(word in data for word in words) and _in_code(pattern, data)


def _in_code(pattern: re.Pattern[bytes], data: bytes) -> bool:
    """Whether a pattern is found outside comments and docstrings; few files have to be looked at twice for it."""
    return pattern.search(data) is not None and pattern.search(_code_of(data)) is not None


@lru_cache(maxsize=1)
def _code_of(data: bytes) -> bytes:
    """A file without its comments and docstrings."""
    return b"".join(filter(None, _COMMENT_OR_TEXT.split(data)))
