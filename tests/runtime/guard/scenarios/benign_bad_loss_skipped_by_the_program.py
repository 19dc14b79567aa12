import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = model(torch.randn(8, 4)).square().mean()
    if step == 2:
        loss = loss * float("nan")
    if not torch.isfinite(loss):
        continue

    opt.zero_grad()
    loss.backward()
    opt.step()
