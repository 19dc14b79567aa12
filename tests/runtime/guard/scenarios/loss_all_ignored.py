import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Linear(4, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    x = torch.randn(8, 4)
    y = torch.randint(0, 3, (8,))
    if step == 2:
        y.fill_(-100)
    opt.zero_grad()
    loss = F.cross_entropy(model(x), y)  # <- F.cross_entropy(model(x), y) | loss
    loss.backward()
    opt.step()
