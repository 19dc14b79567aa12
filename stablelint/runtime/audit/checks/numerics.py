"""Do values stay within what their formats hold?"""

from __future__ import annotations

import math

import torch

from stablelint.runtime.audit.outcome import Outcome, all_of, check, counted, passed, warned
from stablelint.runtime.audit.record import Run

ORDER = 7
_HALF = torch.finfo(torch.float16)
_TINY = 1e-18  # max**-0.5 of float32: below it the gradient of 1 / x overflows; an eps lies far above
_NEAR_ONE = 1e-7, "{0.operation} met a value {0.distance:.1e} from 1"
# By operation, where it is not zero: how near an operand may come to the edge, and what is said of a nearer one.
_EDGES = {
    "exp": (torch.finfo(torch.float32).max ** -0.5, "exp gave {1:.1e}"),
    "acos": _NEAR_ONE,
    "asin": _NEAR_ONE,
}


@check(needs="layers with floating-point results")
def half_range(run: Run) -> Outcome | None:
    """Activations fit float16."""
    if not run.layers:
        return None
    reach = {one.name: max(abs(one.low), abs(one.high)) for one in run.layers.values()}
    most = max(reach, key=lambda name: reach[name])
    if reach[most] > _HALF.max:
        names = [name for name, value in reach.items() if value > _HALF.max]
        text = f"{most} gives up to {reach[most]:.3g}; float16 ends at {_HALF.max:.5g}"
        return warned(text, "bfloat16 or float32 for these layers, or smaller values", *names)
    return passed(f"at most {reach[most]:.3g}, from {most}; float16 ends at {_HALF.max:.5g}")


@check(needs="log, sqrt, division, exp or acos in a trained pass")
def operands_off_the_edge(run: Run) -> Outcome | None:
    """Operands keep away from the edge of what is defined."""
    operands = [one for facts in run.facts() for one in facts.operands]
    for one in operands:
        edge, text = _EDGES.get(
            one.operation, (_TINY, "{0.operation} met a value of magnitude {0.distance:.1e}")
        )
        if one.distance < edge:
            reason = text.format(one, 1 / one.distance if one.distance else math.inf)
            remedy = "stablelint check and verify know the rewrite"
            return warned(reason, remedy, one.operation, at=one.row)
    return all_of(len(operands), "operand")


@check(needs="float16 autocast or parameters")
def half_gradients(run: Run) -> Outcome | None:
    """Gradients are above what float16 loses."""
    half = any(one.tensor.dtype is torch.float16 for one in run.parameters.values())
    scaled = any(one.scaled for one in run.backwards)
    if not half or scaled or not run.steps:
        return None
    if small := [name for name, norm in run.steps[-1].norms.items() if 0 <= norm < _HALF.smallest_normal]:
        return warned(f"the gradients of {', '.join(small[:4])} underflow", "torch.amp.GradScaler", *small)
    return passed(counted(len(run.steps[-1].norms), "gradient"))
