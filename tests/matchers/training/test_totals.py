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

EPOCH = """
def train(model, loader, optimizer):
    total = 0.0
    for step, (x, y) in enumerate(loader):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        total += loss
        if step % 8 == 0:
            {then}
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


def test_a_total_that_its_loop_begins_anew_lets_go_of_what_it_kept() -> None:
    assert findings("SL605", EPOCH.format(then="total = 0.0")) == []
    assert findings("SL605", EPOCH.format(then="total = float(total)")) == ["total += loss"]
