"""What counts as a repetition of a step: generators count as far as the replay drew from them."""

import random

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.guard.replay.likeness import Moment, likeness  # noqa: E402
from stablelint.runtime.tensors.state import current_state  # noqa: E402


@pytest.mark.parametrize("step_draws", [False, True])
def test_a_generator_that_the_replay_leaves_alone_may_stand_elsewhere(step_draws: bool) -> None:
    def step() -> Moment:
        torch.rand(3)
        _ = random.random() if step_draws else None
        return Moment((), current_state())

    begun = current_state()
    replayed = step()
    random.random()  # the program drew from Python's generator before its step
    torch.set_rng_state(begun.default)
    assert likeness(step(), replayed, begun, {}).same_random is not step_draws
