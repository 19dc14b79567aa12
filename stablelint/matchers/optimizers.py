"""Optimizers whose constants the type of the parameters cannot hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.matchers.common import make_site, observed, scope_of
from stablelint.matchers.names import called, receiver
from stablelint.matchers.tree import start
from stablelint.numerics.formats import FLOAT16, round_to
from stablelint.syntax.walk import descendants, nodes_below, nodes_in

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.analysis.values.value import Value
    from stablelint.catalog.rule import Rule

_ADAPTIVE = tuple(f"torch.optim.{name}" for name in ("Adam", "AdamW", "NAdam", "RAdam", "RMSprop"))
_EPS = 1e-8  # the default of all of them
_CASTS = frozenset("half to float double bfloat16".split())
_HALVES = frozenset({"float16", "half"})


# From which rate on an optimizer is reported: for any parameters, and for those of a whole model.
_RATES = {"torch.optim.SGD": (1.0, 1.0)} | dict.fromkeys((*_ADAPTIVE, "torch.optim.Adamax"), (1.0, 0.1))


@observes("|".join(name.rpartition(".")[2] for name in _RATES))
def rate_too_high(review: Review, rule: Rule) -> Iterator[Site]:
    """`Adam(model.parameters(), lr=0.5)`, `SGD(model.parameters(), lr=1.0)` with no schedule that begins there.

    Only where the file steps in a loop, and limits no gradient: a rate that no training follows harms nobody.
    """
    tree = review.module.source.tree
    limits = review.module.mentions("clip_grad_norm_", "clip_grad_value_")
    if limits or not _trains(tree) or _sets_rates(tree):
        return
    scheduled = "lr_scheduler" in review.module.source.text
    for pair in observed(review, *_RATES):
        call, values = pair[0], list(pair[0].operands.values())
        given, anywhere = call.first, _RATES[call.op]
        rate = call.operands.get("lr", values[1] if "argument1" in call.operands else None)
        number = rate.constant() if rate is not None and not rate.assumed else None
        if given is None or not isinstance(number, int | float):
            continue
        of_model = _is_of_model(given)
        begins_high = call.op == "torch.optim.SGD" and scheduled
        if number > anywhere[0] or (of_model and number >= anywhere[1] and not begins_high):
            yield make_site(review, rule, pair, shown=number >= 1)


def _is_of_model(given: Value) -> bool:
    """Whether an optimizer is given `model.parameters()` or `self.model.parameters()`, and not those of a part of it."""
    if given.op not in ("method.parameters", "call.parameters"):
        return False
    owner = receiver(given.node) if given.node is not None else None
    return owner is None or ast.unparse(owner).removeprefix("self.").count(".") == 0


def _trains(tree: ast.AST) -> bool:
    """Whether a loop of the file steps an optimizer: a trainer that is elsewhere has limits of its own."""
    loops = nodes_below(tree, ast.For, ast.While)
    return any(called(n) in ("step", "backward") for loop in loops for n in descendants(loop))


def _sets_rates(tree: ast.AST) -> bool:
    """Whether the file writes rates itself: `group["lr"] = rate`."""
    written = (n.slice for n in nodes_below(tree, ast.Subscript) if isinstance(n.ctx, ast.Store))
    return any(isinstance(key, ast.Constant) and key.value == "lr" for key in written)


@observes("Adam|AdamW|NAdam|RAdam|RMSprop half|float16")
def half_optimizer(review: Review, rule: Rule) -> Iterator[Site]:
    """An optimizer of `model.parameters()`, where the last cast of the model before it was one to float16."""
    for pair in observed(review, *_ADAPTIVE):
        call, frame = pair
        model = _model(call.node)
        if model is None or not _eps_vanishes(call):
            continue
        if _is_half(model, call.node, scope_of(frame)):
            yield make_site(review, rule, pair)


def _model(call: ast.AST | None) -> str | None:
    """The text of the module whose parameters an optimizer is given."""
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if not isinstance(given, ast.Call) or not isinstance(given.func, ast.Attribute):
        return None
    return ast.unparse(given.func.value) if given.func.attr == "parameters" else None


def _eps_vanishes(call: Value) -> bool:
    given = call.operands.get("eps")
    eps = given.constant() if given is not None else _EPS
    return isinstance(eps, int | float) and round_to(float(eps), FLOAT16) == 0


def _is_half(model: str, call: ast.AST | None, root: ast.AST) -> bool:
    """Whether the last cast of a module before a call was one to float16: `model.half()`, `model = Net().half()`."""
    if call is None:
        return False
    casts = [
        node for node in nodes_in(root, ast.Call) if start(node) < start(call) and _is_cast(node, model, root)
    ]
    return bool(casts) and _is_to_half(max(casts, key=_end))


def _is_cast(node: ast.AST, model: str, root: ast.AST) -> bool:
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.func.attr not in _CASTS
    ):
        return False
    if _subject(node) == model:
        return True
    return any(
        isinstance(statement, ast.Assign)
        and statement.value is node
        and [ast.unparse(target) for target in statement.targets] == [model]
        for statement in nodes_in(root, ast.Assign)
    )


def _subject(cast: ast.Call) -> str:
    """The text of what is cast, once or several times in a row."""
    subject: ast.expr = cast
    while (
        isinstance(subject, ast.Call)
        and isinstance(subject.func, ast.Attribute)
        and subject.func.attr in _CASTS
    ):
        subject = subject.func.value
    return ast.unparse(subject)


def _end(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)


def _is_to_half(cast: ast.AST) -> bool:
    if not isinstance(cast, ast.Call) or not isinstance(cast.func, ast.Attribute):
        return False
    if cast.func.attr != "to":
        return cast.func.attr == "half"
    given = [*cast.args, *(keyword.value for keyword in cast.keywords)]
    return any(isinstance(part, ast.Attribute) and part.attr in _HALVES for part in given)
