"""What a value holds, by the company it is in.

A mask that is passed beside lengths is the mask of those lengths; what comes out of the same mapping as a mask, and is
multiplied with it, tells with it which entries of a batch count.
"""

from __future__ import annotations

import ast
import re

from stablelint.analysis.evidence.vocabulary import is_mask_name
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import stripped

_LENGTHS = re.compile(
    r"(^|_)[iox]?len(gth)?s$"
)  # of each row: not `max_seqlen`, nor the ends of `cu_seqlens`


def is_beside_lengths(mask: Value) -> bool:
    """Whether a value is a parameter that is called a mask, of a function that takes lengths, too."""
    if mask.op != "argument" or not is_mask_name(mask.name):
        return False
    node = getattr(mask.data, "node", None)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return False
    signature = node.args
    names = (a.arg for a in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs))
    return any(_LENGTHS.search(name) for name in names)


def came_together(one: Value, other: Value) -> bool:
    """Whether two values are entries of one mapping: of the batch that a function is handed, or draws."""
    mappings = _mappings(one)
    return bool(mappings) and mappings == _mappings(other)


def _mappings(value: Value, depth: int = 4) -> frozenset[int]:
    """Keys of the mappings of which a value is an entry, or an element of one, on each of its paths."""
    inner = stripped(value)
    if inner.op == "phi" and depth:
        return frozenset().union(*(_mappings(path, depth - 1) for path in inner.operands.values()))
    while inner.op in ("index", "part") and inner.first is not None:
        inner = stripped(inner.first)
    return frozenset({inner.data}) if inner.op == "item" and isinstance(inner.data, int) else frozenset()
