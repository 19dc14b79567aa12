import torch
from torch import nn
torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
x, y = torch.randn(20, 3), torch.rand(20)
for step in range(5):
    rate = torch.exp((x @ w) * (200 if step == 3 else 1))  # <- torch.exp((x @ w) * (200 if step == 3 else 1)) | function
    loss = (rate - y).square().mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
        w.grad = None
    print("step", step)
