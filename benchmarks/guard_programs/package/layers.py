import torch
from torch import nn


class Squash(nn.Module):
    """The nonlinearity of capsules."""

    def forward(self, s):
        squared = (s * s).sum(-1, keepdim=True)
        return squared / (1 + squared) * s / squared.sqrt()  # <- squared / (1 + squared) * s / squared.sqrt() | module-forward


class Capsules(nn.Module):
    def __init__(self, count=3, width=4):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, 6, width) * 0.2)
        self.squash = Squash()

    def forward(self, x):
        return self.squash(torch.einsum("bi,cij->bcj", x, self.weight))
