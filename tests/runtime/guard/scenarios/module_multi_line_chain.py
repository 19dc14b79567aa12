import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return (
            self.layer(x)  # <- self.layer(x) | module-forward
            .sub(2.0)
            .log()
            .tanh()
        )


model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for _step in range(3):
    x = torch.randn(8, 4)
    opt.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    opt.step()
