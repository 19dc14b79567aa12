"""Where a value comes from: whether a gradient is taken through it, and whether data alone can make it vanish."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from stablelint.analysis.evidence.vocabulary import is_mask_name
from stablelint.analysis.files.modules import FunctionInfo
from stablelint.analysis.interpret.classes import ancestors
from stablelint.analysis.matching.judge import GRADIENT_FREE, NOT_DIFFERENTIABLE
from stablelint.analysis.matching.masks import DRAWN, is_chance_test, is_whole_mask, tests_kept, unnegated
from stablelint.analysis.matching.places import (
    base_names,
    is_measured,
    is_objective,
    names_an_objective,
    places,
    says_so,
)
from stablelint.analysis.matching.reach import is_preparation
from stablelint.analysis.matching.roles import takes_gradients, takes_numbers_only
from stablelint.analysis.values.families import NORMS
from stablelint.analysis.values.pairs import is_of_all_pairs
from stablelint.analysis.values.value import Ground, Kind, Value
from stablelint.analysis.values.vanishing import is_edge, is_masked_difference
from stablelint.analysis.values.views import behind, stripped
from stablelint.syntax.walk import descendants

if TYPE_CHECKING:
    from stablelint.analysis.values.state import Frame

_LEARNED = frozenset(
    "parameter linear_module norm_module layer_output linear conv1d conv2d conv3d embedding rsample".split()
)
_LAYERS = _LEARNED - {"parameter", "rsample"}
_NUMBERS = frozenset("tensor torch.Tensor torch.FloatTensor".split())  # which copy what they are given
_TOLERANT = frozenset("nanmean nansum nanmedian nanquantile".split())
# Elements that ordinary data makes 0 all at once, whatever made the operand.
_VANISHING = frozenset(
    "relu relu6 hardtanh eq ne gt ge lt le logical_and logical_or logical_not one_hot clamp".split()
)
_SPREADS = frozenset("norm vector_norm std var amax max".split())
_SIZES = frozenset("abs square pow norm vector_norm".split())
_PASSING = frozenset("stack sqrt pow abs square neg mean amin min item".split())
_OVER_CHANNELS = frozenset("mean amax amin".split())
_POSITIVE = frozenset("softmax sigmoid exp softplus".split())  # whose elements are not 0 together
_COUNTED = frozenset("arange linspace shape size numel".split())
_LEARNABLE = re.compile(r"^(weight|kernel|param|parameter)$|noise|(^|_)(pred(_|$)|latents?$|model_output$)")
_NOISE = re.compile(r"(^|_)noise(_|$)")
_WINDOW = re.compile(r"(^|_)window$")  # 0 nowhere but at its ends; what it is multiplied with may be
_INTEGERS = re.compile(
    r"(^|_)(ids|index|indices|labels?|buckets?|lengths?|counts?|times?|timesteps?|relative_positions?|windows?)$"
)
_LENGTH = 8  # operations looked through
# What an episode yields is the same throughout where nothing was won, whatever network took part in it.
_AGREEING = re.compile(r"(^|_)(adv|advantage|return|reward|ret)s?$")
_INFERENCE = re.compile(
    r"^_?(predict|pre_?process|post_?process|generate|sample|encode|decode|eval|evaluate|test|validat|infer|plot|visuali|log_|metric|score|export)|post_?process",
    re.I,
)
_ASIDE = re.compile(
    r"(^|_)(data|datasets?|data_?pipes?|dataloaders?|loaders?|envs?|visualization|plotting|plots|assigners?|frontends?|eval(_utils?)?)$|processing$|^data_"
)
_MAKES_TARGETS = re.compile(
    r"^_*(get|compute|make|build|prepare|generate|create|assign)_(\w+_)?targets?(_|$)"
)
_GIVEN = frozenset("argument unknown item part attribute".split())


def is_trained(value: Value, frame: Frame) -> bool:
    """Whether something in sight shows that a gradient is taken through a value that a function computes.

    It is so for what depends on a trained parameter or a layer's output, and on what a module's method or a loss is
    given, save for a backward pass; in a script, which no other code calls, for whatever is not known.
    """
    found = [v for v in behind(value, _stops_gradient) if not _stops_gradient(v)]
    if any(v.op in _LEARNED for v in found):
        return True
    given = any(_is_given(v, frame) for v in found if v.kind is not Kind.NUMBER)
    if frame.function is not None and (takes_gradients(frame.function) or _is_called_by_autograd(frame)):
        return False
    return given and (frame.module.is_script or is_differentiated(frame.function, frame))


def _is_given(value: Value, frame: Frame) -> bool:
    """Whether a value is handed over, or kept by an object, but for what it gathers itself outside of a loss."""
    owner = frame.function.owner if frame.function is not None else None
    if value.op == "attribute" and owner is not None and value.name in owner.reassigned:
        return any(map(names_an_objective, (owner.name, *base_names(owner))))
    return value.op in _GIVEN or value.op.startswith(("call.", "method."))


def is_yielded(value: Value) -> bool:
    """Whether a value depends on a layer's output that the function itself computes."""
    return any(v.op in _LAYERS for v in behind(value, _blocks_gradient))


