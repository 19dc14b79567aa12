"""Sites built by hand."""

from collections.abc import Mapping, Sequence

import torch

from stablelint.diagnostic import Position, Span
from stablelint.runtime.verify.replay.values import Call
from stablelint.runtime.verify.site import Site
from stablelint.runtime.verify.verdict import Examination, examine

torch.set_num_threads(1)

LOG = {"forward": "x > 0", "backward": "x >= 2 / max", "sample": {"x": [0.01, 100.0]}}
DIVISION = {
    "forward": "y != 0",
    "backward": "abs(y) >= max ** -0.5",
    "sample": {"x": [-1.0, 1.0], "y": [0.5, 2.0]},
}


def site(original: str, fixed: str | None, operands: Mapping[str, str], **more: object) -> Site:
    """A site on the first line of `program.py`, whose text is the original expression."""
    span = Span(Position(1, 1), Position(1, 1 + len(original)))
    more.setdefault("has_fix", fixed is not None)
    return Site("SL101", "program.py", span, original, original, fixed, operands, **more)  # type: ignore[arg-type]


def replay(
    site_: Site, calls: Sequence[Call] = (), *, source: bytes = b"import torch\n", ran: bool | None = None
) -> Examination:
    """Examine a site as if a command had captured `calls`."""
    return examine(site_, source, calls, ran=bool(calls) if ran is None else ran, reached=bool(calls))


def call(**operands: object) -> Call:
    """One captured call."""
    return Call(operands)
