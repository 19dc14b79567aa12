"""A generator and a discriminator under Lightning's manual optimization."""

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Pair(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Sequential(nn.Linear(4, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
        self.critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.criterion = nn.BCEWithLogitsLoss()

    def forward(self, noise):
        return self.generator(noise)

    def training_step(self, batch, batch_idx):
        (real,) = batch
        g_optimizer, c_optimizer = self.optimizers()
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        fake = self(torch.randn(len(real), 4))

        self.toggle_optimizer(g_optimizer)
        g_loss = self.criterion(self.critic(fake), ones)
        g_optimizer.zero_grad()
        self.manual_backward(g_loss)
        g_optimizer.step()
        self.untoggle_optimizer(g_optimizer)

        self.toggle_optimizer(c_optimizer)
        c_loss = self.criterion(self.critic(real), ones) + self.criterion(self.critic(fake.detach()), zeros)
        c_optimizer.zero_grad()
        self.manual_backward(c_loss)
        self.clip_gradients(c_optimizer, 5.0, "norm")
        c_optimizer.step()
        self.untoggle_optimizer(c_optimizer)

    def configure_optimizers(self):
        return (
            torch.optim.Adam(self.generator.parameters(), lr=2e-3, betas=(0.5, 0.999)),
            torch.optim.Adam(self.critic.parameters(), lr=2e-3, betas=(0.5, 0.999)),
        )


lightning.seed_everything(0, verbose=False)
points = TensorDataset(torch.randn(128, 2) * 0.5 + torch.tensor([1.0, -1.0]))
trainer = lightning.Trainer(
    max_epochs=3,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Pair(), DataLoader(points, batch_size=16, shuffle=True))
