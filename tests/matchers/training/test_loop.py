from __future__ import annotations

import pytest

from tests.matchers.support import findings

ACCUMULATE = """
def train(model, loader, optimizer):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        {line}
    return total
"""


@pytest.mark.parametrize("line", ["total += loss", "total = total + loss"])
def test_a_total_of_losses_keeps_their_graphs(line: str) -> None:
    assert findings("SL605", ACCUMULATE.format(line=line)) == [line]


@pytest.mark.parametrize(
    "line", ["total += loss.item()", "total += loss.detach()", "total += float(loss)", "total += 1"]
)
def test_a_total_of_values_does_not(line: str) -> None:
    assert findings("SL605", ACCUMULATE.format(line=line)) == []


def test_a_loss_made_a_number_before_it_is_added() -> None:
    assert findings("SL605", ACCUMULATE.format(line="loss = loss.item(); total += loss")) == []


def test_a_loss_backed_twice() -> None:
    program = """
    def step(model, x, flag):
        loss = model(x).mean()
        {first}
        {second}
    """
    bad = program.format(first="loss.backward()", second="loss.backward()")
    kept = program.format(first="loss.backward(retain_graph=True)", second="loss.backward()")
    other = program.format(first="loss.backward()", second="model(x).sum().backward()")
    assert findings("SL608", bad) == ["loss.backward()"]
    assert findings("SL608", kept) == findings("SL608", other) == []


def test_a_loss_backed_in_one_arm_or_the_other() -> None:
    program = """
    def step(model, x, flag):
        loss = model(x).mean()
        if flag:
            loss.backward()
        else:
            loss.backward()
    """
    assert findings("SL608", program) == []


def test_a_graph_built_before_the_loop_that_uses_it() -> None:
    program = """
    def fit(model, x, y):
        loss = F.mse_loss(model(x), y)
        for _ in range(10):
            loss.backward()
    """
    assert findings("SL608", program) == ["loss.backward()"]


def test_two_optimizers_that_clear_each_its_own() -> None:
    program = """
    def train(g, d, loader):
        a, b = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
        for x in loader:
            a.zero_grad()
            d(g(x)).mean().backward()
            a.step()
            b.zero_grad()
            d(x).mean().backward()
            b.step()
    """
    assert findings("SL604", program) == findings("SL608", program) == []


@pytest.mark.parametrize("code", ["SL603", "SL604", "SL605", "SL608"])
def test_a_sound_loop_is_silent(code: str) -> None:
    program = """
    def train(model, loader):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step, (x, y) in enumerate(loader):
            loss = F.mse_loss(model(x), y)
            loss.backward()
            if step % 4 == 3:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
    """
    assert findings(code, program) == []


def test_gradients_cleared_by_hand() -> None:
    program = """
    def train(model, loader):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x in loader:
            for p in model.parameters():
                p.grad = None
            model(x).mean().backward()
            optimizer.step()
    """
    assert findings("SL604", program) == []


def test_anomaly_detection_behind_a_flag() -> None:
    assert (
        findings(
            "SL606", "import os\nif os.environ.get('DEBUG'):\n    torch.autograd.set_detect_anomaly(True)\n"
        )
        == []
    )
    assert findings("SL606", "def f(d: bool):\n    torch.autograd.set_detect_anomaly(d)\n") == []
    line = "with torch.autograd.detect_anomaly():"
    assert findings("SL606", f"def f(x):\n    {line}\n        x.backward()\n") == [line]


EPOCH = """
def train(model, loader, optimizer):
    total = 0.0
    for step, (x, y) in enumerate(loader):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        total += loss
        if step % 8 == 0:
            {then}
            total = 0.0
"""


def test_a_total_that_each_step_of_the_optimizer_begins_anew_keeps_nothing() -> None:
    assert findings("SL605", EPOCH.format(then="optimizer.step(); optimizer.zero_grad()")) == []
    assert findings("SL605", EPOCH.format(then="print(total)")) == ["total += loss"]
