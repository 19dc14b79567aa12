"""Decides cheaply what need not be looked at: files without torch, functions without a risky operation."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cache

from stablelint.syntax.operations import VIEWS, canonical

_RISKY_OPERATIONS = (
    "log log2 log10 log1p xlogy xlog1py entr exp exp2 expm1 sqrt rsqrt reciprocal pow div true_divide divide asin acos "
    "arcsin arccos atanh arctanh acosh erfinv logit sinh cosh norm std var std_mean var_mean softmax log_softmax logsumexp "
    "logaddexp sigmoid logsigmoid cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div "
    "masked_fill where nan_to_num inverse inv det logdet slogdet cholesky eigh eig svd symeig qr mean half bfloat16 float16 "
    "clip_grad_norm_ clip_grad_value_ unscale_ scale backward step empty prod digamma lgamma std_mean square erf erfc "
    "cosine_similarity lgamma isnan autocast GradScaler Normal Categorical Bernoulli Beta Gamma MultivariateNormal "
    "set_detect_anomaly detect_anomaly new_empty empty_like addcdiv SGD Adam AdamW RMSprop normal_ uniform_ sign "
    "criterion crit loss_fn loss_func loss_function "
    "CrossEntropyLoss NLLLoss BCELoss BCEWithLogitsLoss KLDivLoss CTCLoss ctc_loss ModuleList nan NaN inf Inf".split()
)

_LITERALS = ("nan", "NaN", "inf", "-inf")  # as `float` reads them


@cache
def _risky_names() -> frozenset[str]:
    names = set(_RISKY_OPERATIONS)
    names |= {f"{name}_" for name in _RISKY_OPERATIONS if canonical(name) is not None and name not in VIEWS}
    return frozenset(names)


def mentions_torch(data: bytes) -> bool:
    """Whether a file can concern us at all."""
    return b"torch" in data


def aliases(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names and attributes to which a file assigns a loss or a risky function: `self.criterion = nn.BCELoss()`."""
    found: set[str] = set()
    risky = _risky_names()
    for node in nodes:
        if type(node) is not ast.Assign:
            continue
        values = node.value.elts if type(node.value) is ast.Tuple else [node.value]
        if not any(_is_alias(value, risky) for value in values):
            continue
        for target in node.targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(part, ast.Attribute):
                    found.add(part.attr)
                elif isinstance(part, ast.Name):
                    found.add(part.id)
    return frozenset(found)


def _is_alias(value: ast.expr, risky: frozenset[str]) -> bool:
    if type(value) is ast.Call:
        function = value.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return name.endswith("Loss") or (
            name == "partial" and any(isinstance(a, ast.Attribute) and a.attr in risky for a in value.args)
        )
    return isinstance(value, ast.Attribute) and value.attr in risky


def imported_aliases(imports: Mapping[str, str]) -> frozenset[str]:
    """Local names under which a file imports something risky: `from torch import log as ln`."""
    risky = _risky_names()
    return frozenset(name for name, qualified in imports.items() if qualified.rpartition(".")[2] in risky)


def is_risky(nodes: Iterable[ast.AST], others: frozenset[str] = frozenset()) -> bool:
    """Whether some node is an operation with a contract: a risky name (or one of `others`), a division, a power."""
    names = _risky_names() | others
    for node in nodes:
        kind = type(node)
        if kind is ast.BinOp:
            if _is_risky_operator(node):  # type: ignore[arg-type]
                return True
        elif kind is ast.Attribute:
            if node.attr in names:  # type: ignore[attr-defined]
                return True
        elif kind is ast.Name:
            if node.id in names:  # type: ignore[attr-defined]
                return True
        elif kind is ast.Call:
            if len(node.args) > 1 and _calls_loss(node.func):  # type: ignore[attr-defined]
                return True
        elif kind is ast.Constant and node.value in _LITERALS:  # type: ignore[attr-defined]
            return True
        elif kind is ast.AugAssign and isinstance(node.op, ast.Div | ast.Pow | ast.Add):  # type: ignore[attr-defined]
            return True
    return False


def _calls_loss(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return bool(name.endswith(("loss", "Loss")))


def _is_risky_operator(node: ast.BinOp) -> bool:
    if isinstance(node.op, ast.Div):
        return not isinstance(node.right, ast.Constant)
    return isinstance(node.op, ast.Pow)
