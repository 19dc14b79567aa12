import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1, bias=False)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    x = torch.randn(8, 4)
    if step == 2:
        x[0] = 0.0
    opt.zero_grad()
    loss = torch.nan_to_num(1 / model(x)).clamp(-9, 9).mean()  # <- 1 / model(x) | loss
    loss.backward()
    opt.step()
