"""Numbers that a narrow format cannot hold: the defaults of operations, and positions."""

from __future__ import annotations

import re

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.matching.predicates.formats import is_upcast, maybe_half
from stablelint.analysis.matching.truth import Truth
from stablelint.analysis.values.sorts import is_integral
from stablelint.analysis.values.views import behind
from stablelint.matchers.common import (
    Review,
    Rule,
    Sites,
    Value,
    is_under_autocast,
    make_site,
    observed,
    observes,
)
from stablelint.numerics.formats import FLOAT16, round_to
from stablelint.syntax import precision
from stablelint.syntax.operations import having

_NORM = re.compile(r"norm(\dd)?$", re.I)  # the name of a layer
# Within three lines, as it is written nearly everywhere: `f(x.float()).type_as(x)`, `f(x.float()).to(x.dtype)`.
_UP = re.compile(r"\.float\(\)|\.to\((dtype=)?torch\.float32\)|dtype=torch\.float32\)")
_BACK = re.compile(r"\.type_as\(|\.to\((dtype=)?(\w+\.)*\w*dtype\)")
_EPS = 1e-12  # the default
_TINY = "an eps of {!r} guards nothing in float16: where a row is constant its gradient overflows"
_SIZES = having("size")
_SHOWING = {precision.SOFTMAX: "{} computes a softmax in float32", precision.FLOAT16: "{} names float16"}
_EXACT_UP_TO = 256  # whole numbers, by bfloat16
_PRODUCTS = having("product") | {"masked_fill"}
# A layer lies between.
_SQUEEZED = frozenset("linear_module softmax sigmoid tanh layer_norm norm_module".split())


@observes("normalize")
@observes("layer_norm", "LayerNorm|GroupNorm|RMSNorm|BatchNorm1d|BatchNorm2d", anywhere="~0")
def half_normalize(review: Review, rule: Rule) -> Sites:
    """`F.normalize(x)` in a normalisation layer of a file that casts to float32 and back."""
    yield from _tiny_eps(review, rule)
    for pair in observed(review, "normalize"):
        value, frame = pair
        owner = frame.function.owner if frame.function is not None else None
        if owner is None or not _NORM.search(owner.name) or not casts_up_and_back(frame.module):
            continue
        vectors, given = value.first, value.operands.get("eps")
        eps = given.default() if given is not None else _EPS
        if vectors is None or not isinstance(eps, int | float) or round_to(float(eps), FLOAT16) != 0:
            continue
        if vectors.dtype in (None, "float16") and not is_upcast(vectors):
            yield make_site(review, rule, pair, {"x": vectors})


def _tiny_eps(review: Review, rule: Rule) -> Sites:
    """`nn.LayerNorm(n, eps=1e-12)` where what comes in can be float16."""
    for pair in observed(review, "layer_norm", "norm_module"):
        value, frame = pair
        layer, x = value.operands.get("layer"), value.first
        given = layer.data.arguments.get("eps") if layer is not None else value.operands.get("eps")
        eps = given.default() if given is not None else None
        if x is None or not isinstance(eps, float) or round_to(eps, FLOAT16) != 0:
            continue
        if is_under_autocast(value, frame):
            continue  # which computes it, and its gradient, in float32
        half = maybe_half(x, review.context(value, {"x": x}, frame), precision.FLOAT16)
        if half is not Truth.NO:
            yield make_site(review, rule, pair, {"x": x}, shown=half is Truth.YES, message=_TINY.format(eps))


@observes("arange dtype=", "cumsum dtype=")
def positions_in_half(review: Review, rule: Rule) -> Sites:
    """`torch.arange(n, dtype=x.dtype)`, `mask.cumsum(1, dtype=dtype)`: counted in a type that was handed over."""
    for pair in observed(review, "arange", "cumsum"):
        value, _ = pair
        chosen = value.operands.get("dtype")
        counts = value.op == "arange" or (value.first is not None and is_integral(value.first))
        if chosen is None or not counts or not _is_handed_over(chosen) or value.interval.hi <= _EXACT_UP_TO:
            continue
        if chosen.first is None or not _bounds(chosen.first, value):
            yield make_site(review, rule, pair, {"d": chosen}, shown=False)


def _bounds(tensor: Value, positions: Value) -> bool:
    """Whether the positions end where a tensor's elements say, `arange(lengths.max(), dtype=lengths.dtype)`: integers."""
    ends = (v for name, v in positions.operands.items() if name in ("start", "end"))
    return any(part.key == tensor.key for end in ends for part in behind(end, lambda v: v.op in _SIZES))


def _is_handed_over(dtype: Value) -> bool:
    """Whether a type is a parameter, or that of a tensor of which nothing shows that it is no half precision."""
    of_tensor = dtype.op == "attribute" and dtype.name == "dtype"
    return (of_tensor and dtype.dtype in (None, "float16", "bfloat16")) or dtype.op == "argument"


def casts_up_and_back(module: ModuleInfo) -> bool:
    """Whether a file computes something in float32 and gives it back in the type of what came in."""
    lines = module.source.lines
    return any(
        _UP.search(line) and _BACK.search(" ".join(lines[row : row + 3])) for row, line in enumerate(lines)
    )


@observes("softmax")
def softmax_of_products(review: Review, rule: Rule) -> Sites:
    """`softmax(q @ k.mT)` in the type of `q`, where the project shows that this can be float16."""
    for pair in observed(review, "softmax"):
        value, frame = pair
        scores = value.first
        if scores is None or "dtype" in value.operands:
            continue
        # Products of vectors, or masked as only such are.
        if not any(v.op in _PRODUCTS for v in behind(scores, lambda v: v.op in _SQUEEZED)):
            continue
        if is_under_autocast(value, frame):
            continue
        context = review.context(value, {"x": scores}, frame)
        half = maybe_half(scores, context, *_SHOWING)
        if half is not Truth.NO:
            given = {"x": scores, "d": value.operands.get("dim")}
            bound = {name: v for name, v in given.items() if v is not None}
            known = [text.format(file) for fact, text in _SHOWING.items() if (file := context.shows(fact))]
            message = "; ".join([rule.message, *known[:1]]) if half is Truth.MAYBE else None
            yield make_site(review, rule, pair, bound, shown=False, message=message)
