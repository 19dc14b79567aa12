import torch
from torch import nn
torch.manual_seed(0)
w = torch.ones(3, requires_grad=True)
opt = torch.optim.LBFGS([w], lr=0.5, max_iter=4)
x = torch.randn(10, 3)
calls = 0
def closure():
    global calls
    opt.zero_grad()
    calls += 1
    loss = ((x @ w) * (0 if calls == 6 else 1)).square().sum().log()  # <- ((x @ w) * (0 if calls == 6 else 1)).square().sum().log() | function
    loss.backward()
    return loss
for _ in range(4):
    opt.step(closure)
