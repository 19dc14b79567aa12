import torch
from torch import nn
torch.manual_seed(0)
class Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.sqrt()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g / (2 * y)  # <- g / (2 * y) | custom-function
model = nn.Linear(3, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    h = model(torch.randn(4, 3)).square() * (step != 1)
    loss = Root.apply(h).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
