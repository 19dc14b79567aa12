"""Changes of a call: its arguments put together otherwise, other numbers, another layer."""

from __future__ import annotations

from collections.abc import Iterator

from stablelint.runtime.crash.repairs.failing import Call
from stablelint.runtime.crash.repairs.layers import other_order, other_settings, through_a_layer
from stablelint.runtime.crash.repairs.tensors import Change, Name, applied, changes_of_tensors


def changes(call: Call, name: Name) -> Iterator[Change]:
    """Changes of a call: their kind, how each is written, and the changed call."""
    for place, one in enumerate(call.values):
        for text in ("x.T", "x[:, None]", "x[None]") if type(one).__name__ == "ndarray" else ():
            yield from applied(call, place, one, "view", text, name)
    yield from other_order(call)
    yield from changes_of_tensors(call, name)
    yield from other_settings(call)
    yield from through_a_layer(call, name)
