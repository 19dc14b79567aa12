"""Operations with a torch counterpart: how to call it on members of the operands' ranges."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class Case:
    """`call` takes tensors of one shape: elementwise, or over the last dimension where `rows` is set.

    `within` bounds the operands' ranges where the entry's claim needs it; `ulps` is the slack at finite ends.
    """

    call: Callable[..., torch.Tensor]
    arity: int = 1
    params: Mapping[str, object] = field(default_factory=dict)
    rows: bool = False
    within: tuple[float, float] | None = None
    ulps: float = 8.0
    closure: bool = False


def _unary() -> dict[str, Case]:
    names = (
        "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sigmoid tanh asin acos atan sin cos tan sinh "
        "cosh asinh "
        " acosh atanh erf erfc erfinv logit lgamma digamma abs neg "
        "floor ceil round trunc frac sign isnan isinf isfinite logical_not nan_to_num "
        "relu selu celu"
    )
    return {name: Case(getattr(torch, name)) for name in names.split() if hasattr(torch, name)}


def _special() -> dict[str, Case]:
    names = "ndtr log_ndtr ndtri entr"
    return {name: Case(getattr(torch.special, name)) for name in names.split()}


def _functional() -> dict[str, Case]:
    names = "softplus silu mish gelu hardswish hardsigmoid hardtanh relu6 leaky_relu elu softsign logsigmoid"
    named = {name: Case(getattr(F, name)) for name in names.split()}
    return named | {"dropout": Case(F.dropout), "gelu": Case(F.gelu, ulps=64.0)}


def _binary() -> dict[str, Case]:
    names = (
        "add sub mul div maximum minimum fmod copysign atan2 xlogy "
        "logaddexp eq ne lt le gt ge logical_and logical_or "
        "floor_divide"
    )
    cases = {name: Case(getattr(torch, name), 2) for name in names.split()}
    cases["pow"] = Case(torch.pow, 2, closure=True)
    cases["remainder"] = Case(torch.remainder, 2)
    cases["xlog1py"] = Case(torch.special.xlog1py, 2)
    return cases


def _rows() -> dict[str, Case]:
    def last(function: Callable[..., object]) -> Callable[..., torch.Tensor]:
        def call(x: torch.Tensor) -> torch.Tensor:
            found = function(x, -1)
            return found if isinstance(found, torch.Tensor) else found[0]  # type: ignore[index]

        return call

    names = (
        "softmax log_softmax logsumexp logcumsumexp sum mean var std amax amin argmax argmin cumsum "
        "cumprod median nanmean prod any all count_nonzero cummax argsort"
    )
    cases = {name: Case(last(getattr(torch, name)), rows=True) for name in names.split()}
    cases["prod"] = Case(last(torch.prod), rows=True, closure=True)
    cases["cumprod"] = Case(last(torch.cumprod), rows=True, closure=True)
    cases["var"] = Case(lambda x: torch.var(x, -1), rows=True)
    cases["std"] = Case(lambda x: torch.std(x, -1), rows=True)
    cases["softmin"] = Case(last(F.softmin), rows=True)
    cases["norm"] = Case(lambda x: torch.norm(x, dim=-1), rows=True)
    cases["norm p=3"] = Case(lambda x: torch.norm(x, 3, dim=-1), rows=True, params={"p": 3.0})
    cases["normalize"] = Case(F.normalize, rows=True)
    cases["layer_norm"] = Case(lambda x: F.layer_norm(x, x.shape[-1:]), rows=True)
    cases["gumbel_softmax"] = Case(F.gumbel_softmax, rows=True)
    cases["cosine_similarity"] = Case(lambda x, y: F.cosine_similarity(x, y, dim=-1), 2, rows=True)
    cases["pairwise_distance"] = Case(F.pairwise_distance, 2, rows=True)
    cases["cdist"] = Case(lambda x, y: torch.cdist(x.float(), y.float()), 2, rows=True)
    cases["matmul"] = Case(lambda x, y: x @ y.T, 2, rows=True)
    cases["einsum"] = Case(lambda x, y: torch.einsum("ij,ij->i", x, y), 2, rows=True)
    cases["linear"] = Case(F.linear, 2, rows=True)
    cases["outer"] = Case(lambda x, y: torch.outer(x[0], y[0]), 2, rows=True)
    return cases


def _parameterised() -> dict[str, Case]:
    return {
        "clamp": Case(lambda x: torch.clamp(x, 0.125, 4.0), params={"min": 0.125, "max": 4.0}),
        "clamp min": Case(lambda x: torch.clamp(x, min=-0.5), params={"min": -0.5}),
        "softplus beta=2": Case(lambda x: F.softplus(x, 2.0), params={"beta": 2.0}),
        "gelu tanh": Case(lambda x: F.gelu(x, approximate="tanh"), params={"approximate": "tanh"}),
        "elu alpha=2": Case(lambda x: F.elu(x, 2.0), params={"alpha": 2.0}),
        "celu alpha=0.5": Case(lambda x: F.celu(x, 0.5), params={"alpha": 0.5}),
        "leaky_relu slope=0": Case(lambda x: F.leaky_relu(x, 0.0), params={"negative_slope": 0.0}),
        "logit eps": Case(lambda x: torch.logit(x, eps=0.125), params={"eps": 0.125}),
        "add alpha": Case(lambda x, y: torch.add(x, y, alpha=2), 2, {"alpha": 2}),
        "div floor": Case(
            lambda x, y: torch.div(x, y, rounding_mode="floor"), 2, {"rounding_mode": "floor"}, closure=True
        ),
        "div trunc": Case(lambda x, y: torch.div(x, y, rounding_mode="trunc"), 2, {"rounding_mode": "trunc"}),
        "nan_to_num nan=1": Case(
            lambda x: torch.nan_to_num(x, 1.0, 2.0, -2.0), params={"nan": 1.0, "posinf": 2.0, "neginf": -2.0}
        ),
        "masked_fill": Case(lambda x, y: x.masked_fill(y > 0, -1.0), 2, params={"value": -1.0}),
        "where": Case(lambda c, x, y: torch.where(c > 0, x, y), 3),
        "lerp": Case(torch.lerp, 3),
        "addcmul": Case(torch.addcmul, 3),
        "addcdiv": Case(torch.addcdiv, 3),
        "tril": Case(lambda x: torch.tril(x.reshape(4, -1))),
        "triu": Case(lambda x: torch.triu(x.reshape(4, -1))),
        "diag": Case(torch.diag),
        "pad": Case(lambda x: F.pad(x, (1, 1))),
        "bool": Case(lambda x: x.bool()),
        "long": Case(lambda x: x.long(), within=(-1e4, 1e4)),
        "rand_like": Case(torch.rand_like),
        "randn_like": Case(torch.randn_like),
        "mse_loss": Case(F.mse_loss, 2),
        "l1_loss": Case(F.l1_loss, 2),
        "smooth_l1_loss": Case(F.smooth_l1_loss, 2),
        "huber_loss": Case(F.huber_loss, 2),
        "mse_loss none": Case(lambda x, y: F.mse_loss(x, y, reduction="none"), 2, {"reduction": "none"}),
        "l1_loss sum": Case(lambda x, y: F.l1_loss(x, y, reduction="sum"), 2, {"reduction": "sum"}),
        "binary_cross_entropy": Case(
            lambda x, y: F.binary_cross_entropy(x, y, reduction="none"),
            2,
            {"reduction": "none"},
            within=(0, 1),
        ),
        "binary_cross_entropy_with_logits": Case(F.binary_cross_entropy_with_logits, 2, within=(0, 1)),
        "nll_loss": Case(lambda x: F.nll_loss(x, torch.zeros(len(x), dtype=torch.long)), rows=True),
        "cross_entropy": Case(lambda x: F.cross_entropy(x, torch.zeros(len(x), dtype=torch.long)), rows=True),
        "sum size": Case(lambda x: x.sum(-1), params={"size": 4}, rows=True),
    }


CASES: dict[str, Case] = _unary() | _special() | _functional() | _binary() | _rows() | _parameterised()
