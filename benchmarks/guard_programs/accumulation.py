import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(8, 4)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = [torch.randn(4, 8) for _ in range(12)]
data[6].zero_()
for step in range(3):
    opt.zero_grad()
    for micro in range(4):
        h = model(data[step * 4 + micro]) - model.bias
        loss = h.norm(dim=-1).log().mean() / 4  # <- h.norm(dim=-1).log() | loss
        loss.backward()
    opt.step()
    print("step", step)
