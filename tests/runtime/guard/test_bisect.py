"""The first bad batch of a loader, and the first bad checkpoint of a run."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.guard import find_first_bad_batch, find_first_bad_checkpoint  # noqa: E402


@pytest.mark.parametrize(("spoil", "where"), [("input", "input"), ("loss", "loss"), ("gradient", "gradient")])
def test_the_first_bad_batch_is_found_and_all_is_put_back(spoil: str, where: str) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    batches = [torch.randn(4, 3) for _ in range(6)]
    if spoil == "input":
        batches[4][0, 0] = float("nan")
    else:
        batches[4].zero_()
    model.bias.data.zero_()

    def step(x: torch.Tensor) -> None:
        optimizer.zero_grad()
        norm = (model(x) - model.bias).square().sum()
        loss = norm.log().neg() if spoil == "loss" else norm.sqrt()
        loss.backward()
        optimizer.step()

    before = [parameter.clone() for parameter in model.parameters()]
    state = torch.get_rng_state()
    found = find_first_bad_batch(step, batches, model, optimizer)
    assert found is not None
    assert (found.index, found.where) == (4, where)
    assert all(torch.equal(one, two) for one, two in zip(before, model.parameters(), strict=True))
    assert not optimizer.state
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.filterwarnings("error")
def test_a_loss_that_is_returned_is_read_without_a_warning() -> None:
    model = torch.nn.Linear(3, 2)
    found = find_first_bad_batch(
        lambda x: model(x).mean() / x[0, 0], [torch.ones(2, 3), torch.zeros(2, 3)], model
    )
    assert found is not None
    assert (found.index, found.where) == (1, "loss")


def test_the_first_bad_checkpoint_is_found_in_few_loads(tmp_path: Path) -> None:
    paths = []
    for index in range(20):
        tensor = torch.ones(3)
        if index >= 13:
            tensor[1] = float("inf")
        paths.append(tmp_path / f"{index}.pt")
        torch.save({"model": {"weight": tensor}, "step": index}, paths[-1])
    assert find_first_bad_checkpoint(paths) == 13
    assert find_first_bad_checkpoint(paths[:13]) is None
