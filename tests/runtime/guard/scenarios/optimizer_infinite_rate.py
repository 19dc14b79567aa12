import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: 1.0 / (3 - step) if step < 3 else float("inf"))
for _step in range(6):
    opt.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    opt.step()  # <- opt.step() | optimizer
    schedule.step()
