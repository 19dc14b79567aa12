from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Linear(8, classes)
        self.out = nn.Softmax(dim=-1)

    def forward(self, x):
        return self.out(self.body(x))
