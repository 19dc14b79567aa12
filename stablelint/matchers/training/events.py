"""What happens in a training step, in the order of the text: in a function, and in what it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.files.project import Project
from stablelint.matchers.common import Observed, Review, Value, observed, scope_of
from stablelint.matchers.names import bound_anywhere, functions_reaching, makers_of
from stablelint.matchers.through import Through, made_through
from stablelint.matchers.tree import around, called, end, exclusive, loss_of, parents, receiver, subject
from stablelint.records import dataclass
from stablelint.syntax.names import spelled
from stablelint.syntax.remembered import remembered
from stablelint.syntax.signatures import arguments
from stablelint.syntax.walk import descendants

_KINDS = {
    **dict.fromkeys(("backward", "manual_backward"), "backward"),
    **dict.fromkeys(("clip_grad_norm_", "clip_grad_value_", "clip_gradients"), "clip"),
    **dict.fromkeys(("eval", "train"), "mode"),
    "step": "step",
    "zero_grad": "clear",
}
_OF_SCALER = {"scale": "scale", "unscale_": "unscale", "update": "update"}
_BY_NAME = {**_KINDS, **_OF_SCALER}
_BY_HAND = {"zero_": "clear", "clamp_": "clip", "clip_": "clip"}  # of a gradient
_BY_SCALER = frozenset(("step", *_OF_SCALER.values()))
_BACKWARD = ("backward", "call.manual_backward")  # the second of a module of Lightning
ENGINES = (".Accelerator", ".Fabric")  # their `backward(loss)` does no more than that of the loss


@dataclass(frozen=True, eq=False)
class Event:
    """What a training step does: `backward`, `clear`, `clip`, `step`, `schedule`, the modes `eval` and `train`, and with the
    scaler of half precision `scale`, `unscale` and `update`."""

    kind: str
    made: Through
    of: frozenset[str]  # what the optimizer or the model may be called in the function looked at
    by_scaler: bool  # it is a method of the scaler

    @property
    def at(self) -> ast.AST:
        """Where the function looked at does it, itself or by a call."""
        return self.made.at

    @property
    def root(self) -> ast.AST:
        """The function in which it stands."""
        return self.made.root

    @property
    def object(self) -> ast.expr | None:
        """What is stepped or cleared: the optimizer of `scaler.step(optimizer)`, too."""
        return _object_of(self.made.node, by_scaler=self.by_scaler)

    @property
    def is_own(self) -> bool:
        """Whether the function looked at does it itself."""
        return self.made.at is self.made.node

    @property
    def loss(self) -> ast.expr | None:
        """What a backward pass goes from."""
        return loss_of(self.made.node)

    @property
    def text(self) -> str:
        """What the loss of a backward pass, or the object of anything else, is called where it stands."""
        of = self.loss if self.kind == "backward" else self.object
        return spelled(of) if of is not None else ""

    @property
    def is_wrapped(self) -> bool:
        """Whether a backward pass is that of something that is given the loss: `accelerator.backward(loss)`."""
        return _is_wrapped(self.made.node)

    @property
    def is_of_first(self) -> bool:
        """Whether a helper goes backward from the first thing that it is given."""
        given = self.at.args[:1] if isinstance(self.at, ast.Call) else []
        return any(spelled(one) in self.made.words(self.loss) for one in given)

    def tests(self, root: ast.AST) -> list[ast.If]:
        """What of the function looked at, and of its helper, decides whether it is done, innermost first."""
        own = around(self.made.node, self.root, ast.If)
        return own if self.is_own else [*own, *around(self.at, root, ast.If)]

    def excludes(self, other: Event, root: ast.AST) -> bool:
        """Whether no pass of the function looked at does both."""
        if self.at is other.at:
            return self.root is other.root and exclusive(self.made.node, other.made.node, self.root)
        return exclusive(self.at, other.at, root)

    def is_within(self, events: list[Event]) -> bool:
        """Whether one helper does all of these, in which they are looked at themselves."""
        return not self.is_own and all(one.at is self.at for one in events)


Turn = tuple[ast.AST, Event, ast.AST, list[Event]]  # a function, an event, what repeats it, and its events


def turns(review: Review, kind: str, *others: str) -> Iterator[Turn]:
    """The events of a kind in the file, each with the innermost loop around it, or else its function, that does other
    things as well, and what happens there, in order, when it does."""
    for root, events in events_in(review).items():
        inside: dict[ast.AST, list[Event]] = {root: list(events)}
        for event in events:
            for loop in around(event.at, root, ast.For, ast.AsyncFor, ast.While):
                inside.setdefault(loop, []).append(event)
        for event in (one for one in events if one.kind == kind):
            for turn in (*around(event.at, root, ast.For, ast.AsyncFor, ast.While), root):
                if not {one.kind for one in inside[turn]}.issuperset(others):
                    continue
                beside = [e for e in inside[turn] if not e.excludes(event, root)]
                if {one.kind for one in beside}.issuperset(others):
                    yield root, event, turn, beside
                    break


def events_in(review: Review) -> dict[ast.AST, tuple[Event, ...]]:
    """The events of the file and of each of its functions, in order; none unless the module body is reviewed."""
    module = review.module
    makes = module.speaks_of("optim")  # an optimizer, which it may give to others
    clips = (name for name, kind in _KINDS.items() if kind == "clip")
    if not review.of_body or not (makes or module.mentions("step", "backward", *clips)):
        return {}
    roots = functions_reaching(review, *_KINDS, beyond=makes)
    return {root: events_at(root, module, review.project) for root in roots}


def backward_seen(review: Review) -> list[tuple[Event, Observed]]:
    """The backward passes that the reviewed function comes by, in order, each as the analysis has seen it."""
    module = review.module
    seen = {value.node: (value, f) for value, f in observed(review, *_BACKWARD) if f.module is module}
    roots = dict.fromkeys(scope_of(frame) for _, frame in seen.values())
    events = (one for root in roots for one in events_at(root, module, review.project))
    backs = [(one, seen[one.at]) for one in events if one.kind == "backward" and one.at in seen]
    return sorted(backs, key=lambda back: end(back[0].at))


def losses_in(review: Review) -> list[Value]:
    """What the reviewed function goes backward from."""
    return [loss for v, _ in observed(review, *_BACKWARD) if (loss := differentiated(v)) is not None]


def differentiated(back: Value) -> Value | None:
    """The loss that a pass goes backward from; None where it does not, or an engine may do something else besides."""
    origin = back.operands.get("input")
    if not _is_wrapped(back.node):
        return origin
    known = back.op != "backward" or (origin is not None and origin.op.endswith(ENGINES))
    return next((v for name, v in back.operands.items() if name != "input" and known), None)


def _is_wrapped(back: ast.AST | None) -> bool:
    return called(back) == "manual_backward" or (isinstance(back, ast.Call) and bool(back.args))


@remembered
def events_at(root: ast.AST, module: ModuleInfo, project: Project) -> tuple[Event, ...]:
    """The events of a function of a file, in order."""
    found = made_through(root, module, project, lambda node: bool(_may_be(node)))
    return tuple(event for made in found if (event := _event(made, module)).kind)


def _is_of_model(name: str, module: ModuleInfo) -> bool:
    """Whether what is called so is made of something that the file makes and that is no optimizer: of `net`, whose batch
    normalisation it schedules."""
    tree = module.source.tree
    made = [n for n in bound_anywhere(name, tree) if isinstance(n, ast.Call) and n.args]
    first = [spelled(n.args[0]) for n in made]
    others = (one for one in first if not is_optimizer(one, module) and bound_anywhere(one, tree))
    return bool(first) and len(first) == len(
        [one for one in others if "sched" not in str(makers_of(one, module))]
    )


def _event(made: Through, module: ModuleInfo) -> Event:
    """What a node that may be an event is; of no kind where it is none."""
    kind = _may_be(made.node)
    by_scaler = kind in _BY_SCALER and any(_is_scaler(name, module) for name in made.subjects)
    of = made.words(_object_of(made.node, by_scaler=by_scaler))
    if kind in _BY_SCALER and kind != "step":
        kind = kind * by_scaler
    elif isinstance(made.node, ast.Call) and called(made.node) == "step":
        words = [word for one in of for word in (*makers_of(one, module), one.rpartition(".")[2])]
        schedules = any("sched" in word.lower() for word in words)
        # That of learning rates gives nothing back.
        alone = isinstance(parents(made.root).get(made.node), ast.Expr) and not arguments(made.node)
        alone = alone and not all(_is_of_model(one, module) for one in of)
        steps = not schedules and any(is_optimizer(name, module) for name in of)
        kind = "step" * steps or "schedule" * (schedules and alone)
    elif kind == "backward" and _is_taken_apart(parents(made.root).get(made.node)):
        kind = ""
    return Event(kind, made, frozenset(of), by_scaler)


def _is_taken_apart(above: ast.AST | None) -> bool:
    """Whether a statement takes several results from a call, as of a layer's inverse: `z, log_det = layer.backward(z)`."""
    return isinstance(above, ast.Assign) and any(
        isinstance(one, ast.Tuple | ast.List) for one in above.targets
    )


