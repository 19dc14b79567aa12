"""Do values stay within what their formats hold?"""

from __future__ import annotations

import math

import torch

from stablelint.runtime.audit.outcome import Outcome, Status, all_of, check, failed, passed, warned
from stablelint.runtime.audit.record import Run
from stablelint.runtime.tracing.graph import Row

ORDER = 8
_HALF = torch.finfo(torch.float16)
# Below max**-0.5 of float32 the gradient of 1 / x overflows; an eps lies far above.
_AT_ZERO = 1e-18, "{0.operation} met a value of magnitude {0.distance:.1e}"
_NEAR_ONE = 1e-7, "{0.operation} met a value {0.distance:.1e} from 1"
# By operation, where it is not zero: how near an operand may come to the edge, and what is said of a nearer one.
_EDGES = {
    "exp": (torch.finfo(torch.float32).max ** -0.5, "exp gave {1:.1e}"),
    "acos": _NEAR_ONE,
    "asin": _NEAR_ONE,
}


@check(needs="layers that give float16, or floating-point results that fit it")
def half_range(run: Run) -> Outcome | None:
    """Activations fit float16."""
    if not run.layers:
        return None
    reach = {one.name: max(abs(one.low), abs(one.high)) for one in run.layers.values()}
    most = max(reach, key=lambda name: reach[name])
    if reach[most] > _HALF.max:
        names = [name for name, value in reach.items() if value > _HALF.max]
        text = f"{most} gives up to {reach[most]:.3g}; float16 ends at {_HALF.max:.5g}"
        if not any(one.half for one in run.layers.values()):
            return Outcome(Status.UNSEEN, f"{text}, but no layer gives float16")
        answer = failed if math.isinf(reach[most]) else warned
        return answer(text, "bfloat16 or float32 for these layers, or smaller values", *names)
    return passed(f"at most {reach[most]:.3g}, from {most}; float16 ends at {_HALF.max:.5g}")


@check(needs="log, sqrt, division, exp or acos in a trained pass")
def operands_off_the_edge(run: Run) -> Outcome | None:
    """Operands keep away from the edge of what is defined."""
    graphs = [facts.operands for facts in run.facts()]
    near: dict[str, tuple[Row | None, str]] = {}
    for operands in graphs:
        lines = graphs[0] if len(operands) == len(graphs[0]) else operands  # later graphs know none
        for one, like in zip(operands, lines, strict=True):
            edge, text = _EDGES.get(one.operation, _AT_ZERO)
            if one.distance < edge and one.operation == like.operation:
                text = text.format(one, 1 / one.distance if one.distance else math.inf)
                near.setdefault(one.operation, (like.row, text))
    if near:
        rows, texts = zip(*near.values(), strict=True)
        remedy = "stablelint check and verify know the rewrite"
        return warned("; ".join(texts), remedy, *near, at=next(filter(None, rows), None))
    return all_of(sum(map(len, graphs)), "operand")


@check(needs="parameters in float16")
def half_gradients(run: Run) -> Outcome | None:
    """Gradients are above what float16 loses."""
    half = [one.name for one in run.parameters.values() if one.tensor.dtype is torch.float16]
    if not half or any(one.scaled for one in run.backwards) or not run.steps:
        return None
    norms = run.steps[-1].norms
    if small := [name for name in half if 0 <= norms.get(name, math.inf) < _HALF.smallest_normal]:
        return warned("the gradients of {names} underflow", "torch.amp.GradScaler", *small)
    return all_of(len(norms), "gradient")
