"""A batch that was bad when the loader handed it out."""

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, Dataset  # noqa: E402

from stablelint.runtime.guard import Event, Guard  # noqa: E402
from stablelint.runtime.guard.reporting.event import Origin  # noqa: E402


class Scaled(Dataset[torch.Tensor]):
    """Samples over their largest element; one of them is silence."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        sample = torch.arange(3.0) * (index != 5)
        return sample / sample.max()


@pytest.mark.parametrize("workers", [0, 1])
def test_its_samples_are_made_again_and_the_expression_of_the_dataset_is_named(workers: int) -> None:
    model, events = torch.nn.Linear(3, 1), list[Event]()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Guard(model, optimizer, on_event=events.append, max_events=1):
        for batch in DataLoader(Scaled(), batch_size=2, num_workers=workers):
            loss = model(batch).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    (event,) = events
    assert event.step == 2
    assert event.location is not None
    assert event.location.expression == "sample / sample.max()"
    assert event.origin is Origin.FUNCTION
    assert not event.exact
