import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.register_buffer("shift", torch.zeros(4))

    def forward(self, x):
        return self.layer(x - self.shift)  # <- x - self.shift | bad-parameters


model = Net()
model.load_state_dict({**model.state_dict(), "shift": torch.full((4,), float("nan"))})
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for _step in range(3):
    opt.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    opt.step()
