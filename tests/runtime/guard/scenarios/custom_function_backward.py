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
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad / (2 * y)  # <- grad / (2 * y) | custom-function


model = nn.Linear(4, 4)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    opt.zero_grad()
    loss = Root.apply(model(torch.randn(8, 4) * (step != 2)).sub(model.bias).square()).mean()
    loss.backward()
    opt.step()
