import torch
from torch import nn

torch.manual_seed(0)
cell = nn.GRUCell(4, 4)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
h = torch.zeros(2, 4)
for step in range(8):
    x = torch.randn(2, 4)
    h = cell(x, h)
    gap = h - 0.5
    if step == 5:
        gap = gap - gap.detach()
    opt.zero_grad()
    loss = gap.pow(2).sum(-1).sqrt().mean()  # <- gap.pow(2).sum(-1).sqrt() | backward
    loss.backward()
    opt.step()
    h = h.detach()
