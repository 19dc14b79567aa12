"""The calls of a training step, in order: backward, step, zero_grad, clip, scale, unscale, update."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Frame, Observed, Review, Value, observed, scope_of
from stablelint.matchers.names import bound_anywhere, made_by
from stablelint.matchers.tree import end, exclusive, receiver, subject
from stablelint.syntax.names import spelled
from stablelint.syntax.sieve import Glance

_KINDS = {
    "method.step": "step",
    "method.zero_grad": "zero_grad",
    "method.scale": "scale",
    "method.unscale_": "unscale",
    "method.update": "update",
    "backward": "backward",
    "call.manual_backward": "wrapped_backward",  # of a module of Lightning
    "call.clip_gradients": "clip",
    "clip_grad_norm_": "clip",
    "clip_grad_value_": "clip",
    "method.clip_grad_norm_": "clip",
    "method.clip_grad_value_": "clip",
}

ENGINES = (".Accelerator", ".Fabric")  # their `backward(loss)` does no more than that of the loss


@dataclass(frozen=True, eq=False)
class Step:
    """One call of a training step."""

    kind: str
    value: Value
    frame: Frame

    @cached_property
    def node(self) -> ast.Call:
        """The call."""
        assert isinstance(self.value.node, ast.Call)
        return self.value.node

    @cached_property
    def subject(self) -> str:
        """The text of the object it is called on."""
        return subject(self.node)

    @property
    def at(self) -> Observed:
        """The observed operation."""
        return self.value, self.frame

    @property
    def root(self) -> ast.AST:
        """The function in which it stands."""
        return scope_of(self.frame)

    @property
    def optimizer(self) -> str:
        """The text of the optimizer that a step is one of: of `scaler.step(optimizer)`, too."""
        given = self.node.args[:1] if self.kind == "scaler_step" else []
        return spelled(given[0]) if given else self.subject

    @property
    def loss(self) -> str:
        """The text of the loss whose backward this runs: of `scaler.scale(loss).backward()`, too."""
        given, of = self.node.args, receiver(self.node)
        if self.kind == "backward" and isinstance(of, ast.Call):
            given = of.args
        return spelled(given[0]) if len(given) == 1 or self.kind != "backward" else self.subject

    @property
    def differentiated(self) -> Value | None:
        """The loss that this goes backward from; None where it does not, or an engine may do something else besides."""
        origin, operands = self.value.operands.get("input"), self.value.operands
        if self.kind == "backward":
            return origin
        known = self.value.op == "call.manual_backward" or (
            origin is not None and origin.op.endswith(ENGINES)
        )
        given = [v for name, v in operands.items() if name != "input"]
        return given[0] if self.kind == "wrapped_backward" and known and given else None

    def excludes(self, other: Step) -> bool:
        """Whether no pass runs both."""
        return exclusive(self.node, other.node, self.root)


def goes_back_by_hand(seen: Glance) -> bool:
    """Whether a function calls Lightning's `self.manual_backward(loss)`: a word of no operation."""
    return "manual_backward" in seen.callees


def steps_of(review: Review) -> list[Step]:
    """The training calls of the reviewed function in order of execution; empty where it does not train."""
    found = (Step(kind, *pair) for pair in observed(review, *_KINDS) if (kind := _kind(pair[0])))
    return sorted({step.node: step for step in found}.values(), key=lambda step: end(step.node))


def _kind(value: Value) -> str:
    """What a call is in a training step; empty for the calls of other objects that share a name."""
    kind, text = _KINDS[value.op], subject(value.node)
    made = maker_of(value.operands.get("input"))
    is_scaler = "scaler" in text.lower() or made.endswith("GradScaler")
    if kind == "step" and is_scaler:
        return "scaler_step"
    if kind == "step":
        bound = made.startswith("torch.optim.") and ".lr_scheduler." not in made
        return kind if names_optimizer(text) or bound else ""
    if kind in ("scale", "unscale", "update"):
        return kind if is_scaler else ""
    given = isinstance(value.node, ast.Call) and value.node.args  # `accelerator.backward(loss)`
    return "wrapped_backward" if kind == "backward" and given else kind


def maker_of(made: Value | None) -> str:
    """The operation that has made an object, be it that it was handed to something since, which may have changed it."""
    if made is None or made.op != "written" or made.module is None:
        return made.op if made is not None else ""
    return made_by(made.node, made.module)


def is_optimizer(text: str, module: ModuleInfo) -> bool:
    """Whether an expression stands for an optimizer, by what the file binds it to, or else by what it is called."""
    makers = [made_by(n, module) for n in bound_anywhere(text, module.source.tree)]
    known = [name for name in makers if name.startswith("torch.") or "sched" in name]
    of_optim = any(name.startswith("torch.optim.") and "sched" not in name for name in known)
    return of_optim if known else names_optimizer(text) and "sched" not in text


def names_optimizer(text: str) -> bool:
    """Whether an expression is called like an optimizer: `self.optimizer`, `opt_g`, `adam`."""
    last = text.rpartition(".")[2].lower()
    short = any(word.startswith("opt") for word in last.split("_"))
    return short or "optim" in last or last in ("o", "adam", "sgd")
