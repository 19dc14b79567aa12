"""Ranges of operations that move, select or join elements, and of casts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from stablelint.numerics.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, FloatFormat, format_named
from stablelint.numerics.interval import BOOLEAN, TOP, Interval
from stablelint.numerics.ranges.call import Call, Transfer
from stablelint.numerics.ranges.elementwise import whole

_ZERO = Interval.point(0.0)
_INTEGER_NAMES = frozenset(
    ["long", "int", "short", "char", "byte", "int8", "int16", "int32", "int64", "uint8"]
)


def _same(call: Call) -> Interval:
    return call.x


def _joined(call: Call) -> Interval:
    """Any of the operands' elements."""
    result = call.x
    for other in call.operands[1:]:
        result = result.join(other)
    return result


def _or_zero(call: Call) -> Interval:
    return call.x.join(_ZERO)


def _padded(call: Call) -> Interval:
    return (
        call.x.join(call.named("value") or _ZERO) if call.params.get("mode") in (None, "constant") else call.x
    )


def _replaced(position: int, name: str) -> Transfer:
    """Some elements overwritten by those of another operand."""
    return lambda call: call.x.join(call.operand(position, name))


def _copied(call: Call) -> Interval:
    """Every element overwritten; half precision rounds what it is given."""
    source = call.operand(1, "src")
    return cast(source, call.fmt) if call.fmt is FLOAT16 else source


def cast(x: Interval, target: FloatFormat) -> Interval:
    """`x` rounded to `target`: exact in float64; elsewhere finite open ends close and far ends overflow."""
    if target is FLOAT64 or x.subset_of(_exact_integers(target)):
        return x
    return x.rounded(target)


def _exact_integers(target: FloatFormat) -> Interval:
    reach = min(2 / target.eps, target.max)
    return Interval(-reach, reach, nan=True, integral=True)


def _cast_to(target: FloatFormat) -> Transfer:
    return lambda call: cast(call.x, target)


def to_integer(x: Interval) -> Interval:
    """`x` cut to a whole number; an integer has no infinity and no NaN: what becomes of them is unknown."""
    if x.nan or not x.without_nan().subset_of(TOP):
        return Interval(-math.inf, math.inf, lo_open=True, hi_open=True, integral=True)
    return x if x.integral else whole(x, math.trunc)


def _to(call: Call) -> Interval:
    """`x.to(dtype)`; without a known dtype (a device, another tensor) the values stay."""
    dtype = call.params.get("dtype")
    target = format_named(dtype)
    if target is not None:
        return cast(call.x, target)
    bare = dtype.rpartition(".")[2] if isinstance(dtype, str) else ""
    if bare in _INTEGER_NAMES:
        return to_integer(call.x)
    return BOOLEAN if bare == "bool" else call.x


def _finfo(read: Callable[[FloatFormat], float]) -> Transfer:
    """A field of `torch.finfo(dtype)`; of the call's own format where the dtype is unknown."""
    return lambda call: Interval.point(read(format_named(call.params.get("dtype")) or call.fmt))


_SAME = (
    "view reshape view_as reshape_as flatten unflatten ravel permute transpose t swapaxes swapdims "
    "movedim moveaxis squeeze unsqueeze expand expand_as broadcast_to repeat repeat_interleave tile "
    "contiguous clone detach requires_grad_ cpu cuda pin_memory item tolist numpy gather index_select "
    "index select narrow take take_along_dim masked_select chunk split tensor_split unbind flip fliplr "
    "flipud roll rot90 unfold getitem alias as_strided identity as_tensor from_numpy checkpoint "
    "max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d pixel_shuffle embedding "
    "real diag_part all_gather avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d "
    "data channel_shuffle atleast_1d atleast_2d atleast_3d hsplit vsplit dsplit to_dense "
    "broadcast_tensors meshgrid pad_packed_sequence pixel_unshuffle T mT H diagonal"
)
_JOINED = "cat concat concatenate stack vstack hstack dstack column_stack row_stack block_diag pad_sequence"

STRUCTURE: Mapping[str, Transfer] = {
    **dict.fromkeys(_SAME.split(), _same),
    **dict.fromkeys(_JOINED.split(), _joined),
    **dict.fromkeys(["tril", "triu", "diag", "diag_embed", "pad_zero", "to_sparse"], _or_zero),
    **{name: _cast_to(FLOAT32) for name in ("float", "float32")},
    **{name: (lambda call: to_integer(call.x)) for name in _INTEGER_NAMES},
    "half": _cast_to(FLOAT16),
    "bfloat16": _cast_to(BFLOAT16),
    "double": _cast_to(FLOAT64),
    "bool": lambda call: BOOLEAN,
    "to": _to,
    "type": _to,
    "type_as": _same,
    "pad": _padded,
    "masked_scatter": _replaced(2, "source"),
    "index_copy": _replaced(3, "source"),
    "index_put": _replaced(2, "values"),
    "scatter": _replaced(3, "src"),
    "index_fill": _replaced(3, "value"),
    "copy_": _copied,
    "finfo.tiny": _finfo(lambda fmt: fmt.tiny),
    "finfo.smallest_normal": _finfo(lambda fmt: fmt.tiny),
    "finfo.eps": _finfo(lambda fmt: fmt.eps),
    "finfo.resolution": _finfo(lambda fmt: 10.0 ** math.floor(math.log10(fmt.eps) + 0.5)),
    "finfo.max": _finfo(lambda fmt: fmt.max),
    "finfo.min": _finfo(lambda fmt: fmt.min),
}
