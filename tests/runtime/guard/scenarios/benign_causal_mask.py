import torch
from torch import nn

torch.manual_seed(0)
layer = nn.Linear(4, 4)
opt = torch.optim.SGD(layer.parameters(), lr=0.1)
for _step in range(4):
    x = torch.randn(2, 5, 4)
    h = layer(x)
    mask = torch.triu(torch.full((5, 5), float("-inf")), 1)
    loss = ((h @ h.transpose(-1, -2) + mask).softmax(-1) @ h).square().mean()

    opt.zero_grad()
    loss.backward()
    opt.step()
