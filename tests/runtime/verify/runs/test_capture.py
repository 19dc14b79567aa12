"""What probes see of a real command, in real processes."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from stablelint.runtime.verify.outcome import Run
from stablelint.runtime.verify.probe.plan import Plan, Target
from stablelint.runtime.verify.replay.compare import prepare
from stablelint.runtime.verify.runs.command import Captured, Records, read_records, run_command
from stablelint.runtime.verify.site import Request, Site
from tests.runtime.verify.programs import MODES, modes_sites, site_at


def capture(
    folder: Path, sites: Mapping[str, Site], command: list[str], **more: object
) -> tuple[Run, Records, dict[str, Captured]]:
    """Run a command with probes at the sites; its records, by the names of the sites."""
    targets: dict[str, list[Target]] = {}
    for site in sites.values():
        source = Path(site.filename).read_bytes()
        replayer = prepare(site, source)
        start, end = site.span.start, site.span.end
        operands = (*replayer.operands.values(), *replayer.spare)
        target = Target(site.id, (start.row, start.column), (end.row, end.column), operands)
        targets.setdefault(os.path.realpath(site.filename), []).append(target)
    records = folder / "records"
    plan = Plan(str(records), {path: tuple(items) for path, items in targets.items()})
    with open(folder / "output.txt", "wb") as output:
        request = Request((), {}, command, output=output.fileno(), directory=folder, **more)  # type: ignore[arg-type]
        ending = run_command(request, plan)
    found = read_records(records)
    return ending, found, {name: found.sites.get(site.id, Captured()) for name, site in sites.items()}


@pytest.fixture(scope="module")
def modes(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Run, Records, dict[str, Captured], str, bytes]:
    folder = tmp_path_factory.mktemp("modes")
    path = folder / "modes.py"
    path.write_text(MODES, encoding="utf-8")
    ending, records, found = capture(folder, modes_sites(path), [sys.executable, "modes.py", "--a", "b c"])
    return ending, records, found, (folder / "output.txt").read_text(), path.read_bytes()


def test_the_command_runs_as_it_would(modes: tuple[Run, Records, dict[str, Captured], str, bytes]) -> None:
    ending, records, _, output, source = modes
    assert ending.status == 0, output
    assert "argv ['--a', 'b c'] __main__ []" in output
    assert "stablelint" not in output
    assert source.decode() == MODES, "files on disk are not touched"
    assert not records.damaged


def test_modes_are_recorded(modes: tuple[Run, Records, dict[str, Captured], str, bytes]) -> None:
    log = modes[2]["log"]
    assert log.calls == 5, "the recomputation of a checkpoint stops before the site is done"
    assert {call.context.autocast for call in log.kept} == {None, "bfloat16"}
    assert {call.context.grad for call in log.kept} == {True, False}


def test_a_gradient_that_is_not_finite_marks_the_call(
    modes: tuple[Run, Records, dict[str, Captured], str, bytes],
) -> None:
    root = modes[2]["sqrt"]
    assert root.calls == 1
    assert root.bad_results == 0
    assert root.bad_gradients == 1
    operand = root.kept[0].operands["x"]
    assert isinstance(operand, torch.Tensor)
    assert torch.equal(operand, torch.zeros(3))


def test_threads_are_kept_apart(modes: tuple[Run, Records, dict[str, Captured], str, bytes]) -> None:
    root = modes[2]["rsqrt"]
    assert root.calls == 4
    assert (root.extents["x"].low, root.extents["x"].high) == (1.0, 4.0)


def test_a_probe_steps_aside_under_compilation(
    modes: tuple[Run, Records, dict[str, Captured], str, bytes],
) -> None:
    assert modes[2]["exp"].calls == 0
    assert modes[2]["exp"].compiled > 0, "yet it is known that the site was reached"


def test_operands_of_an_earlier_statement_are_found(
    modes: tuple[Run, Records, dict[str, Captured], str, bytes],
) -> None:
    call = modes[2]["log2"].kept[0]
    assert isinstance(call.operands["y"], torch.Tensor)
    assert isinstance(call.operands["z * 2"], torch.Tensor)


def test_children_are_watched_too(modes: tuple[Run, Records, dict[str, Captured], str, bytes]) -> None:
    assert modes[2]["log10"].calls == 2, "one spawned, one forked"


def test_operands_of_an_operation_in_place_are_those_before_it(tmp_path: Path, forked: None) -> None:
    path = tmp_path / "in_place.py"
    path.write_text("import torch\n\nh = torch.tensor([0.0, 1.0])\nh.log_()\n", encoding="utf-8")
    sites = {"log": site_at(path, "h.log_()", None, {"x": "h"})}
    _, _, found = capture(tmp_path, sites, [sys.executable, "in_place.py"])
    (kept,) = found["log"].kept
    operand = kept.operands["h"]
    assert isinstance(operand, torch.Tensor)
    assert operand.tolist() == [0.0, 1.0]


def test_a_crash_keeps_what_was_reached(tmp_path: Path, forked: None) -> None:
    path = tmp_path / "crash.py"
    path.write_text(
        "import os, signal, time\nimport torch\n\nfor step in range(60):\n    y = torch.log(torch.zeros(2))\n"
        "    time.sleep(0.05)\nos.kill(os.getpid(), signal.SIGKILL)\n",
        encoding="utf-8",
    )
    sites = {"log": site_at(path, "torch.log(torch.zeros(2))", None, {"x": "torch.zeros(2)"})}
    ending, _, found = capture(tmp_path, sites, [sys.executable, "crash.py"])
    assert ending.status == -9
    assert 0 < found["log"].calls <= 60
    assert found["log"].bad_results > 0


def test_a_failure_is_written_at_once_since_no_exit_may_come(tmp_path: Path, forked: None) -> None:
    path = tmp_path / "leave.py"
    path.write_text(
        "import os\nimport torch\n\nfor step in range(60):\n    y = torch.log(torch.ones(2) * (step < 50))\nos._exit(0)\n",
        encoding="utf-8",
    )
    text = "torch.ones(2) * (step < 50)"
    sites = {"log": site_at(path, f"torch.log({text})", None, {"x": text})}
    ending, _, found = capture(tmp_path, sites, [sys.executable, "leave.py"])
    assert ending.status == 0
    assert (found["log"].calls, found["log"].bad_results) == (51, 1)


def test_a_time_out_keeps_what_was_reached(tmp_path: Path, forked: None) -> None:
    path = tmp_path / "endless.py"
    loop = "while True:\n    y = torch.log(torch.zeros(2))\n    time.sleep(0.005)\n"
    path.write_text("import time\nimport torch\n\n" + loop, encoding="utf-8")
    sites = {"log": site_at(path, "torch.log(torch.zeros(2))", None, {"x": "torch.zeros(2)"})}
    for seconds in (1.0, 30.0):  # a busy machine may need that long
        ending, _, found = capture(tmp_path, sites, [sys.executable, "endless.py"], timeout=seconds)
        assert ending.stopped == "timed out"
        if found["log"].calls:
            break
    assert found["log"].calls > 0


def test_the_users_own_sitecustomize_is_run(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')\n", encoding="utf-8")
    from stablelint.runtime.process.launch import environment

    variables = environment(tmp_path / "no-plan.json")
    variables["PYTHONPATH"] += os.pathsep + str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", "import sys; print('torch' in sys.modules)"],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["mine", "False"]
