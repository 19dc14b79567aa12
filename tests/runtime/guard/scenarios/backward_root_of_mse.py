import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Linear(4, 4)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    x = torch.randn(8, 4)
    out = model(x)
    y = out.detach() if step == 3 else torch.randn(8, 4)
    opt.zero_grad()
    loss = F.mse_loss(out, y).sqrt()  # <- F.mse_loss(out, y).sqrt() | backward
    loss.backward()
    opt.step()
