import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(critic.parameters())
for _step in range(4):
    x = torch.randn(8, 4, requires_grad=True)
    score = critic(x)
    (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)
    loss = score.mean() + ((slope.norm(dim=-1) - 1) ** 2).mean()

    opt.zero_grad()
    loss.backward()
    opt.step()
