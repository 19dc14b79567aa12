"""Ranges of contractions (matrix products, convolutions), of distances, and of normalisations."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stablelint.numerics import arithmetic
from stablelint.numerics.formats import round_to
from stablelint.numerics.interval import AT_LEAST_ONE, TOP, ZERO, Interval
from stablelint.numerics.ranges.call import Call, Transfer
from stablelint.numerics.ranges.reductions import sum_of


def _contraction(call: Call) -> Interval:
    """A sum of products of two operands, of unknown length."""
    return sum_of(arithmetic.mul(call.x, call.operand(1, "other"), call.fmt), call)


def _einsum(call: Call) -> Interval:
    """A sum of products of all operands."""
    product = call.x
    for other in call.operands[1:]:
        product = arithmetic.mul(product, other, call.fmt)
    return sum_of(product, call).join(product)


def _affine(call: Call) -> Interval:
    """A contraction of input and weight, and the bias where there is one; of zeros alone in a border of them."""
    contraction = sum_of(arithmetic.mul(call.x, call.operand(1, "weight"), call.fmt), call)
    if call.params.get("padding", 0) != 0:
        contraction = contraction.join(ZERO)
    bias = call.optional(2, "bias")
    return contraction if bias is None else arithmetic.add(contraction, bias, call.fmt)


def _added_contraction(call: Call) -> Interval:
    """`beta * input + alpha * (first @ second)`."""
    product = sum_of(arithmetic.mul(call.operand(1, "mat1"), call.operand(2, "mat2"), call.fmt), call)
    alpha, beta = call.named("alpha"), call.named("beta")
    left = call.x if beta is None else arithmetic.mul(call.x, beta, call.fmt)
    right = product if alpha is None else arithmetic.mul(product, alpha, call.fmt)
    return arithmetic.add(left, right, call.fmt)


def _distance(call: Call) -> Interval:
    """A norm of differences: 0 where the operands agree."""
    difference = arithmetic.sub(call.x, call.operand(1, "other"), call.fmt)
    return Interval(0.0, math.inf, hi_open=not difference.reaches_infinity, nan=difference.nan)


def _cosine(call: Call) -> Interval:
    """In [-1, 1] but for rounding: the quotient exceeds 1 by an ulp or two for parallel operands."""
    a, b = call.x, call.operand(1, "other")
    finite = a.subset_of(TOP) and b.subset_of(TOP)
    top = 1.0 + 4 * call.fmt.eps
    bound = Interval(0.0 if min(a.lo, b.lo) >= 0 else -top, top)
    null = _vanishes(call, 1e-8) and (a.contains(0.0) or b.contains(0.0))
    return bound.with_nan(not finite or null)


def _vanishes(call: Call, default: float) -> bool:
    """Whether the `eps` that keeps a zero norm from dividing is itself 0 in the format."""
    eps = call.number("eps", default)
    return eps is None or not round_to(eps, call.fmt) > 0


def _normalize(call: Call) -> Interval:
    """x over the larger of its norm and `eps`; in [-1, 1] with the sign of x."""
    x, order = call.x, call.number("p", 2.0)
    size = 1.0 if order is not None and order > 0 else math.inf  # else no norm bounds each of the elements
    lo = -size if x.lo < 0 else 0.0
    hi = size if x.hi > 0 else 0.0
    null = _vanishes(call, 1e-12) and x.contains(0.0)
    return Interval(lo, hi, math.isinf(lo), math.isinf(hi), nan=null or not x.subset_of(TOP))


def _weighted_mean(call: Call) -> Interval:
    """Attention: weighted means of the values, the weights in [0, 1] and of sum 1, or 0 where a row is masked."""
    value = call.operand(2, "value")
    if call.named("attn_mask") is not None:
        value = value.join(ZERO)
    if call.number("dropout_p", 0.0) != 0:
        value = arithmetic.mul(value.join(ZERO), AT_LEAST_ONE, call.fmt)
    scores = arithmetic.mul(call.x, call.operand(1, "key"), call.fmt)
    return value.filled().with_nan(scores.nan)


PRODUCTS: Mapping[str, Transfer] = {
    **dict.fromkeys(["matmul", "outer"], _contraction),
    **dict.fromkeys(["linear", "conv1d", "conv2d", "conv3d"], _affine),
    **dict.fromkeys(["addmm", "baddbmm"], _added_contraction),
    **dict.fromkeys(["cdist", "pairwise_distance"], _distance),
    **dict.fromkeys(
        ["batch_norm", "layer_norm", "group_norm"], lambda call: TOP.with_nan(not call.x.subset_of(TOP))
    ),
    "einsum": _einsum,
    "cosine_similarity": _cosine,
    "normalize": _normalize,
    "scaled_dot_product_attention": _weighted_mean,
}
