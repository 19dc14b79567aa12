"""`torch.distributions`: objects whose parameters carry contracts, and what their methods yield."""

from __future__ import annotations

import ast

from stablelint.analysis.interpret.operations.apply import apply
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Kind, Value

_PARAMETERS: dict[str, tuple[str, ...]] = {
    "Normal": ("loc", "scale"),
    "LogNormal": ("loc", "scale"),
    "HalfNormal": ("scale",),
    "Laplace": ("loc", "scale"),
    "Cauchy": ("loc", "scale"),
    "StudentT": ("df", "loc", "scale"),
    "Gamma": ("concentration", "rate"),
    "Beta": ("concentration1", "concentration0"),
    "Dirichlet": ("concentration",),
    "Exponential": ("rate",),
    "Poisson": ("rate",),
    "Bernoulli": ("probs", "logits"),
    "Binomial": ("total_count", "probs", "logits"),
    "Categorical": ("probs", "logits"),
    "OneHotCategorical": ("probs", "logits"),
    "RelaxedOneHotCategorical": ("temperature", "probs", "logits"),
    "MultivariateNormal": ("loc", "covariance_matrix", "precision_matrix", "scale_tril"),
}
_PACKAGES = frozenset({"torch.distributions", "pyro.distributions"})  # the second hands on the first's


def make_distribution(
    qualified: str, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value | None:
    """The distribution object, with its parameters by name; None where `qualified` is not one."""
    package, _, name = qualified.rpartition(".")
    if package not in _PACKAGES or name not in _PARAMETERS:
        return None
    operands = dict(zip(_PARAMETERS[name], positional, strict=False)) | keywords
    key = frame.graph.key(name, *((n, v.key) for n, v in operands.items()))
    value = Value(
        f"torch.distributions.{name}", key, Kind.UNKNOWN, operands, node=node, module=frame.module, name=name
    )
    if frame.reporting:
        frame.session.observe(value, frame)
    return value


def call(receiver: Value, attr: str, positional: list[Value], node: ast.Call, frame: Frame) -> Value | None:
    """What a distribution's method yields, where it is an operation of its own: Normal's cdf is ndtr."""
    if receiver.op != "torch.distributions.Normal" or attr != "cdf" or len(positional) != 1:
        return None
    operand = positional[0]
    location, scale = receiver.operands.get("loc"), receiver.operands.get("scale")
    if location is None or location.constant() != 0:
        operand = apply("sub", {"input": operand, "other": location or frame.graph.unknown()}, None, frame)
    if scale is None or scale.constant() != 1:
        operand = apply("div", {"input": operand, "other": scale or frame.graph.unknown()}, None, frame)
    return apply("ndtr", {"input": operand}, node, frame)
