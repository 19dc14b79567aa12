import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4, bias=False)
        self.norm = nn.LayerNorm(4, eps=0.0)

    def forward(self, x):
        h = self.inner(x)
        return self.norm(h)  # <- self.norm(h) | module-forward


model = Net()

opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    x = torch.randn(8, 4)
    if step == 3:
        x = torch.zeros(8, 4)
    opt.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    opt.step()
