"""Learning rates out of all proportion."""

import pytest

from tests.matchers.support import findings

LOOP = """
opt = torch.optim.Adam({}, lr=2.0)
for x in loader:
    opt.zero_grad()
    loss(x).backward()
    opt.step()
"""


@pytest.mark.parametrize("given", ["[w, b]", "[self.w, self.b]", "model.parameters()"])
def test_the_weights_of_a_model_are_trained_too_fast(given: str) -> None:
    assert findings("SL601", LOOP.format(given)) != []


def test_one_tensor_by_itself_has_a_scale_of_its_own() -> None:
    assert findings("SL601", LOOP.format("[image]")) == []
