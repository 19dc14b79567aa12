import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-8):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight  # <- torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) | module-forward


torch.manual_seed(0)
model = nn.Sequential(RMSNorm(8), nn.Linear(8, 2)).to(torch.float16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(5):
    x = torch.randn(3, 8).half()
    if step == 3:
        x[1] = 0
    loss = model(x).float().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step)
