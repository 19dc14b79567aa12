"""Do values stay within what their formats hold?"""

from __future__ import annotations

import math

import torch

from stablelint.runtime.audit.graph import OperandFacts
from stablelint.runtime.audit.outcome import Outcome, check, counted, passed, warned
from stablelint.runtime.audit.record import Run, line

ORDER = 7
_HALF = torch.finfo(torch.float16)
_EDGE = 1e-18  # max**-0.5 of float32: below it the gradient of 1 / x overflows; an eps lies far above
_NEAR_ONE = 1e-7


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
        reason = _near_edge(one)
        if reason is not None:
            remedy = "stablelint check and verify know the rewrite"
            return warned(reason, remedy, one.operation, at=line(one.row))
    return passed(counted(len(operands), "operand")) if operands else None


def _near_edge(one: OperandFacts) -> str | None:
    if one.smallest < _EDGE:
        return f"{one.operation} met a value of magnitude {one.smallest:.1e}"
    if one.operation == "exp" and one.high > math.sqrt(torch.finfo(torch.float32).max):
        return f"exp gave {one.high:.1e}"
    if one.nearest < _NEAR_ONE:
        return f"{one.operation} met a value {one.nearest:.1e} from 1"
    return None


@check(needs="float16 autocast or parameters")
def half_gradients(run: Run) -> Outcome | None:
    """Gradients are above what float16 loses."""
    half = any(one.tensor.dtype is torch.float16 for one in run.parameters.values())
    scaled = any(one.scaled for one in run.backwards)
    if not half or scaled or not run.steps:
        return None
    small = [name for name, norm in run.steps[-1].norms.items() if 0 <= norm < _HALF.smallest_normal]
    if small:
        return warned(f"the gradients of {', '.join(small[:4])} underflow", "torch.amp.GradScaler", *small)
    return passed(counted(len(run.steps[-1].norms), "gradient"))
