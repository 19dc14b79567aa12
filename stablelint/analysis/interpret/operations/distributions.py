"""`torch.distributions`: objects whose parameters carry contracts, and what their methods yield."""

from __future__ import annotations

import ast
from dataclasses import replace

from stablelint.analysis.interpret.operations.apply import apply
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.state import Frame, quiet_frame
from stablelint.analysis.values.value import Attained, Belief, Kind, Value, believed
from stablelint.numerics.interval import POSITIVE

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
_POSITIVE = frozenset("scale rate concentration concentration0 concentration1 df temperature".split())
_SPREADS = {"stddev": 1, "variance": 2}  # the power of the scale, for a Normal
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
    return frame.observed(value)


def attribute(base: Value, attr: str, node: ast.AST, frame: Frame) -> Value | None:
    """A parameter of a distribution, or a normal one's spread: positive, as long as the arguments are validated."""
    if attr not in _POSITIVE and attr not in _SPREADS:
        return None
    made = _class_of(base, frame) or ""
    power = _SPREADS.get(attr) if made == "Normal" else None
    name = "scale" if power is not None else attr
    if name not in _POSITIVE or name not in _PARAMETERS.get(made, ()):
        return None
    key = frame.graph.key("attribute", base.key, name)
    given = base.operands.get(name) or Value(
        "attribute", key, Kind.UNKNOWN, {"input": base}, node=node, name=attr
    )
    taken = replace(given, kind=Kind.TENSOR, key=key, module=frame.module)
    if believed(taken).interval.contains(0.0):
        setting = Assumption(f"{name} is positive")
        taken.belief = Belief(POSITIVE, Attained.NONE, Attained.COINCIDENCE, (setting,))
    return (
        taken
        if power != 2
        else apply("pow", {"input": taken, "exponent": frame.graph.constant(2)}, node, frame)
    )


def _class_of(value: Value, frame: Frame) -> str | None:
    """The class of what may be a distribution: one that was made, or a parameter that is annotated so."""
    if value.op.startswith("torch.distributions."):
        return value.name
    annotation = value.node.annotation if value.op == "argument" and isinstance(value.node, ast.arg) else None
    if not isinstance(annotation, ast.Name | ast.Attribute) or value.module is None:
        return None
    named = frame.session.interpreter.evaluate(annotation, quiet_frame(value.module, frame))
    package, _, name = named.data.rpartition(".") if isinstance(named.data, str) else ("", "", "")
    return name if package in _PACKAGES else None


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
