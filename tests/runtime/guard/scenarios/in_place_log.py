import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 4)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for _step in range(3):
    opt.zero_grad()
    h = model(torch.randn(8, 4)).relu()
    h.log_()  # <- h.log_() | loss | in-place
    loss = h.mean()
    loss.backward()
    opt.step()
