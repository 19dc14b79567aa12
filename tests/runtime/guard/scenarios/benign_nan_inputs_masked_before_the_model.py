import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _step in range(4):
    x = torch.randn(8, 4)
    x[0, 0] = float("nan")
    loss = model(torch.nan_to_num(x)).square().mean()

    opt.zero_grad()
    loss.backward()
    opt.step()
