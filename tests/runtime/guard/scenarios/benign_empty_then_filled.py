import torch
from torch import nn

torch.manual_seed(0)
layer = nn.Linear(4, 4)
opt = torch.optim.SGD(layer.parameters(), lr=0.1)
for _step in range(4):
    out = torch.empty(8, 4).fill_(float("nan"))
    out.copy_(layer(torch.randn(8, 4)))
    loss = out.square().mean()

    opt.zero_grad()
    loss.backward()
    opt.step()
