"""The batch in a report: the sample and token of a bad element, and how far the batch is from the others."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.guard.tensors.batches import BatchRecorder  # noqa: E402
from tests.runtime.guard.support import report_of  # noqa: E402

torch.set_num_threads(1)

HEAD = """
import torch
torch.manual_seed(0)
embed, head = torch.nn.Embedding(9, 4), torch.nn.Linear(4, 3, bias=False)
optimizer = torch.optim.SGD([*embed.parameters(), *head.parameters()], lr=0.1)
batches = [(torch.randint(1, 9, (5, 6)), torch.rand(5, 6)) for _ in range(12)]
batches[9][0][3, 2] = 0
batches[9][1][0, 0] = 80.0
with torch.no_grad():
    embed.weight[0] = 0
"""
STEP = """
    values = head(embed(tokens)) * weights.unsqueeze(-1)
    loss = NORM.norm(dim=-1).log().mean()
    optimizer.zero_grad()
    loss.backward()
    embed.weight.grad[0] = 0
    optimizer.step()
"""
LISTED = "for tokens, weights in batches:"
LOADED = "for tokens, weights in torch.utils.data.DataLoader(batches, batch_size=None):"


@pytest.mark.parametrize(("loop", "others"), [(LISTED, 11), (LOADED, 2)], ids=["a list", "a loader"])
@pytest.mark.parametrize("norm", ["values", "values.flatten(0, 1)"])
def test_the_bad_element_is_told_in_terms_of_the_batch(
    loop: str, others: int, norm: str, tmp_path: Path
) -> None:
    program = tmp_path / "train.py"
    program.write_text(HEAD + loop + STEP.replace("NORM", norm))
    event = report_of(program).event
    assert event.element is not None
    assert dict(event.element.terms) == {"sample": 3, "token": 2}
    tokens, weights = event.batch
    assert (tokens.name, weights.name) == ("[0]", "[1]")
    assert tokens.others == weights.others == others
    largest, (_, most) = weights.numbers[2], weights.ranges[2]
    assert (largest, most <= 1.0) == (80.0, True)


def test_a_batch_is_no_other_of_itself() -> None:
    recorder = BatchRecorder()
    recorder.look(torch.zeros(3))
    assert recorder.before == []
    recorder.look(torch.ones(3))
    assert recorder.before == [{"": (0.0, 0.0, 0.0)}]
