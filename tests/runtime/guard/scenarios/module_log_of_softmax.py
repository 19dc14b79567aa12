import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        probabilities = self.out(x).softmax(-1)
        return probabilities.log()  # <- probabilities.log() | module-forward


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.head = Head()

    def forward(self, x):
        return self.head(self.body(x))


model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    if step == 2:
        x = x * 1e4
    opt.zero_grad()
    loss = F.nll_loss(model(x), y)
    loss.backward()
    opt.step()
