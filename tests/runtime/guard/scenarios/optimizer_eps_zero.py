import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
opt = torch.optim.Adam(model.parameters(), lr=1e-3, eps=0.0)
for _step in range(5):
    x = torch.randn(8, 4)
    x[:, 1] = 0.0
    opt.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    opt.step()  # <- opt.step() | optimizer
