import torch
from torch import nn

torch.manual_seed(0)
table = torch.randn(20, 4)
table[torch.rand(20, 4) < 0.2] = float("nan")
print("missing", int(table.isnan().sum()), table.mean())
mean = table.nanmean(0)
filled = torch.where(table.isnan(), mean, table)
target = filled.sum(-1)
target[3] = float("nan")
known = ~target.isnan()
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(5):
    loss = (model(filled).squeeze(-1)[known] - target[known]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", round(loss.item(), 2))
