import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 4)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _step in range(4):
    prior = torch.tensor([0.5, 0.5, 0.0, 0.0]).log()
    loss = -torch.logsumexp(model(torch.randn(8, 4)) + prior, -1).mean()

    opt.zero_grad()
    loss.backward()
    opt.step()