def _may_be(node: ast.AST) -> str:
    """The kind of event that a node is, if its object is one that has such."""
    match node:
        case ast.Call():
            name, of = called(node), subject(node)
            if name in _BY_HAND:
                return _BY_HAND[name] if of.removesuffix(".data").endswith(".grad") else ""
            if name in ("add_", "sub_") and any(_reads_gradient(of, one) for one in arguments(node)):
                return "step"
            return mode_of(node) if name in ("eval", "train") else _BY_NAME.get(name, "")
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


def _object_of(node: ast.AST, *, by_scaler: bool) -> ast.expr | None:
    return node.args[0] if by_scaler and isinstance(node, ast.Call) and node.args else receiver(node)


def _is_scaler(text: str, module: ModuleInfo) -> bool:
    """Whether an expression stands for the scaler of half precision, by its name or by what the file binds it to."""
    made = any(name.endswith("GradScaler") for name in makers_of(text, module))
    return made or "scaler" in text.lower()


def is_optimizer(text: str, module: ModuleInfo) -> bool:
    """Whether an expression stands for an optimizer, by what the file binds it to, or else by what it is called."""
    known = [name for name in makers_of(text, module) if name.startswith("torch.") or "sched" in name]
    last = text.rpartition(".")[2].lower()
    short = any(word.startswith("opt") for word in last.split("_"))
    named = short or "optim" in last or last in ("o", "adam", "sgd")
    of_optim = any(name.startswith("torch.optim.") and "sched" not in name for name in known)
    return of_optim if known else named and "sched" not in text
