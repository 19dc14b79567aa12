import torch
from torch import nn

torch.manual_seed(0)


class Penalty(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4, bias=False)

    def forward(self, x):
        h = self.layer(x)
        return h.pow(2).sum(-1).sqrt()  # <- h.pow(2).sum(-1).sqrt() | backward


model = Penalty()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    x = torch.randn(8, 4)
    if step == 3:
        x[5] = 0.0
    opt.zero_grad()
    loss = model(x).mean()
    loss.backward()
    opt.step()
