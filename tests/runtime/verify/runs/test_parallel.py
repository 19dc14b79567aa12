"""Probes in several processes and threads, and around tensors that are no plain ones."""

import os
import sys
from pathlib import Path

import pytest
import torch

from stablelint.runtime.verify.outcome import Run
from stablelint.runtime.verify.runs.command import Captured
from stablelint.runtime.verify.site import Request, Site, Verdict
from stablelint.runtime.verify.verify import Verification, verify
from tests.forks import Servers
from tests.runtime.verify.parallel import DISTRIBUTED, KINDS
from tests.runtime.verify.programs import site_at
from tests.runtime.verify.runs.test_capture import capture
from tests.runtime.verify.support import LOG, replay

Kinds = tuple[Run, dict[str, Captured], dict[str, Site], str]


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch was built without distributed")
def test_every_rank_of_torchrun_is_watched(tmp_path: Path) -> None:
    path = tmp_path / "ranks.py"
    path.write_text(DISTRIBUTED, encoding="utf-8")
    text = "torch.log(torch.relu(self.linear(x)))"
    fixed = text.replace("relu(self.linear(x))", "relu(self.linear(x)).clamp_min(1e-30)")
    site = site_at(path, text, fixed, {"x": "torch.relu(self.linear(x))"}, **LOG)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]

    def compose(chosen: frozenset[str]) -> dict[str, bytes]:
        return {os.path.realpath(path): DISTRIBUTED.replace(text, fixed).encode()}

    with open(tmp_path / "output.txt", "wb") as output:
        request = Request(
            [site],
            {str(path): path.read_bytes()},
            [*command, str(path)],
            compose,
            directory=tmp_path,
            output=output.fileno(),
        )
        found: Verification = verify(request)
    (report,) = found.report.sites
    assert not found.report.problems, (tmp_path / "output.txt").read_text()
    assert report.calls == 6, "three steps of each of two ranks"
    assert report.verdict is Verdict.CONFIRMED
    assert found.report.rerun is not None
    assert found.report.rerun.passed is True
    assert found.report.rerun.before.losses is not None
    assert found.report.rerun.before.losses.bad_losses


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory, servers: Servers) -> Kinds:
    folder = tmp_path_factory.mktemp("kinds")
    path = folder / "kinds.py"
    path.write_text(KINDS, encoding="utf-8")
    sites = {
        name: site_at(path, f"torch.{name}(x)", None, {"x": "x"})
        for name in ("log", "sqrt", "rsqrt", "acos", "exp", "log2")
    }
    scale = {"m": "0.0", "s": "scale"}
    sites["normal"] = site_at(path, "torch.distributions.Normal(0.0, scale)", None, scale)
    with servers.running_commands():
        ending, _, found = capture(folder, sites, [sys.executable, "kinds.py"])
    return ending, found, sites, (folder / "output.txt").read_text()


def test_a_subclass_of_tensor_sees_only_its_own_calls(kinds: Kinds) -> None:
    assert "calls on the subclass: log\n" in kinds[3]
    (kept,) = kinds[1]["log"].kept
    assert type(kept.operands["x"]) is torch.Tensor


def test_nothing_of_a_probe_is_left_in_a_trace(kinds: Kinds) -> None:
    assert "nodes of the trace: aten::sqrt\n" in kinds[3]
    assert kinds[1]["sqrt"].calls == 1, "the tracer runs the function once more to compare"
    assert kinds[1]["sqrt"].compiled > 0


def test_functional_transforms_go_undisturbed(kinds: Kinds) -> None:
    assert "mapped: torch.Size([2, 3]) tensor(-0.0625)" in kinds[3]


def test_tensors_that_cannot_be_stored_do_not_hide_the_others(kinds: Kinds) -> None:
    assert kinds[1]["log2"].calls == 1
    assert all(not isinstance(call.operands["x"], torch.Tensor) for call in kinds[1]["log2"].kept)
    assert kinds[1]["log"].kept


def test_a_step_that_the_scaler_skips_is_kept(kinds: Kinds) -> None:
    scaled = kinds[1]["acos"]
    assert scaled.calls == 2
    assert scaled.bad_gradients > 0
    assert {call.context.autocast for call in scaled.kept} == {"float16"}


def test_recomputation_is_seen_once_per_evaluation(kinds: Kinds) -> None:
    recomputed = kinds[1]["exp"]
    assert recomputed.calls == 3, "forward, and as a whole again in the reentrant backward"
    assert recomputed.raised == 1, (
        "the other one leaves the recomputation by raising once it has what it needs"
    )
    assert {call.context.grad for call in recomputed.kept} == {True, False}


def test_threads_of_replicas_lose_no_call(kinds: Kinds) -> None:
    inverse = kinds[1]["rsqrt"]
    assert inverse.calls >= 4 * 50
    assert inverse.extents["x"].high == 4.0


def test_an_expression_that_raises_leaves_its_operands(kinds: Kinds) -> None:
    ending, found, sites, output = kinds
    assert ending.status == 1
    assert "to satisfy the constraint" in output
    normal = found["normal"]
    assert (normal.calls, normal.raised) == (0, 1)
    guarded = "torch.distributions.Normal(0.0, scale.clamp_min(1e-6))"
    fault = site_at(Path(sites["normal"].filename), sites["normal"].expression, guarded, {"s": "scale"})
    shown = replay(fault, normal.kept)
    assert shown.decision.verdict is Verdict.CONFIRMED
    assert shown.decision.witness is not None
    assert shown.decision.witness.original_failed == "refused"
