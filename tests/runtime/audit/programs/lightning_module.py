"""A Lightning module with its trainer."""

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 3))
        self.kept = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.kept.append(loss.item())
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        return nn.functional.cross_entropy(self(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


lightning.seed_everything(0, verbose=False)
x = torch.randn(80, 6)
y = x[:, :3].argmax(1)
training = TensorDataset(x[:64], y[:64])
validation = TensorDataset(x[64:], y[64:])
trainer = lightning.Trainer(
    max_epochs=3,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    num_sanity_val_steps=0,
)
trainer.fit(
    Module(), DataLoader(training, batch_size=16, shuffle=True), DataLoader(validation, batch_size=16)
)
