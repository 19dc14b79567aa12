"""Models that are told the next token, and what they see of it."""

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.audit import Audit, Status  # noqa: E402


class Language(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(20, 8)
        self.head = torch.nn.Linear(8, 20)
        self.causal = causal

    def forward(self, tokens, targets):  # type: ignore[no-untyped-def]
        hidden = self.embedding(tokens)
        scores = hidden @ hidden.mT
        if self.causal:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)
        logits = self.head(scores.softmax(-1) @ hidden)
        return logits, torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def trained(causal: bool, shift: int) -> dict[str, Status]:
    torch.manual_seed(0)
    model = Language(causal)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Audit() as found:
        for _ in range(3):
            tokens = torch.randint(0, 20, (4, 13))
            optimizer.zero_grad()
            model(tokens[:, :12], tokens[:, shift : 12 + shift])[1].backward()
            optimizer.step()
    return {one.check.name: one.outcome.status for one in found.results}


@pytest.mark.parametrize(("causal", "status"), [(True, Status.PASSED), (False, Status.FAILED)])
def test_predictions_of_the_next_token_do_not_see_it(causal: bool, status: Status) -> None:
    assert trained(causal, 1)["unseen-future"] is status


@pytest.mark.parametrize(("shift", "status"), [(0, Status.WARNED), (1, Status.UNSEEN)])
def test_targets_that_are_the_input_are_named(shift: int, status: Status) -> None:
    assert trained(True, shift)["withheld-targets"] is status
