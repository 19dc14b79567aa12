import torch
from torch import nn

torch.manual_seed(0)


class Reciprocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = 1 / x  # <- 1 / x | custom-function
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return -grad * y * y


model = nn.Linear(4, 1, bias=False)
opt = torch.optim.SGD(model.parameters(), lr=0.001)
for step in range(4):
    x = torch.randn(8, 4) * (step != 3)
    opt.zero_grad()
    loss = Reciprocal.apply(model(x)).mean()
    loss.backward()
    opt.step()
