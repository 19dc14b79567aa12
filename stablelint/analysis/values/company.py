"""What a parameter holds, by the company it is in: a mask that is passed beside lengths is the mask of those lengths."""

from __future__ import annotations

import ast
import re

from stablelint.analysis.values.opaque import is_mask_name
from stablelint.analysis.values.value import Value

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
