import torch
from torch import nn

torch.manual_seed(0)


def unit(gradient):
    return gradient / gradient.norm()  # <- gradient / gradient.norm() | backward


model = nn.Linear(4, 4)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    h = model(torch.randn(8, 4))
    h.register_hook(unit)
    opt.zero_grad()
    loss = h.relu().mean() * (step != 2)
    loss.backward()
    opt.step()
