import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    opt.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean() * (step != 4)
    loss.backward()
    for p in model.parameters():
        p.grad /= p.grad.norm()  # <- p.grad /= p.grad.norm() | gradient-processing | in-place
    opt.step()
