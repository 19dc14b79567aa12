import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 4)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
groups = [torch.arange(4), torch.arange(4, 8), torch.tensor([3])]
for step in range(3):
    x = torch.randn(8, 4)
    spread = [x[group, 0].std() for group in groups[: step + 1]]  # <- x[group, 0].std() | function
    opt.zero_grad()
    loss = model(x).pow(2).mean() * torch.stack(spread).mean()
    loss.backward()
    opt.step()
