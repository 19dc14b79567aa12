"""A generator and a discriminator, each with its optimizer."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
points = torch.randn(80, 2) * 0.5 + 1.0
loader = DataLoader(TensorDataset(points), batch_size=16, shuffle=True)
generator = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
discriminator = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
g_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
noise_to_show = torch.randn(8, 4)
for epoch in range(3):
    for (real,) in loader:
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        d_optimizer.zero_grad()
        fake = generator(torch.randn(len(real), 4))
        d_loss = criterion(discriminator(real), ones) + criterion(discriminator(fake.detach()), zeros)
        d_loss.backward()
        d_optimizer.step()
        g_optimizer.zero_grad()
        g_loss = criterion(discriminator(fake), ones)
        g_loss.backward()
        g_optimizer.step()
    with torch.no_grad():
        shown = generator(noise_to_show)
