import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 4, bias=False)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(5):
    opt.zero_grad()
    x = torch.randn(8, 4)
    if step == 3:
        x[0] = 0
    h = model(x)
    out = torch.zeros(8, 4)
    out[:, :2] = h[:, :2]
    out[:, 2:] = h[:, 2:] / h[:, :1]  # <- h[:, 2:] / h[:, :1] | loss
    loss = out.square().mean()
    loss.backward()
    opt.step()
