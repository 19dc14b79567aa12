import torch
from torch import nn

torch.manual_seed(0)


def standardised(x):
    return (x - x.mean(0)) / x.std(0)  # <- (x - x.mean(0)) / x.std(0) | function


def train(model, x, y):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


raw = torch.randn(30, 4)
raw[:, 2] = 1.0
features = standardised(raw)
train(nn.Linear(4, 1), features, raw.sum(1, keepdim=True))
