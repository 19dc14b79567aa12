from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("lightning.pytorch")

from stablelint.runtime.guard import NonFiniteError  # noqa: E402
from stablelint.runtime.guard.integrations.lightning import GuardCallback  # noqa: E402


class Net(lightning.LightningModule):
    def __init__(self, bad: int | None) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 2, bias=False)
        self.bad = bad

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        (x,) = batch
        out = self.layer(x)
        if index == self.bad:
            out = out * 0
        return out.square().sum(-1).sqrt().mean()  # the fault

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters())


def fit(net: Net, callback: GuardCallback, folder: Path) -> None:
    data = torch.utils.data.TensorDataset(torch.randn(24, 3))
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        callbacks=[callback],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    trainer.fit(net, torch.utils.data.DataLoader(data, batch_size=4))


def test_names_the_expression_in_the_training_step(tmp_path: Path) -> None:
    callback = GuardCallback()
    with pytest.raises(NonFiniteError) as caught:
        fit(Net(4), callback, tmp_path)
    event = caught.value.event
    assert event.location is not None
    assert event.location.expression == "out.square().sum(-1).sqrt()"
    assert event.location.filename == __file__
    assert event.step == 4


def test_a_healthy_fit_is_silent(tmp_path: Path) -> None:
    callback = GuardCallback()
    fit(Net(None), callback, tmp_path)
    assert callback.guard is not None
    assert callback.guard.events == []
    assert callback.guard.watch.step == 6
