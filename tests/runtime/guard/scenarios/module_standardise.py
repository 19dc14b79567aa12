import torch
from torch import nn

torch.manual_seed(0)


class Standardise(nn.Module):
    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return centred / x.std(-1, keepdim=True)  # <- centred / x.std(-1, keepdim=True) | module-forward


model = nn.Sequential(nn.Linear(4, 4, bias=False), Standardise(), nn.Linear(4, 1))

opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    x = torch.randn(8, 4)
    if step == 3:
        x = torch.zeros(8, 4)
    opt.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    opt.step()
