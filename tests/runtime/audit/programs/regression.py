"""A table of numbers, a network with tanh, and a target in one column."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 32)
        self.second = nn.Linear(32, 32)
        self.last = nn.Linear(32, 1)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        x = torch.tanh(self.second(x))
        return self.last(x)


torch.manual_seed(0)
features = torch.randn(120, 6)
targets = (features[:, :1] - features[:, 1:2] * features[:, 2:3]) / 2
features = (features - features.mean(0)) / features.std(0)
training = TensorDataset(features[:100], targets[:100])
validation = TensorDataset(features[100:], targets[100:])
loader = DataLoader(training, batch_size=20, shuffle=True)
check = DataLoader(validation, batch_size=20)
model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        errors = [nn.functional.mse_loss(model(x), y).item() for x, y in check]
