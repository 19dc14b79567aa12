"""Tabular data from NumPy with a missing value in one row."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
features = rng.normal(size=(256, 5)).astype("float32")
target = (features @ np.array([1, -2, 0.5, 0, 3], dtype="float32")).astype("float32")
features[137, 2] = np.nan


def batches(x, y, size):
    order = np.random.default_rng(1).permutation(len(x))
    for i in range(0, len(x), size):
        take = order[i : i + size]
        yield torch.from_numpy(x[take]), torch.from_numpy(y[take])


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)  # <- self.net(x) | bad-batch


torch.manual_seed(0)
model = MLP()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.SmoothL1Loss()
for epoch in range(2):
    losses = []
    for xb, yb in batches(features, target, 32):
        opt.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: {np.mean(losses):.4f}")
