import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(4, 4)
        self.key = nn.Linear(4, 4)

    def forward(self, x, mask):
        scores = self.query(x) @ self.key(x).transpose(-1, -2)
        scores = scores.masked_fill(mask, float("-inf"))
        weights = F.softmax(scores, dim=-1)  # <- F.softmax(scores, dim=-1) | module-forward
        return weights @ x


model = Attention()
opt = torch.optim.Adam(model.parameters())
for step in range(5):
    x = torch.randn(2, 6, 4)
    mask = torch.triu(torch.ones(6, 6, dtype=torch.bool), 1)
    if step == 4:
        mask[2] = True
    opt.zero_grad()
    model(x, mask).square().mean().backward()
    opt.step()
