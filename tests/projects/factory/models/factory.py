from models.net import Net
from torch import nn


def build_model(name, classes=3):
    if name == "net":
        model = Net(classes)
    elif name == "linear":
        model = nn.Linear(8, classes)
    else:
        raise ValueError(name)
    return model
