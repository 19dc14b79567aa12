import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1, bias=False)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    x = torch.randn(8, 4)
    if step == 2:
        x[0] = 0.0
    z = model(x).abs()
    opt.zero_grad()
    safe = torch.where(z > 0, torch.log(z), torch.zeros_like(z))  # <- torch.log(z) | backward
    loss = safe.mean()
    loss.backward()
    opt.step()
