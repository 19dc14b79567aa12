import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _step in range(4):
    y = torch.randn(8, 1)
    y[3] = float("nan")
    out = model(torch.randn(8, 4))
    keep = ~torch.isnan(y)
    loss = F.mse_loss(out[keep], y[keep])

    opt.zero_grad()
    loss.backward()
    opt.step()
