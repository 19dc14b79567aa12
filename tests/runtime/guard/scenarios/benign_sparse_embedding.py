import torch
from torch import nn

torch.manual_seed(0)
table = nn.Embedding(20, 4, sparse=True)
opt = torch.optim.SparseAdam(list(table.parameters()))
for _step in range(4):
    loss = table(torch.randint(0, 20, (8,))).square().mean()

    opt.zero_grad()
    loss.backward()
    opt.step()
