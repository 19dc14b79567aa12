import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.body = nn.Linear(width, classes)

    def forward(self, x):
        return torch.softmax(self.body(x), dim=-1)
