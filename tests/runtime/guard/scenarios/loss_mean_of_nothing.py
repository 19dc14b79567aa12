import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0
while step < 6:
    x = torch.randn(8, 4)
    keep = torch.rand(8) > (0.5 if step < 4 else 1.0)
    opt.zero_grad()
    error = model(x).squeeze(-1).square()
    loss = error[keep].mean()  # <- error[keep].mean() | loss
    loss.backward()
    opt.step()
    step += 1
