import torch
from torch import nn

torch.manual_seed(0)


class Recurrence(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(6, 6)

    def forward(self, x):
        h = torch.zeros(8, 6)
        for step in x:
            h = self.cell(h) + step
        return h


model = Recurrence()
opt = torch.optim.SGD(model.parameters(), lr=1.0)
x = torch.randn(12, 8, 6)
for _step in range(40):
    opt.zero_grad()
    loss = model(x).square().mean()  # <- ? | exploding-gradients
    loss.backward()
    opt.step()
