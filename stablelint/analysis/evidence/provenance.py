"""Where a value comes from: whether a gradient is taken through it."""

from __future__ import annotations

from stablelint.analysis.evidence.places import base_names, is_differentiated
from stablelint.analysis.proof.judge import GRADIENT_FREE, NOT_DIFFERENTIABLE, TRAINED
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind

_GIVEN = frozenset("argument unknown item part attribute".split())
_COPIES = frozenset("tensor torch.Tensor torch.FloatTensor".split())


def is_trained(value: Value, frame: Frame) -> bool:
    """Whether something in sight shows that a gradient is taken through a value that a function computes.

    It is so for what depends on a trained parameter or a layer's output, and on what a module's method or a loss is
    given; in a script, which no other code calls, for whatever is not known.
    """
    parts = [v for v in behind(value, _blocks_gradient) if not _blocks_gradient(v)]
    if any(v.op in TRAINED for v in parts):
        return True
    if _is_backward_pass(frame):
        return False
    given = any(_is_given(v) for v in parts if v.kind is not Kind.NUMBER)
    return given and (frame.module.is_script or is_differentiated(frame.function, frame.module))


def _is_given(value: Value) -> bool:
    return value.op in _GIVEN or value.op.startswith(("call.", "method."))


def _blocks_gradient(value: Value) -> bool:
    return (
        value.op in GRADIENT_FREE
        or value.op in _COPIES
        or value.dtype in NOT_DIFFERENTIABLE
        or value.kind is Kind.INSTANCE
    )


def _is_backward_pass(frame: Frame) -> bool:
    """Whether a function is a method of an `autograd.Function`, in which no gradient is recorded."""
    owner = frame.function.owner if frame.function is not None else None
    return owner is not None and "Function" in base_names(owner)
