import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 4, bias=False)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    h = model(torch.randn(8, 4) * (step != 3)).square()
    opt.zero_grad()
    loss = (h**0.5).mean()  # <- h**0.5 | backward
    loss.backward()
    opt.step()
