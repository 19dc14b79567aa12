import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4, bias=False)

    def forward(self, x):
        h = self.layer(x).square().sum(-1, True)
        return h.sqrt() * x  # <- h.sqrt() | backward


block = Block()
opt = torch.optim.SGD(block.parameters(), lr=0.01)
for step in range(4):
    x = torch.randn(8, 4)
    if step == 2:
        x[0] = 0.0
    opt.zero_grad()
    loss = checkpoint(block, x, use_reentrant=False).mean()
    loss.backward()
    opt.step()
