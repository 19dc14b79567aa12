"""Errors of torch, explained in the words of the program that they ended; what is unknown is not said."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.crash.explanation import Operand  # noqa: E402
from stablelint.runtime.crash.trail import Trail  # noqa: E402
from stablelint.runtime.tracing import hooks  # noqa: E402
from tests.forks import Servers  # noqa: E402
from tests.runtime.crash.crashes import CRASHES, UNKNOWN, Crash  # noqa: E402
from tests.runtime.crash.running import explained  # noqa: E402


@pytest.mark.parametrize("crash", CRASHES, ids=lambda one: one.name)
def test_says_what_met_what_and_what_to_do(
    crash: Crash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Operand.of.__func__  # meta stands for a GPU
    monkeypatch.setattr(
        Operand,
        "of",
        classmethod(
            lambda *given, **named: replace(
                one := original(*given, **named), device=one.device.replace("meta", "cuda:0")
            )
        ),
    )
    path = tmp_path / "train.py"
    path.write_text(crash.source)
    found, error = explained(path)
    assert found is not None, error
    assert found.kind == crash.kind, found
    told = json.dumps(found.as_json(error))
    shown = json.loads(told)
    text = " | ".join(
        [
            found.summary,
            *found.because,
            *(f"{what} {at.expression}" for what, at in found.other),
            *(
                f"{one.name} {one.shape} {one.made_at.expression if one.made_at else ''}"
                for one in found.operands
            ),
            shown["expression"] or "",
        ]
    )
    for part in crash.says:
        assert any(one in text for one in part.split("|")), f"{part!r} not in {text}"
    assert crash.advice in " | ".join(found.advice or found.because), found


def test_what_is_on_meta_has_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("import torch\nlayer = torch.nn.Linear(2, 2, device='meta')\nlayer(torch.ones(1, 2))\n")
    found, _ = explained(path)
    assert found is not None
    assert found.summary == "torch.ones(1, 2) is on cpu, weight of layer is on meta"
    assert not any(".to('meta')" in one for one in found.advice)


def test_a_default_device_that_stays_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        "import torch\ndef count():\n    torch.set_default_device('meta')\n    return torch.ones(3).numel()\n"
        "x = torch.ones(1, 2)\ncount()\ntorch.nn.Linear(2, 2)(x)\n"
    )
    try:
        found, _ = explained(path)
    finally:
        torch.set_default_device(None)
    assert found is not None
    assert [at.expression for _, at in found.other] == ["torch.set_default_device('meta')"]
    assert found.advice == (
        "with torch.device('meta'): around what is to hold none, in place of the default",
    )


@pytest.mark.parametrize("source", UNKNOWN)
def test_invents_nothing(source: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(source)
    assert explained(path)[0] is None


def test_the_layers_lead_to_the_one_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(CRASHES[0].source)
    found, _ = explained(path)
    assert found is not None
    assert [row[0] for row in found.layers] == ["conv", "norm", "fc1"]
    assert found.layers[0][1:] == ("(5, 3, 8, 8)", "(5, 8, 6, 6)")
    assert found.layers[-1][1:] == ("(5, 288)", "fails")


def test_only_the_first_graphs_know_their_lines() -> None:
    trail = Trail()
    trail.start()
    try:
        seen = []
        for _ in range(3):
            loss = torch.ones(2, requires_grad=True).exp().sum()
            seen.append("traceback_" in loss.grad_fn.metadata)
            loss.backward()
        assert seen == [True, True, False]
        assert len(trail.backwards) == 3
        assert "torch" in sys.modules
    finally:
        hooks.detach(trail)
        torch.autograd.set_detect_anomaly(False)


def test_a_program_that_asks_for_anomalies_keeps_asking() -> None:
    trail = Trail()
    trail.start()
    try:
        torch.autograd.set_detect_anomaly(True)
        for _ in range(3):
            torch.ones(2, requires_grad=True).sum().backward()
        assert torch.is_anomaly_enabled()
    finally:
        hooks.detach(trail)
        torch.autograd.set_detect_anomaly(False)


@pytest.mark.parametrize(
    "asks", ["", "torch.autograd.set_detect_anomaly(True)\n"], ids=["plain", "anomalies"]
)
def test_the_error_reads_as_without_being_watched(asks: str, servers: Servers, tmp_path: Path) -> None:
    arms = (
        "from types import SimpleNamespace as Plan\nfrom stablelint.runtime.crash.arm import arm\n"
        "arm(Plan(tell=lambda *_: None))\n"
    )
    told = list[str]()
    for name, first in (("plain.py", ""), ("armed.py", arms)):
        path = tmp_path / name
        path.write_text(
            f"{first}import torch\n{asks}x = torch.ones(2, requires_grad=True)\ny = x.exp()\ny += 1\n"
            "y.sum().backward()\n"
        )
        told += servers.printed(path).splitlines()[-1:]
    assert told[0] == told[1]
    assert "modified by an inplace operation" in told[0]


def test_the_explanation_follows_the_traceback(tmp_path: Path) -> None:
    caught = "import traceback\ntry:\n    model(images)\nexcept RuntimeError:\n    traceback.print_exc()\n"
    (tmp_path / "train.py").write_text(
        CRASHES[0].source.replace("model(images)\n", f"{caught}model(images)\n")
    )
    command = [sys.executable, "-m", "stablelint", "run", "--", sys.executable, "train.py"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "160"},
    )
    assert done.returncode == 1
    traceback, _, explanation = done.stderr.partition("\n\nRuntimeError[shape]: ")
    assert traceback.startswith("Traceback")
    assert traceback.count("mat1 and mat2 shapes cannot be multiplied") == 2
    assert traceback.count("in forward") == 4
    assert os.path.join("stablelint", "runtime") not in traceback
    assert explanation.startswith("fc1 (Linear(in_features=200, out_features=32, bias=True)) does not take")
    assert "weight of fc1 comes from: train.py:11:9: self.fc1 = nn.Linear(200, 32)" in explanation
    assert "help: nn.Linear(288, 32) in line 11 passes" in explanation
