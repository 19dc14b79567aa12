import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
batches = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(5)]
batches[3][1][6] = float("inf")
for x, y in batches:
    opt.zero_grad()
    loss = F.l1_loss(model(x), y)  # <- F.l1_loss(model(x), y) | bad-batch
    loss.backward()
    opt.step()
