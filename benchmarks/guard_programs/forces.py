"""An interatomic potential: energies and forces by autograd, trained on both."""
import torch
from torch import nn


class Potential(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 16), nn.SiLU(), nn.Linear(16, 1))

    def forward(self, positions):
        offset = positions[:, None] - positions[None]
        distance = (offset**2).sum(-1).sqrt()  # <- (offset**2).sum(-1).sqrt() | backward
        pairs = self.net(distance.unsqueeze(-1)).squeeze(-1)
        return pairs.triu(1).sum()


torch.manual_seed(0)
model = Potential()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(3):
    positions = torch.randn(5, 3, requires_grad=True)
    energy = model(positions)
    forces = -torch.autograd.grad(energy, positions, create_graph=True)[0]
    loss = (energy - 1).pow(2) + forces.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step)
