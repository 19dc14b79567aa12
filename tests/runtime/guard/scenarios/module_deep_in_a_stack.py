import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.scale = scale

    def forward(self, x):
        h = torch.tanh(self.layer(x))
        return h * torch.tensor(self.scale).sqrt()  # <- torch.tensor(self.scale).sqrt() | module-forward


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(scale) for scale in (1.0, 0.5, -0.25, 0.1))

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


model = Stack()

opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    x = torch.randn(8, 4)
    if step == 3:
        x = torch.zeros(8, 4)
    opt.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    opt.step()