def _is_data(value: Value) -> bool:
    """Whether a name says that no gradient flows through a value: whole numbers, a mask, what an episode yielded.

    Nor does one through `x.grad`, which a backward pass has left.
    """
    if value.op == "attribute" and value.name == "grad":
        return True
    if value.op not in _GIVEN and not value.op.startswith(("call.", "method.")):
        return False
    return bool(_INTEGERS.search(value.name) or _AGREEING.search(value.name) or is_mask_name(value.name))


def _stops_gradient(value: Value) -> bool:
    return _blocks_gradient(value) or _is_data(value) or value.op in _NUMBERS or value.op in _TOLERANT


def is_differentiated(function: FunctionInfo | None, frame: Frame) -> bool:
    """Whether gradients flow to a function's arguments: it is a module's method, a loss, or its docstring says so.

    They do not where data are read and made ready, in simulated environments, and where results are drawn, nor in a
    module whose forward records none.
    """
    if function is None:
        return False
    if is_objective(function) or says_so(function):
        return True
    if _MAKES_TARGETS.search(function.name):
        return False  # what predictions are compared with
    if any(map(_ASIDE.search, places(function.module))) or _writes_out(function):
        return False
    if function.owner is None:
        if isinstance(function.node, ast.Lambda):
            return False  # for somebody else to call, with what nobody sees
        if isinstance(outer := getattr(function.closure, "function", None), FunctionInfo):
            return is_differentiated(outer, frame)
        return (
            not takes_numbers_only(function)
            and not function.name.startswith("_")
            and not _INFERENCE.search(function.name)
            and not is_measured(function, function.module)
        )
    family = ancestors(function.owner, frame)
    names = [name for info in family for name in (info.name, *base_names(info))]
    if any(map(names_an_objective, names)):
        return True
    if _is_called_by_autograd(frame):
        return False
    if function.name.startswith("_") and function.has_decorator("staticmethod"):
        return False
    forward = next((info.methods["forward"] for info in family if "forward" in info.methods), None)
    if forward is not None and forward.without_gradient:
        return False
    if is_measured(function, function.module) or is_preparation(function, family):
        return False
    return ("Module" in names or forward is not None) and not _INFERENCE.search(function.name)


def _writes_out(function: FunctionInfo) -> bool:
    """Whether a function lets its caller say where the result is written (`out=out`), which records no gradient."""
    given = function.node.args
    if all(a.arg != "out" for a in (*given.args, *given.kwonlyargs)):
        return False
    return any(isinstance(n, ast.keyword) and n.arg == "out" for n in descendants(function.node))


def is_handed_on(frame: Frame) -> bool:
    """Whether a function that gradients flow through hands a private one its arguments; construction does not."""
    function = frame.function
    return function is not None and any(
        is_differentiated(caller, frame)
        for caller in function.callers
        if not caller.without_gradient and (caller.owner is None or caller.name not in caller.owner.builders)
    )


def _is_called_by_autograd(frame: Frame) -> bool:
    """Whether a function is a method of an `autograd.Function`, in which no gradient is recorded."""
    owner = frame.function.owner if frame.function is not None else None
    return owner is not None and any("Function" in base_names(info) for info in ancestors(owner, frame))


def vanishes_with_data(value: Value, given: bool = True) -> bool:
    """Whether ordinary data makes all elements 0 at once: raw input does, the output of a network or a draw does not.

    Unless `given`, what a function is handed is not taken for raw input.
    """
    if is_edge(value) or _WINDOW.search(stripped(value).name):
        return False
    if is_masked_difference(value) or is_of_all_pairs(value):
        return True
    found = False
    for part in behind(value, _vanishes_at_once):
        if is_chance_test(part) or _is_solid(part):
            return False
        if part.op in _VANISHING or _AGREEING.search(part.name):
            found = True
        elif part.op == "parameter" and part.first is not None and part.first.op == "argument":
            found = True  # data that a caller hands over to be refined
        elif (
            part.op in _POSITIVE
            or part.op in _LEARNED
            or part.op in DRAWN
            or part.op.startswith(("call.", "method."))
        ):
            return False
        elif part.op == "unknown":
            return False
        elif part.op in ("argument", "attribute"):
            if _LEARNABLE.search(part.name):
                return False
            found = found or given
    return found


