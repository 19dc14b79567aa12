import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    z = model(torch.randn(8, 4))
    opt.zero_grad()
    keep = z > -100 * (step < 2)
    kept = torch.where(keep, z, float("nan"))  # <- torch.where(keep, z, float("nan")) | loss
    loss = kept.mean()
    loss.backward()
    opt.step()
