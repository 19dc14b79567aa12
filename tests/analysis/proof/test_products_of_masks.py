"""What came out of the same mapping as a mask counts with it which entries of a batch are there."""

from tests.analysis.support import open_

LOSS = """
import other
def update(self, batch, key, n, error, weights):
    mask = batch["agent_mask"]
    filled = {filled}
    if n:
        filled = filled.unsqueeze(1).expand(-1, n, -1).reshape(4, n)
    mask_values = mask[key] * filled
    return (error * mask_values).sum() / {total}
"""


def _loss(filled: str = 'batch["filled"]', total: str = "mask_values.sum()") -> str:
    return LOSS.format(filled=filled, total=total)


def test_a_product_of_a_mask_with_what_came_beside_it_is_a_mask_of_the_batch() -> None:
    assert open_(_loss()) == [(8, "SL102")]


def test_of_a_row_nothing_is_said() -> None:
    assert open_(_loss(total="mask_values.sum(1)")) == [(8, "SL102")]
