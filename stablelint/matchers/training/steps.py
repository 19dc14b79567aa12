"""The calls of a training step, in order: backward, step, zero_grad, clip, scale, unscale, update."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from stablelint.analysis.matching.review import Review
from stablelint.analysis.matching.sites import Collector
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Value
from stablelint.matchers.common import observed, place, receiver_text, scope_of
from stablelint.matchers.names import receiver
from stablelint.matchers.tree import exclusive


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a training step; `subject` is the text of the object it is called on."""

    kind: str
    value: Value
    frame: Frame
    subject: str

    @property
    def node(self) -> ast.AST:
        """The call."""
        assert self.value.node is not None
        return self.value.node

    @property
    def root(self) -> ast.AST:
        """The function in which it stands."""
        return scope_of(self.frame)

    @property
    def loss(self) -> str:
        """The text of the loss whose backward this runs: of `scaler.scale(loss).backward()`, too."""
        node = self.node
        given = node.args if isinstance(node, ast.Call) else []
        if self.kind == "backward" and isinstance(of := receiver(node), ast.Call):
            given = of.args
        return ast.unparse(given[0]) if len(given) == 1 or self.kind != "backward" else self.subject

    def excludes(self, other: Step) -> bool:
        """Whether no pass runs both."""
        return exclusive(self.node, other.node, self.root)


_METHODS = {
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


def steps_of(review: Review) -> list[Step]:
    """The training calls of the reviewed function in order of execution; empty where it does not train."""
    return _steps(review.collector, _Held(review))


class _Held:
    """Lets a review be an argument of a cached function whose key is its collector."""

    def __init__(self, review: Review) -> None:
        self.review = review

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=2)
def _steps(collector: Collector, held: _Held) -> list[Step]:
    found: list[Step] = []
    for value, frame in observed(held.review, *_METHODS):
        kind = _kind(value)
        if kind is not None:
            found.append(Step(kind, value, frame, receiver_text(value)))
    unique = {id(step.node): step for step in found}
    return sorted(unique.values(), key=lambda step: place(step.value))


def _kind(value: Value) -> str | None:
    """What a call is in a training step; None for the calls of other objects that share a name."""
    kind = _METHODS[value.op]
    text, origin = receiver_text(value), value.operands.get("input")
    made_by = origin.op if origin is not None else ""
    is_scaler = "scaler" in text.lower() or made_by.endswith("GradScaler")
    if kind == "step" and is_scaler:
        return "scaler_step"
    if kind == "step":
        last = text.rpartition(".")[2].lower()
        named = "optim" in last or last == "o" or any(w.startswith("opt") for w in last.split("_"))
        return kind if named or made_by.startswith("torch.optim.") else None
    if kind in ("scale", "unscale", "update"):
        return kind if is_scaler else None
    if kind == "backward" and not _is_plain_backward(value):
        return "wrapped_backward"
    return kind


def _is_plain_backward(value: Value) -> bool:
    """`loss.backward()`, not `accelerator.backward(loss)` or `fabric.backward(loss)`."""
    node = value.node
    return isinstance(node, ast.Call) and not node.args
