"""Which files can concern us at all, by a look at their bytes."""

from __future__ import annotations

import re
import sys
from functools import lru_cache

# An import at the start of a line or after `:` or `;`, which an example in a docstring is not; a line of a list of
# imports; a name as text, as `import_module("torch")` has it. A package may hand on `Tensor` under a name of its own.
_BRINGS = re.compile(
    rb"""(?:^(?:\xef\xbb\xbf)?|[\r\n:;])[ \t]*(?:from|import)[ \t][^\r\n#]*(?:torch|\bTensor\b|[ \t]import[ \t]*\*)"""
    rb"""|(?:^|[\r\n])[ \t]*(?:torch|Tensor)[ \t]*,"""
    rb"""|["']torch["'.]"""
)

_ARRAYS = re.compile(rb"(?:^|[\r\n:;])[ \t]*(?:from|import)[ \t]+numpy\b")
# Frameworks whose arrays have the methods of tensors, and which NumPy's functions take.
FRAMEWORKS = tuple("tensorflow jax flax keras cupy mxnet chainer paddle theano dynet mindspore".split())
_OTHER_ARRAYS = re.compile(
    rb"(?:^|[\r\n:;])[ \t]*(?:from|import)[ \t]+(?:%s)\b" % "|".join(FRAMEWORKS).encode()
)


def is_checked(data: bytes) -> bool:
    """Whether a finding can stand in a file: torch comes into it, or it computes with NumPy alone."""
    return brings_torch(data) or _is_of_arrays(data)


def _is_of_arrays(data: bytes) -> bool:
    return b"numpy" in data and _ARRAYS.search(data) is not None and _OTHER_ARRAYS.search(data) is None


@lru_cache(maxsize=1)  # several ask it of one file after another
def brings_torch(data: bytes) -> bool:
    """Whether a file imports something of torch, tensors by name, or all that another module holds.

    Where torch stands in prose alone, as in many a tokenizer, nothing is computed with it.
    """
    if b"torch" not in data:
        return False
    if b"\nimport torch" in data or b"\nfrom torch" in data:
        return True
    # Most lines cannot match, and to find that out the expression takes ten times as long as this.
    telling = [
        line for line in data.splitlines() if b"import" in line or b"torch" in line or b"Tensor" in line
    ]
    return _BRINGS.search(b"\n".join(telling)) is not None


# `config.EPS = 0`, `config.TABLE["eps"] = 0`, and the names that imports bind.
_SET = re.compile(
    rb"(?:^|[\r\n;:])[ \t]*(\w+)(?:\.[\w.]+[ \t]*(?:\[[^\]\r\n]*\])?|\[[^\]\r\n]*\])[ \t]*[-+*/]?=[^=]"
)
_IMPORTED = re.compile(rb"\bimport[ \t]+(?:\(([^)]*)\)|([^\r\n(]*))")
_WORD = re.compile(rb"\w+")
_STDLIB = frozenset(name.encode() for name in sys.stdlib_module_names)


@lru_cache(maxsize=1)
def sets_elsewhere(data: bytes) -> bool:
    """Whether a file may bind anew what another file of the project holds."""
    owners = set(_SET.findall(data)) - _STDLIB
    if not owners:
        return False
    named = (word for groups in _IMPORTED.findall(data) for text in groups for word in _WORD.findall(text))
    return not owners.isdisjoint(named)


def concerns(data: bytes) -> bool:
    """Whether something can be found in a file, or what it tells others takes a proof away."""
    return is_checked(data) or sets_elsewhere(data)


def handles_tensors(data: bytes) -> bool:
    """Whether the functions of a file can tell something of a tensor, be it that they never name the library."""
    return b"torch" in data or b".clamp(" in data or b".detach(" in data
