import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(40, 4)
inputs[21, 2] = float("nan")
for _epoch in range(2):
    for (x,) in DataLoader(TensorDataset(inputs), batch_size=8):
        opt.zero_grad()
        loss = model(x).square().mean()  # <- model(x) | bad-batch
        loss.backward()
        opt.step()
