"""Traces on disk: bounded, and readable as far as they were written."""

from pathlib import Path

import pytest

pytest.importorskip("torch")
import torch

from stablelint.runtime.compare.recording.recorder import Options, Recorder
from stablelint.runtime.compare.recording.trace import Trace, Writer


def train(path: Path, options: Options, steps: int, limit: int = 1 << 20) -> Trace:
    with Recorder(Writer(path, limit, {}), options):
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(steps):
            optimizer.zero_grad()
            (w * 2).sum().backward()
            optimizer.step()
    return Trace(path)


def test_every_nth_step_is_recorded(tmp_path: Path) -> None:
    trace = train(tmp_path / "t", Options(start=1, every=3, stop=8), 12)
    assert [step.number for step in trace] == [1, 4, 7]
    assert trace.ended == {"full": False, "steps": 12}


def test_disk_is_bounded_however_many_steps_there_are(tmp_path: Path) -> None:
    trace = train(tmp_path / "t", Options(), 100, limit=20_000)
    assert 0 < len(list(trace)) < 100
    assert trace.ended is not None
    assert trace.ended["full"]
    assert (tmp_path / "t").stat().st_size < 25_000


def test_a_trace_that_was_cut_off_is_read_to_its_last_whole_line(tmp_path: Path) -> None:
    train(tmp_path / "t", Options(), 4)
    whole = (tmp_path / "t").read_bytes()
    (tmp_path / "t").write_bytes(whole[: len(whole) // 2])
    cut = Trace(tmp_path / "t")
    assert 0 < len(list(cut)) < 4
    assert cut.ended is None


def test_operations_have_phase_place_and_what_made_their_operands(tmp_path: Path) -> None:
    (step,) = train(tmp_path / "t", Options(), 1)
    by_phase = {(one.phase, one.operation): one for one in step.records}
    product = by_phase["forward", "mul"]
    assert product.place.expression == "w * 2"
    assert product.numbers == (2,)
    gradient = by_phase["backward", "mul"]
    assert gradient.place.expression == "w * 2"
    total = by_phase["forward", "sum"]
    assert total.operands == {product.index}
    assert by_phase["optimizer", "add"].place.expression == "optimizer.step()"


def test_with_modules_alone_only_what_they_return_is_recorded(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    with Recorder(Writer(tmp_path / "t", 1 << 20, {}), Options(modules=True)):
        model(torch.ones(1, 2))
    (step,) = Trace(tmp_path / "t")
    assert [(one.operation, one.module) for one in step.records] == [
        ("Linear", "Sequential.0"),
        ("ReLU", "Sequential.1"),
        ("Sequential", "Sequential"),
    ]
    assert {one.place.expression for one in step.records} == {"model(torch.ones(1, 2))"}
