"""Layers in a row whose sizes do not fit, as far as literals tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.matchers.common import qualified, site_at
from stablelint.syntax.walk import descendants

if TYPE_CHECKING:
    from stablelint.analysis.files.modules import ModuleInfo
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule

# The names of a layer's parameters for the size it takes and the size it gives.
_CONVOLUTION = ("in_channels", "out_channels")
_PARAMETERS = {
    "Linear": ("in_features", "out_features"),
    **{f"{kind}{n}d": _CONVOLUTION for kind in ("Conv", "ConvTranspose") for n in (1, 2, 3)},
    **{f"BatchNorm{n}d": ("num_features", "num_features") for n in (1, 2, 3)},
}
# Layers that leave both the last dimension and the channels as they are.
_KEEPING = frozenset(
    """
    ReLU ReLU6 LeakyReLU PReLU ELU SELU CELU GELU SiLU Mish Sigmoid Tanh Softplus Softsign Hardtanh Hardswish
    Hardsigmoid LogSigmoid Dropout AlphaDropout Identity Softmax LogSoftmax
    """.split()
)
# Layers that leave the channels alone, and change what lies behind them.
_KEEPING_CHANNELS = (
    "MaxPool",
    "AvgPool",
    "AdaptiveAvgPool",
    "AdaptiveMaxPool",
    "Upsample",
    "Dropout2d",
    "ZeroPad",
)


@observes()
def layers_that_do_not_fit(review: Review, rule: Rule) -> Iterator[Site]:
    """`nn.Linear(784, 256)` and then `nn.Linear(128, 10)` in one `nn.Sequential`."""
    module = review.module
    if not review.of_body or "Sequential" not in module.source.text:
        return
    for node in descendants(module.source.tree):
        if isinstance(node, ast.Call) and _name(node.func, module) == "Sequential":
            yield from _mismatches(review, rule, list(_layers(node, module)))


def _mismatches(review: Review, rule: Rule, layers: list[ast.expr]) -> Iterator[Site]:
    """The layers of a row that take another size than the one before them gives."""
    given: tuple[bool, int, str] | None = None  # of channels, the size, the layer that gives it
    for layer in layers:
        name = _name(layer.func, review.module) if isinstance(layer, ast.Call) else ""
        if name in _PARAMETERS and isinstance(layer, ast.Call):
            of_channels = name != "Linear"
            takes, gives = (_size(layer, i, key) for i, key in enumerate(_PARAMETERS[name]))
            if name.startswith("BatchNorm"):
                gives = takes
            follows = given is not None and (given[0] == of_channels or name == "BatchNorm1d")
            if follows and given is not None and takes is not None and takes != given[1]:
                message = f"this takes {takes} {'channels' if of_channels else 'features'}, and {given[2]} gives {given[1]}"
                yield site_at(review, rule, layer, shown=name != "BatchNorm1d", message=message)
            if name == "BatchNorm1d":
                of_channels = given[0] if given is not None else of_channels
            given = (of_channels, gives, name) if gives is not None else None
        elif name not in _KEEPING and not (
            given is not None and given[0] and name.startswith(_KEEPING_CHANNELS)
        ):
            given = None


def _layers(sequence: ast.Call, module: ModuleInfo) -> Iterator[ast.expr]:
    """The layers of a `Sequential` in order, those of one within it among them, and of an `OrderedDict`."""
    given = sequence.args
    only = given[0] if len(given) == 1 else None
    if isinstance(only, ast.Call) and _called(only) == "OrderedDict" and only.args:
        pairs = only.args[0]
        given = [
            e.elts[1] if isinstance(e, ast.Tuple) and len(e.elts) == 2 else e
            for e in getattr(pairs, "elts", [])
        ]
    elif isinstance(only, ast.Starred) and isinstance(only.value, ast.List):
        given = only.value.elts
    for layer in given:
        if isinstance(layer, ast.Call) and _name(layer.func, module) == "Sequential":
            yield from _layers(layer, module)
        else:
            yield layer


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _name(node: ast.expr, module: ModuleInfo) -> str:
    """The name of a class of `torch.nn`; empty for anything else."""
    package, _, name = qualified(node, module).rpartition(".")
    return name if package == "torch.nn" else ""


def _size(layer: ast.Call, position: int, name: str) -> int | None:
    """A size that is written out, or computed from literals alone."""
    if any(isinstance(argument, ast.Starred) for argument in layer.args):
        return None
    by_name = {keyword.arg: keyword.value for keyword in layer.keywords}
    given = layer.args[position] if position < len(layer.args) else by_name.get(name)
    return _number(given) if given is not None else None


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Add | ast.FloorDiv):
        left, right = _number(node.left), _number(node.right)
        if left is None or right is None or (isinstance(node.op, ast.FloorDiv) and right == 0):
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        return left + right if isinstance(node.op, ast.Add) else left // right
    return None
