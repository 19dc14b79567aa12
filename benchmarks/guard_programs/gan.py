import torch
from torch import nn
torch.manual_seed(0)
g, d = nn.Linear(2, 2), nn.Linear(2, 1)
go = torch.optim.Adam(g.parameters(), lr=1e-3)
do = torch.optim.Adam(d.parameters(), lr=1e-3)
for step in range(4):
    fake = g(torch.randn(8, 2)) * (1e4 if step == 2 else 1)
    p = torch.sigmoid(d(fake.detach()).abs())
    d_loss = -torch.log(1 - p).mean()  # <- torch.log(1 - p) | loss
    do.zero_grad()
    d_loss.backward()
    do.step()
    g_loss = d(g(torch.randn(8, 2))).mean()
    go.zero_grad()
    g_loss.backward()
    go.step()
