"""What happens in a training step, in the order of the text: in a function, and in what it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from stablelint.matchers.common import Review
from stablelint.matchers.names import bound_anywhere, functions_naming, made_by
from stablelint.matchers.through import Through, made_through
from stablelint.matchers.training.steps import is_optimizer
from stablelint.matchers.tree import (
    arguments,
    around,
    called,
    exclusive,
    loss_of,
    parents,
    receiver,
    subject,
)
from stablelint.syntax.names import spelled
from stablelint.syntax.walk import descendants

_KINDS = {
    **dict.fromkeys(("backward", "manual_backward"), "backward"),
    **dict.fromkeys(("clip_grad_norm_", "clip_grad_value_", "clip_gradients"), "clip"),
    **dict.fromkeys(("eval", "train"), "mode"),
    "step": "moved",
    "zero_grad": "clear",
}


@dataclass(frozen=True, eq=False)
class Event:
    """What a training step does: `backward`, `clear`, `clip`, `step`, `schedule`, and the modes `eval` and `train`."""

    kind: str
    made: Through
    of: frozenset[str]  # what the optimizer or the model may be called in the function looked at

    @property
    def at(self) -> ast.AST:
        """Where the function looked at does it, itself or by a call."""
        return self.made.at

    @property
    def object(self) -> ast.expr | None:
        """What is stepped or cleared: the optimizer of `scaler.step(optimizer)`, too."""
        return _object_of(self.made.node)

    @property
    def is_own(self) -> bool:
        """Whether the function looked at does it itself."""
        return self.made.at is self.made.node

    @property
    def loss(self) -> ast.expr | None:
        """What a backward pass goes from."""
        return loss_of(self.made.node)

    @property
    def is_of_first(self) -> bool:
        """Whether a helper goes backward from the first thing that it is given."""
        given = self.at.args[:1] if isinstance(self.at, ast.Call) else []
        return any(spelled(one) in self.made.words(self.loss) for one in given)

    def is_within(self, events: list[Event]) -> bool:
        """Whether one helper does all of these, in which they are looked at themselves."""
        return not self.is_own and all(one.at is self.at for one in events)


Turn = tuple[ast.AST, Event, ast.AST, list[Event]]  # a function, an event, what repeats it, and its events


def turns(review: Review, kind: str, *others: str) -> Iterator[Turn]:
    """The events of a kind in the file, each with the innermost loop around it, or else its function, that does other
    things as well, and what happens there, in order, when it does."""
    for root, events in events_in(review).items() if review.of_body else ():
        for event in (one for one in events if one.kind == kind):
            for turn in (*around(event.at, root, ast.For, ast.AsyncFor, ast.While), root):
                inside = [e for e in events if turn is root or turn in around(e.at, root, type(turn))]
                beside = [e for e in inside if e.at is event.at or not exclusive(e.at, event.at, root)]
                if {one.kind for one in beside}.issuperset(others):
                    yield root, event, turn, beside
                    break


@lru_cache(maxsize=1)
def events_in(review: Review) -> dict[ast.AST, list[Event]]:
    """The events of the file and of each of its functions, in order; none unless the module body is reviewed."""
    module = review.module
    makes = module.speaks_of("optim")  # an optimizer, which it may give to others
    if not makes and not module.mentions("step", "backward"):
        return {}
    helpers = [f.name for f in module.sights.functions_naming(*_KINDS)]
    roots = functions_naming(review, *_KINDS, *helpers, *(module.imports if makes else ()))
    return {root: list(_events(root, review)) for root in roots}


def _events(root: ast.AST, review: Review) -> Iterator[Event]:
    tree = review.module.source.tree
    for made in made_through(root, review, review.module, lambda node: bool(_may_be(node))):
        kind, of = _may_be(made.node), made.words(_object_of(made.node))
        if kind == "moved" and isinstance(made.node, ast.Call):
            makers = (made_by(n, review.module) for one in of for n in bound_anywhere(one, tree))
            words = (*makers, *(name.rpartition(".")[2] for name in of))
            # That of learning rates gives nothing back.
            alone = isinstance(parents(made.root).get(made.node), ast.Expr)
            schedules = any("sched" in word.lower() for word in words)
            steps = any(is_optimizer(name, review.module) for name in of)
            kind = (
                "step"
                if steps and not schedules
                else "schedule" * (schedules and alone and not arguments(made.node))
            )
        if kind:
            yield Event(kind, made, frozenset(of))


def _may_be(node: ast.AST) -> str:
    """The kind of event that a node is; `moved` for a `step` of something, which is an optimizer or is not."""
    match node:
        case ast.Call():
            name, of = called(node), subject(node)
            if name == "zero_":
                return "clear" if of.removesuffix(".data").endswith(".grad") else ""
            if name in ("add_", "sub_") and any(_reads_gradient(of, one) for one in arguments(node)):
                return "step"
            return mode_of(node) if name in ("eval", "train") else _KINDS.get(name, "")
        case ast.Assign(targets=[ast.Attribute(attr="grad")], value=ast.Constant(value=None)):
            return "clear"
        case ast.AugAssign(target=target, value=value):
            return "step" if _reads_gradient(spelled(target), value) else ""
    return ""


def mode_of(call: ast.AST | None) -> str:
    """The mode that a call puts its receiver into, or may: `model.train(False)` is `eval`; empty for any other call."""
    name = called(call)
    if not isinstance(call, ast.Call) or receiver(call) is None or name not in ("eval", "train"):
        return ""
    return "eval" if name == "eval" or list(map(spelled, arguments(call))) == ["False"] else "train"


def _reads_gradient(tensor: str, value: ast.expr) -> bool:
    """Whether an expression reads the gradient of a tensor, or of that whose `.data` it is."""
    own = f"{tensor.removesuffix('.data')}.grad"
    return any(spelled(n) == own for n in descendants(value))


def _object_of(node: ast.AST) -> ast.expr | None:
    scaled = isinstance(node, ast.Call) and node.args and "scaler" in subject(node).lower()
    return node.args[0] if isinstance(node, ast.Call) and scaled else receiver(node)
