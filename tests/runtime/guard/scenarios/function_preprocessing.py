import torch
from torch import nn

torch.manual_seed(0)


def whiten(x):
    return (x - x.mean(0)) / x.std(0)  # <- (x - x.mean(0)) / x.std(0) | function


model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    x = torch.randn(8, 4)
    if step == 3:
        x[:, 2] = 1.0
    x = whiten(x)
    opt.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    opt.step()
