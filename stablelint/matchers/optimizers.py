"""Optimizers whose constants the type of the parameters cannot hold."""

from __future__ import annotations

import ast
from typing import Any

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import (
    Kind,
    Review,
    Rule,
    Sites,
    Value,
    make_site,
    observed,
    observes,
    scope_of,
)
from stablelint.matchers.names import assigned_in
from stablelint.matchers.tree import called, calls_below, calls_in, end, receiver, start, subject
from stablelint.numerics.formats import FLOAT16, round_to
from stablelint.syntax.names import spelled
from stablelint.syntax.signatures import argument, arguments
from stablelint.syntax.walk import nodes_below

_ADAPTIVE = tuple(f"torch.optim.{name}" for name in ("Adam", "AdamW", "NAdam", "RAdam", "RMSprop"))
_EPS = 1e-8  # the default of all of them
_CASTS = frozenset("half to float double bfloat16".split())
_HALVES = frozenset({"float16", "half"})


# From which rate on an optimizer is reported: for any parameters, and for those of a whole model.
_RATES = {"torch.optim.SGD": (1.0, 1.0)} | dict.fromkeys((*_ADAPTIVE, "torch.optim.Adamax"), (1.0, 0.1))


@observes("|".join(name.rpartition(".")[2] for name in _RATES))
def rate_too_high(review: Review, rule: Rule) -> Sites:
    """`Adam(model.parameters(), lr=0.5)`, `SGD(model.parameters(), lr=1.0)` with no schedule that begins there.

    Only where the file steps in a loop, and limits no gradient: a rate that no training follows harms nobody.
    """
    tree = review.module.source.tree
    if review.module.mentions("clip_grad_norm_", "clip_grad_value_"):
        return
    if not (_trains(tree) or review.module.mentions("LightningModule")):
        return
    written = (n.slice for n in nodes_below(tree, ast.Subscript) if isinstance(n.ctx, ast.Store))
    if any(isinstance(key, ast.Constant) and key.value == "lr" for key in written):
        return  # `group["lr"] = rate`
    scheduled = "lr_scheduler" in review.module.source.text
    for pair in observed(review, *_RATES):
        call, values = pair[0], list(pair[0].operands.values())
        given, anywhere = call.first, _RATES[call.op]
        rate = call.operands.get("lr", values[1] if "argument1" in call.operands else None)
        # Groups of parameters have rates of their own: `[{"params": …, "lr": 0.5}]`.
        groups = given.data if given is not None and given.kind is Kind.SEQUENCE else ()
        groups = groups if isinstance(groups, list | tuple) else ()
        rates = [rate] if rate is not None else []
        rates += [one.data["lr"] for one in groups if isinstance(one.data, dict) and "lr" in one.data]
        numbers = (number for one in rates if isinstance(number := _number(one, review.module), int | float))
        number = max(numbers, default=None)
        parts = given.node.elts if given is not None and isinstance(given.node, ast.List) else []
        # The pixels of an image, say, which stand there alone, have a scale of their own.
        alone = len(parts) == 1 and isinstance(parts[0], ast.Name | ast.Attribute)
        if given is None or number is None or alone:
            continue
        of_model = _is_of_model(given)
        begins_high = call.op == "torch.optim.SGD" and scheduled
        if number > anywhere[0] or (of_model and number >= anywhere[1] and not begins_high):
            yield make_site(review, rule, pair, shown=number >= 1)


def _number(rate: Value, module: ModuleInfo) -> Any:
    """A rate that is written out, or that a setting has unless somebody sets it; a parameter's default is its caller's."""
    if isinstance(rate.node, ast.arg):
        return rate.constant()
    options = module.sights.calls("add_argument") if rate.op == "attribute" else []
    for call in options:  # `parser.add_argument("--lr", default=0.5)`
        flags = (
            str(one.value).strip("-").replace("-", "_") for one in call.args if isinstance(one, ast.Constant)
        )
        default = argument(call, "default")
        if rate.name in flags and isinstance(default, ast.Constant):
            return default.value
    return rate.default()


def _is_of_model(given: Value) -> bool:
    """Whether an optimizer is given the parameters of whole models, `model.parameters()` or a choice or sum of such."""
    calls = calls_below(given.node, "parameters") if given.node is not None else []
    return bool(calls) and all("." not in subject(n).removeprefix("self.") for n in calls)


def _trains(tree: ast.AST) -> bool:
    """Whether a loop of the file steps an optimizer: a trainer that is elsewhere has limits of its own."""
    return any(calls_below(loop, "step", "backward") for loop in nodes_below(tree, ast.For, ast.While))


@observes("Adam|AdamW|NAdam|RAdam|RMSprop half|float16")
def half_optimizer(review: Review, rule: Rule) -> Sites:
    """An optimizer of `model.parameters()`, where the last cast of the model before it was one to float16."""
    for pair in observed(review, *_ADAPTIVE):
        call, frame = pair[0].node, pair[1]
        given = call.args[0] if isinstance(call, ast.Call) and call.args else None
        eps = pair[0].operands["eps"].default() if "eps" in pair[0].operands else _EPS
        vanishes = isinstance(eps, int | float) and round_to(float(eps), FLOAT16) == 0
        if called(given) == "parameters" and vanishes:
            if _is_half(subject(given), start(call), scope_of(frame)):
                yield make_site(review, rule, pair)


def _is_half(model: str, before: tuple[int, int], root: ast.AST) -> bool:
    """Whether the last cast of a module before a place was one to float16: `model.half()`, `model = Net().half()`."""
    bound = [n.value for n in assigned_in(model, root)]
    casts = [n for n in calls_in(root, *_CASTS) if n in bound or _cast(n) == model]
    last = max((n for n in casts if start(n) < before), key=end, default=None)
    if last is None or called(last) != "to":
        return called(last) == "half"
    return any(isinstance(part, ast.Attribute) and part.attr in _HALVES for part in arguments(last))


def _cast(call: ast.expr) -> str:
    """The text of what is cast, once or several times in a row."""
    of = receiver(call) if called(call) in _CASTS else None
    return _cast(of) if of is not None else spelled(call)
