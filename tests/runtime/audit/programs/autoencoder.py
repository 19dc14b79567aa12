"""A variational autoencoder of small pictures."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(36, 24), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(24, 4), nn.Linear(24, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 36), nn.Sigmoid())

    def forward(self, x):
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        code = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decoder(code), mean, log_variance


def loss_of(output, x, mean, log_variance):
    reconstruction = F.binary_cross_entropy(output, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean**2 - log_variance.exp())
    return (reconstruction + divergence) / len(x)


torch.manual_seed(0)
pictures = (torch.rand(96, 36) < torch.linspace(0.1, 0.9, 36)).float()
loader = DataLoader(TensorDataset(pictures), batch_size=16, shuffle=True)
model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
total = 0.0
for epoch in range(3):
    for (x,) in loader:
        output, mean, log_variance = model(x)
        loss = loss_of(output, x, mean, log_variance)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
