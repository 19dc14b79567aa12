import torch
from shapes import Classifier
from torch import nn

model = Classifier(8, 3)
criterion = nn.CrossEntropyLoss()


def step(x, y):
    return criterion(model(x), y)  # error: SL301 via src/shapes/models/net.py


def nll(x, y):
    return -torch.log(model(x)).gather(1, y).mean()  # error: SL202 via src/shapes/models/net.py


print(step(torch.randn(4, 8), torch.zeros(4, dtype=torch.long)))
