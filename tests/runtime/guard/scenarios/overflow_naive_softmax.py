import torch
from torch import nn

torch.manual_seed(0)


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        z = self.layer(x)
        weights = torch.exp(z) / torch.exp(z).sum(-1, keepdim=True)  # <- torch.exp(z) | module-forward
        return weights * x


model = Gate()
opt = torch.optim.Adam(model.parameters())
for step in range(5):
    x = torch.randn(8, 4) * (1 if step < 3 else 1000)
    opt.zero_grad()
    loss = model(x).mean()
    loss.backward()
    opt.step()
