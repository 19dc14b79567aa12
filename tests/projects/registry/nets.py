import torch
from registry import register
from torch import nn


@register("mlp")
class MLP(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.body = nn.Linear(8, classes)

    def forward(self, x):
        return torch.softmax(self.body(x), dim=-1)


@register("linear")
class Linear(nn.Linear):
    pass
