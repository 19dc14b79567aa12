import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 4).half()
opt = torch.optim.SGD(model.parameters(), lr=1e-4)
for step in range(5):
    x = torch.randn(8, 4).half() * (1 if step < 3 else 2000)
    opt.zero_grad()
    loss = (model(x) ** 2).mean()  # <- model(x) ** 2 | loss
    loss.backward()
    opt.step()
