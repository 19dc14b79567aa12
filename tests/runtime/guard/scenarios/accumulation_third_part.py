import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1, bias=False)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
opt.zero_grad()
for index, x in enumerate(torch.randn(12, 8, 4)):
    if index == 6:
        x = torch.zeros(8, 4)
    loss = model(x).square().mean().sqrt() / 4  # <- model(x).square().mean().sqrt() | backward
    loss.backward()
    if index % 4 == 3:
        opt.step()
        opt.zero_grad()
