import torch
from torch import nn

torch.manual_seed(0)


class Unit(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4, bias=False)

    def forward(self, x):
        h = self.layer(x)
        return h / h.norm(dim=-1, keepdim=True)  # <- h / h.norm(dim=-1, keepdim=True) | module-forward


model = Unit()

opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    x = torch.randn(8, 4)
    if step == 3:
        x = torch.zeros(8, 4)
    opt.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    opt.step()