def needs_agreement(value: Value, met: bool = False) -> bool:
    """Whether a value is 0 only if all elements of what a network or a draw yields agree: their norm, spread, maximum.

    Unless a zero one is known to have been `met`, a norm needs it of what a function is handed, too; but the points
    between which an offset lies may coincide.
    """
    value = stripped(value)
    if value.op == "phi":
        paths = [path for path in value.operands.values() if path.zero >= Ground.SATURATION]
        return bool(paths) and all(path.op != "phi" and needs_agreement(path, met) for path in paths)
    if _is_span_of_draw(value):
        return True
    source = _spread_behind(value)
    if source is None or source.first is None:
        return False
    if is_whole_mask(source) or tests_kept(unnegated(source.first)):
        return True
    vectors = stripped(source.first)
    if source.op in NORMS and value is not source and _adds_up(value, source):
        return vectors.op == "sub" or not vanishes_with_data(vectors, met)
    if _is_told_apart(vectors) or (source.op in ("std", "var") and _is_put_together(vectors)):
        return True
    given = met or source.op not in NORMS or vectors.op == "sub"
    return not vanishes_with_data(source.first, given)


def _is_span_of_draw(value: Value) -> bool:
    """Whether a value is the largest less the smallest of numbers drawn at random, which are not all the same."""
    ends = [stripped(v) for v in value.operands.values()] if value.op == "sub" else []
    if len(ends) != 2 or ends[0].op not in ("amax", "max") or ends[1].op not in ("amin", "min"):
        return False
    parts = behind(ends[0], lambda _: False)
    return any(part.op in DRAWN or _NOISE.search(part.name) for part in parts)


def _adds_up(value: Value, norm: Value) -> bool:
    """Whether the lengths of many vectors are added up on the way from a norm to a value."""
    while value.key != norm.key:
        if value.op in ("sum", "mean"):
            return True
        value = _followed(value)
    return False


def _is_told_apart(vectors: Value) -> bool:
    """Whether a test has selected offsets between what is not the same: `offset[i != j]`."""
    index = vectors.operands.get("index") if vectors.op == "index" else None
    return index is not None and stripped(index).op == "ne"


def _is_put_together(vectors: Value) -> bool:
    """Whether rows are those of several batches, none of which the function was just handed."""
    parts = vectors.operands.get("tensors") if vectors.op == "cat" else None
    if vectors.op != "cat":
        return False
    rows = (
        parts.data if parts is not None and parts.kind is Kind.SEQUENCE else list(vectors.operands.values())
    )
    tensors = [v for v in rows if v.kind in (Kind.TENSOR, Kind.UNKNOWN)]
    return len(tensors) > 1 and all(stripped(v).op not in ("argument", "item") for v in tensors)


def _spread_behind(value: Value) -> Value | None:
    for _ in range(_LENGTH):
        value = stripped(value)
        if value.zero is Ground.SATURATION:
            return None  # underflow reaches it, whatever its elements are
        if value.op in _SPREADS:
            return value
        if value.op in ("sum", "mean", "count_nonzero") and value.first is not None:
            if _is_power_of_length(value.first):
                return stripped(stripped(value.first).operands["input"])
            summed = unnegated(value.first)
            while summed.op in _OVER_CHANNELS and summed.first is not None:
                summed = unnegated(summed.first)
            if summed.op in _SIZES - NORMS or is_chance_test(summed):
                return value
            if is_whole_mask(value) or tests_kept(summed):
                return value
        following = _followed(value)
        if following.key == value.key:
            return None
        value = following
    return None


def _is_power_of_length(value: Value) -> bool:
    inner = stripped(value)
    return inner.op in ("pow", "square") and inner.first is not None and stripped(inner.first).op in NORMS


def _followed(value: Value) -> Value:
    """What a value owes its zeros to, or the value itself."""
    value = stripped(value)
    following = value.first if value.op in _PASSING or value.op == "sum" else None
    if value.op in ("mul", "div"):
        following = next((v for v in value.operands.values() if v.zero >= Ground.SATURATION), None)
    return stripped(following) if following is not None else value


def _is_solid(value: Value) -> bool:
    """Whether vectors are put together of which a component is never 0: homogeneous coordinates."""
    tensors = value.operands.get("tensors")
    if value.op not in ("stack", "cat") or tensors is None or tensors.kind is not Kind.SEQUENCE:
        return False
    return any(not v.interval.contains(0.0) for v in tensors.data)


def _blocks_gradient(value: Value) -> bool:
    return value.op in GRADIENT_FREE or value.dtype in NOT_DIFFERENTIABLE or value.kind is Kind.INSTANCE


def _vanishes_at_once(value: Value) -> bool:
    return (
        value.op in _VANISHING
        or value.op in _COUNTED
        or _AGREEING.search(value.name) is not None
        or (value.op == "attribute" and not is_returned(value))
        or value.kind is Kind.INSTANCE
    )


def is_returned(value: Value) -> bool:
    """Whether an attribute is one of what a call has returned: `model(x).pooled`."""
    base = value.first
    return base is not None and _is_called(base)


def _is_called(value: Value, depth: int = 4) -> bool:
    """Whether a value is what a call returns, on all paths."""
    if value.op in ("phi", "part", "index", "item") and depth and value.operands:
        paths = value.operands.values() if value.op == "phi" else [next(iter(value.operands.values()))]
        return all(_is_called(path, depth - 1) for path in paths)
    return value.op.startswith(("call.", "method.")) or value.op == "layer_output"
