import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 9)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _step in range(4):
    z = model(torch.randn(8, 4))
    cut = z.topk(3, -1).values[:, -1:]
    p = z.masked_fill(z < cut, -torch.inf).softmax(-1)
    loss = (p * torch.arange(9.0)).sum(-1).mean()

    opt.zero_grad()
    loss.backward()
    opt.step()
