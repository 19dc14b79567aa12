from torch import nn


def network():
    return nn.Sequential(nn.Linear(8, 3), nn.Softmax(dim=-1))
