import torch
from torch import nn

torch.manual_seed(0)


def check():
    torch.manual_seed(1)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    out = model(torch.zeros(3, 4)) - model.bias
    loss = out.norm(dim=-1).log().clamp(min=-5).mean()  # <- out.norm(dim=-1).log() | backward
    loss.backward()
    opt.step()


check()
