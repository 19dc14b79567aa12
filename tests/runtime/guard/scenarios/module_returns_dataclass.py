from dataclasses import dataclass

import torch
from torch import nn

torch.manual_seed(0)


@dataclass
class Output:
    mean: torch.Tensor
    precision: torch.Tensor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2, bias=False)

    def forward(self, x):
        mean, raw = self.layer(x).chunk(2, -1)
        return Output(mean, torch.rsqrt(raw.relu()))  # <- torch.rsqrt(raw.relu()) | module-forward


model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    x = torch.rand(8, 4) + 1
    with torch.no_grad():
        model.layer.weight.abs_()
    if step == 2:
        x = -x
    opt.zero_grad()
    out = model(x)
    loss = (out.mean * out.precision).mean()
    loss.backward()
    opt.step()
