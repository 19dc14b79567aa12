from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from stablelint.runtime.guard import NonFiniteError  # noqa: E402
from stablelint.runtime.guard.integrations.transformers import GuardCallback  # noqa: E402


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.layer(x)
        probabilities = logits.softmax(-1)
        loss = -torch.log(probabilities.gather(1, labels[:, None])).mean()
        return {"loss": loss, "logits": logits}


def train(rows: torch.Tensor, callback: GuardCallback, folder: Path) -> None:
    data = [{"x": row, "labels": torch.tensor(index % 2)} for index, row in enumerate(rows)]
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=4,
        num_train_epochs=1,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
        logging_steps=1000,
    )
    trainer = transformers.Trainer(model=Net(), args=arguments, train_dataset=data, callbacks=[callback])
    trainer.train()


def test_names_the_expression_in_the_model(tmp_path: Path) -> None:
    torch.manual_seed(0)
    rows = torch.randn(24, 3)
    rows[13] *= 1e5
    callback = GuardCallback()
    try:
        with pytest.raises(NonFiniteError) as caught:
            train(rows, callback, tmp_path)
    finally:
        callback.stop()
    event = caught.value.event
    assert event.location is not None
    assert event.location.expression == "torch.log(probabilities.gather(1, labels[:, None]))"
    assert event.module == "Net"


def test_a_healthy_training_is_silent(tmp_path: Path) -> None:
    callback = GuardCallback()
    train(torch.randn(24, 3), callback, tmp_path)
    assert callback.guard is not None
    assert callback.guard.events == []
    assert callback.guard.watch.step == 6
