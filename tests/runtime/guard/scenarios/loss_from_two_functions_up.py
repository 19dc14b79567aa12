import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


def compute(model, x, y):
    out = model(x)
    return torch.sqrt(F.mse_loss(out, y) - 0.5)  # <- torch.sqrt(F.mse_loss(out, y) - 0.5) | loss


def update(opt):
    opt.step()
    opt.zero_grad()


def train(model, opt):
    for x, y in [(torch.randn(8, 4), torch.randn(8, 1) * 3) for _ in range(40)]:
        loss = compute(model, x, y * 0.1 if opt.state else y)
        loss.backward()
        update(opt)


model = nn.Linear(4, 1)
train(model, torch.optim.Adam(model.parameters(), lr=0.01))
