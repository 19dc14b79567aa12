import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _step in range(4):
    out = model(torch.randn(8, 4))
    accuracy = out.new_zeros(0).mean()
    print(accuracy)
    loss = out.square().mean()

    opt.zero_grad()
    loss.backward()
    opt.step()
