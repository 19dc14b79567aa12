"""An audited run is the run it would have been, bit for bit."""

import random
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402

import stablelint  # noqa: E402
from stablelint.runtime.audit import Audit  # noqa: E402


def train(log: list[Any]) -> Any:
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8),
        torch.nn.BatchNorm1d(8),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.5),
        torch.nn.Linear(8, 2),
    )
    data = torch.utils.data.TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,)))
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            log.append(loss.item())
    return model.state_dict()


def states() -> tuple[Any, ...]:
    return torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()


def test_losses_parameters_and_random_state_are_those_of_the_plain_run() -> None:
    plain: list[float] = []
    parameters = train(plain)
    after = states()
    watched: list[float] = []
    with Audit() as found:
        others = train(watched)
        during = states()
    assert len(found.run.steps) == 12
    assert plain == watched
    assert during == after == states()
    assert all(torch.equal(parameters[name], others[name]) for name in parameters)


def test_afterwards_torch_is_as_it_was() -> None:
    before = torch.nn.functional.cross_entropy, torch.autograd.Function.apply.__func__, torch.manual_seed
    loader = torch.utils.data.DataLoader.__init__
    with Audit():
        assert torch.nn.functional.cross_entropy is not before[0]
    after = torch.nn.functional.cross_entropy, torch.autograd.Function.apply.__func__, torch.manual_seed
    assert before == after
    assert torch.utils.data.DataLoader.__init__ is loader
    assert not torch.is_anomaly_enabled()
    assert not torch.nn.modules.module._global_forward_hooks


def test_a_model_that_is_handed_in_keeps_its_parameters_and_its_optimizer() -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    kept = [one.detach().clone() for one in model.parameters()]
    data = torch.utils.data.TensorDataset(torch.randn(40, 4) * 1000, torch.randint(0, 2, (40,)))
    before = states()
    found = stablelint.audit(
        model,
        torch.utils.data.DataLoader(data, 8, shuffle=True),
        torch.nn.CrossEntropyLoss(),
        optimizer,
        steps=5,
    )
    assert states() == before
    assert all(torch.equal(one, other) for one, other in zip(kept, model.parameters(), strict=True))
    assert not optimizer.state
    assert "input-scale" in {one.check.name for one in found.failed}
    assert "failed input-scale" in str(found)


def test_a_batch_that_is_no_pair_is_refused() -> None:
    model = torch.nn.Linear(4, 2)
    with pytest.raises(ValueError, match="a batch is"):
        stablelint.audit(
            model, [torch.ones(2, 4)], torch.nn.MSELoss(), torch.optim.SGD(model.parameters(), 0.1)
        )


def test_what_goes_wrong_in_watching_reaches_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("stablelint.runtime.audit.recorder.read_graph", lambda *_: 1 / 0)
    log: list[float] = []
    with Audit() as found:
        train(log)
    assert len(log) == 12
    assert "before_backward: ZeroDivisionError" in found.run.trouble[0]


pytest_plugins = ["pytester"]


def test_pytest_fails_a_test_whose_training_fails_a_check(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import torch

        def train(zero):
            torch.manual_seed(0)
            model = torch.nn.Linear(3, 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(4):
                if zero:
                    optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(torch.randn(8, 3)), torch.randint(0, 2, (8,))).backward()
                optimizer.step()

        def test_sound():
            train(True)

        def test_stale():
            train(False)
        """
    )
    done = pytester.runpytest_subprocess("--stablelint-audit", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*failed zeroed-gradients*"])
