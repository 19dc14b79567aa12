import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


def kl(p, q):
    return (p * (p / q).log()).sum(-1).mean()  # <- (p / q).log() | loss


model = nn.Linear(4, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    x = torch.randn(8, 4)
    target = torch.randn(8, 3).softmax(-1)
    if step == 3:
        target = F.one_hot(torch.randint(0, 3, (8,)), 3).float()
    opt.zero_grad()
    loss = kl(target, model(x).softmax(-1))
    loss.backward()
    opt.step()
