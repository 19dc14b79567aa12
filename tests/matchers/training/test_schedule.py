from __future__ import annotations

import pytest

from tests.matchers.support import findings

LOOP = """
def train(model, loader, optimizer, scheduler, opt, lr_sched):
    for x, y in loader:
        {body}
"""


def _found(*lines: str) -> list[str]:
    return findings("SL617", LOOP.format(body="\n        ".join(lines)))


@pytest.mark.parametrize("optimizer", ["optimizer", "opt", "self.optimizer", "self.optim", "optimizer_g"])
@pytest.mark.parametrize("scheduler", ["scheduler", "lr_sched", "self.scheduler", "self.lr_scheduler"])
def test_a_scheduler_that_steps_first(scheduler: str, optimizer: str) -> None:
    step = f"{scheduler}.step()"
    assert _found("model(x).mean().backward()", step, f"{optimizer}.step()") == [step]
    assert _found(step, "model(x).mean().backward()", f"{optimizer}.step()") == [step]


@pytest.mark.parametrize(
    "lines",
    [
        ("model(x).mean().backward()", "optimizer.step()", "scheduler.step()"),
        ("scheduler.step(x)", "optimizer.step()"),
        ("if x: scheduler.step()", "optimizer.step()"),
        ("optimizer.step()", "scheduler.step()", "optimizer.step()"),
        ("scheduler.step()", "env.step()"),
        ("scheduler.step()", "scaler.step(optimizer)", "opt.step()", "optimizer.step()"),
    ],
)
def test_an_order_that_is_right_or_not_known(lines: tuple[str, ...]) -> None:
    assert _found(*lines) == []
