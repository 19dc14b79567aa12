import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stablelint.runtime.audit import Audit
from stablelint.runtime.audit.allocations import Peak, peak_of, sized
from stablelint.runtime.audit.checks.memory import room_at_the_peak
from stablelint.runtime.audit.outcome import Status
from stablelint.runtime.audit.record import Run

_TORCH = torch.__file__


def _event(action: str, addr: int, size: int, *rows: tuple[str, int]) -> dict[str, Any]:
    frames = [{"filename": name, "line": row, "name": "f"} for name, row in rows]
    return {"action": action, "addr": addr, "size": size, "frames": frames}


@st.composite
def _traces(draw: st.DrawFn) -> tuple[int, list[dict[str, Any]]]:
    """A record that begins with some blocks, each of which may be freed, as may those that follow."""
    old = draw(st.lists(st.integers(1, 50), max_size=3))
    live = dict(enumerate(old))
    events, free = [], len(old)
    for _ in range(draw(st.integers(0, 12))):
        if live and draw(st.booleans()):
            addr = draw(st.sampled_from(sorted(live)))
            events.append(_event("free_requested", addr, live.pop(addr)))
        else:
            live[free] = draw(st.integers(1, 50))
            events.append(_event("alloc", free, live[free], ("train.py", draw(st.integers(1, 3)))))
            free += 1
    return sum(old), events


@given(_traces())
def test_the_parts_at_the_peak_and_what_was_there_before_are_the_peak(
    made: tuple[int, list[dict[str, Any]]],
) -> None:
    before, events = made
    totals = [before]
    for event in events:
        totals.append(totals[-1] + (event["size"] if event["action"] == "alloc" else -event["size"]))
    peak = peak_of(events, before, 1000)
    assert peak.total == max(totals)
    assert peak.before + sum(size for _, size in peak.parts) == peak.total
    assert list(peak.parts) == sorted(peak.parts, key=lambda part: -part[1])


def test_an_allocation_belongs_to_the_innermost_line_of_the_program() -> None:
    events = [
        _event("alloc", 1, 10, (_TORCH, 5), ("train.py", 7), ("main.py", 2)),
        _event("alloc", 2, 30),
        _event("segment_alloc", 9, 4096),
        _event("free_completed", 1, 10),
        _event("alloc", 3, 40, (_TORCH, 5), ("train.py", 7)),
    ]
    assert peak_of(events, 0, 100).parts == ((("train.py", 7), 50), (None, 30))


def test_a_full_device_is_warned_of_with_the_line_that_holds_most(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("import torch\nscores = model(x) @ model(x).T\n")
    peak = Peak(95 * 2**30, 2**30, 100 * 2**30, (((str(program), 2), 90 * 2**30), (None, 4 * 2**30)))
    outcome = room_at_the_peak.judge(Run(peak=peak))
    assert outcome is not None
    assert outcome.status is Status.WARNED
    assert outcome.evidence == (
        "95 GiB of 100 GiB at the peak: 90 GiB in line 2: scores = model(x) @ model(x).T, "
        "4 GiB in backward passes, 1 GiB before the second step"
    )
    assert outcome.location is not None
    assert outcome.location.row == 2
    assert room_at_the_peak.judge(Run()) is None


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (1023, "1.02e+03 bytes"), (3 * 2**29, "1.5 GiB")]
)
def test_bytes_as_people_write_them(count: int, text: str) -> None:
    assert sized(count) == text


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU, whose allocator is recorded")
def test_the_largest_activation_is_found_on_a_gpu() -> None:
    model = torch.nn.Linear(64, 1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    with Audit(None) as found:
        for _ in range(4):
            optimizer.zero_grad()
            wide = torch.randn(2**18, 64, device="cuda").exp()
            row = sys._getframe().f_lineno - 1
            model(wide).mean().backward()
            optimizer.step()
    peak = found.run.peak
    assert peak is not None
    assert peak.parts[0][0] == (__file__, row)
    assert peak.parts[0][1] >= 2**18 * 64 * 4
