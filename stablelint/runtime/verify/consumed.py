"""Whether a function's text deals with values that are not finite, so that such a value is no accident there."""

from __future__ import annotations

import ast
from importlib.util import decode_source

from stablelint.runtime.verify.enclosing import enclosing
from stablelint.runtime.verify.site import Site

_DEALING = frozenset(
    "isinf isfinite isnan isneginf isposinf nan_to_num nan_to_num_ nansum nanmean nanmedian nanquantile where "
    "masked_fill masked_fill_ masked_select".split()
)


def consumes(source: bytes, site: Site) -> bool:
    """Whether the innermost function around the site asks for, replaces or selects by such values."""
    row = site.span.start.row
    try:
        tree = ast.parse(decode_source(source))
    except (SyntaxError, ValueError):
        return False
    return any(map(_deals, ast.walk(enclosing(tree, row) or tree)))


def _deals(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return name in _DEALING
        case ast.Assign(targets=[ast.Subscript(slice=index)]):
            return not isinstance(index, ast.Constant | ast.Slice)
    return False
