import torch
from torch import nn

torch.manual_seed(0)
model = nn.ModuleDict({"used": nn.Linear(4, 1), "unused": nn.Linear(4, 1)})
opt = torch.optim.Adam(model.parameters())
for _step in range(4):
    loss = model["used"](torch.randn(8, 4)).square().mean()

    opt.zero_grad()
    loss.backward()
    opt.step()
