import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1, bias=False)

    def forward(self, x):
        rate = self.layer(x)
        return {"rate": rate, "inverse": 1.0 / rate}  # <- 1.0 / rate | module-forward


model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    x = torch.randn(8, 4) * (step != 2)
    opt.zero_grad()
    out = model(x)
    loss = out["inverse"].tanh().mean() + 0 * out["inverse"].mean()
    loss.backward()
    opt.step()
