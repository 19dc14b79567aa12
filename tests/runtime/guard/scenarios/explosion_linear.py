import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=3.0)
x, y = torch.randn(64, 4), torch.randn(64, 1)
for _step in range(60):
    opt.zero_grad()
    loss = F.mse_loss(model(x), y)  # <- ? | exploding-gradients
    loss.backward()
    opt.step()
